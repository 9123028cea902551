#include "stage_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/counters.h"
#include "core/units.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

/// How near a stage comes to the ceiling that its work meets first: the measured one, else the vendor's peak.
struct stage_ceiling {
  bool is_measured = true;
  bool is_by_memory = false;
  double reached_ratio = 0;
};

std::optional<stage_ceiling> ceiling_of(const json& stage) {
  const json& use = stage["utilisation"];
  const auto roof_ns = number(use, "roof_ns");
  const auto median_ns = number(stage["bare"], "median_ns");
  if (roof_ns && median_ns && *median_ns > 0 && use["roof"].is_string())
    return stage_ceiling{true, use["roof"] == "memory", *roof_ns / *median_ns};
  const auto mbu = number(use, "mbu_over_vendor_ratio");
  const auto mfu = number(use, "mfu_over_vendor_ratio");
  if (!mbu || !mfu) return std::nullopt;
  return stage_ceiling{false, *mbu >= *mfu, std::max(*mbu, *mfu)};
}

}  // namespace

std::string bound_of(const json& profile, const json& stage, std::optional<double>& reached) {
  const json& idle = stage["idle"];
  const auto idle_ratio = idle.is_object() ? number(idle, "idle_ratio") : std::nullopt;
  std::string idle_text;
  if (idle_ratio && *idle_ratio >= 0.1)
    idle_text = fmt::format("the GPU idles during {} of it", formatted(*idle_ratio, "percent"));
  const std::optional<stage_ceiling> nearest = ceiling_of(stage);
  if (!nearest) return idle_text;  // why it is not known, the summary says
  const bool by_memory = nearest->is_by_memory;
  reached = nearest->reached_ratio;
  const std::string rate = by_memory ? "bytes_per_s" : "flops_per_s";
  const auto achieved = number(stage["utilisation"], ("achieved_" + rate).c_str());
  const auto ceiling =
      number(profile["ceilings"], ((nearest->is_measured ? "measured_" : "vendor_") + rate).c_str());
  const bool is_above = *reached > 1 + core::ceiling_rounding_ratio;
  std::string text = fmt::format(
      "{}{} of {} {}",
      *reached < analysis::bound_ratio ? ""
      : by_memory                      ? "memory-bound: "
                                       : "compute-bound: ",
      is_above ? "all" : formatted(std::min(1.0, *reached), "percent"),
      nearest->is_measured ? "measured" : fmt::format("the {} peak", whose_peaks_of(profile["ceilings"])),
      by_memory ? "bandwidth" : "arithmetic rate");
  if (achieved && ceiling)
    text += fmt::format(" ({} of {})", formatted(*achieved, rate), formatted(*ceiling, rate));
  if (*reached < analysis::bound_ratio) text += ", its nearest limit: something else bounds it";
  if (is_above)
    text += fmt::format(", and more: {}, or the ceiling is too low",
                        by_memory ? "caches answered a part of its reads" : "its work was counted too high");
  return idle_text.empty() ? text : text + "; " + idle_text;
}

}  // namespace profgate::render
