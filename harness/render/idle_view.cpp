#include "idle_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "analysis/gap_causes.h"
#include "core/units.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

/// Of the stage, what the trace does not explain: less is not worth a line.
constexpr double told_unexplained_ratio = 0.01;

/// Of one repetition of a stage, whose time is told by the token where it decodes `tokens`.
struct repetition {
  double total_ns = 0;
  double tokens = 1;
};

json split_part(const char* kind, const std::string& label, double ns, const repetition& whole) {
  return {{"kind", kind},
          {"label", label},
          {"width", css_percent(ns / whole.total_ns)},
          {"time", core::format_duration(ns / whole.tokens)},
          {"share", formatted(ns / whole.total_ns, "percent")}};
}

std::optional<double> stage_ns_of(const json& stage) {
  return number(stage["step"].is_object() ? stage["step"] : stage["bare"], "median_ns");
}

/// Of its time, the traced gaps; nothing where its idle time itself is known, or neither is.
std::optional<double> idle_at_most_ratio(const json& stage) {
  const json& idle = stage["idle"];
  if (!idle.is_object() || number(idle, "idle_ns")) return std::nullopt;
  const auto at_most_ns = number(idle, "idle_at_most_ns");
  const auto stage_ns = stage_ns_of(stage);
  if (!at_most_ns || !stage_ns || *stage_ns <= 0) return std::nullopt;
  return *at_most_ns / *stage_ns;
}

}  // namespace

std::string css_percent(double ratio) {
  return fmt::format("{:.3f}%", 100 * std::clamp(ratio, 0.0, 1.0));
}

json idle_texts(const json& stage) {
  json texts{{"time", empty_cell}, {"share", empty_cell}, {"notes", json::array()}};
  const json& idle = stage["idle"];
  if (!idle.is_object()) return texts;
  if (const auto idle_ns = number(idle, "idle_ns")) {
    texts["time"] = core::format_duration(*idle_ns);
  } else {
    texts["notes"].push_back(reason_of(idle, "idle_ns") + ".");
  }
  if (const auto ratio = number(idle, "idle_ratio")) texts["share"] = formatted(*ratio, "percent");
  if (const auto ratio = idle_at_most_ratio(stage)) {
    texts["time"] = "< " + core::format_duration(*number(idle, "idle_at_most_ns"));
    texts["share"] = "< " + formatted(*ratio, "percent");
  }
  const auto unexplained_ns = number(idle, "unexplained_ns");
  const auto stage_ns = stage_ns_of(stage);
  if (unexplained_ns && stage_ns && *unexplained_ns >= told_unexplained_ratio * *stage_ns)
    texts["notes"].push_back(fmt::format(
        "{} ({}) of the unprofiled stage are neither: its kernels ran slower than in the trace "
        "(clocks, spread).",
        core::format_duration(*unexplained_ns), formatted(*unexplained_ns / *stage_ns, "percent")));
  return texts;
}

json split_of(const json& stage, double tokens) {
  const json& idle = stage["idle"];
  if (!idle.is_object()) return nullptr;
  const auto busy_ns = number(idle, "busy_ns");
  const auto idle_ns = number(idle, "idle_ns");
  if (!busy_ns || *busy_ns + idle_ns.value_or(0) <= 0) return nullptr;
  if (!idle_ns) {
    // More than the stage takes without the tracer: no share of it.
    json busy = split_part("busy", "busy, under the tracer", *busy_ns, {*busy_ns, tokens});
    const auto at_most_ratio = idle_at_most_ratio(stage);
    busy["share"] = at_most_ratio ? "> " + formatted(1 - *at_most_ratio, "percent") : "nearly all";
    return json::array({std::move(busy)});
  }
  const double unexplained_ns = number(idle, "unexplained_ns").value_or(0);
  const repetition whole{*busy_ns + std::max(*idle_ns, 0.0) + unexplained_ns, tokens};
  json parts = json::array({split_part("busy", "busy", *busy_ns, whole)});
  if (unexplained_ns >= told_unexplained_ratio * whole.total_ns)
    parts.push_back(split_part("unexplained", "busy for longer than in the trace (clocks, spread)",
                               unexplained_ns, whole));
  double named_ns = 0;
  for (const analysis::gap_cause& cause : analysis::all_gap_causes) {
    const auto ns = number(idle, (std::string(cause.key) + "_ns").c_str());
    if (!ns || *ns <= 0) continue;
    named_ns += *ns;
    parts.push_back(split_part(cause.key, analysis::idle_label(cause.key), *ns, whole));
  }
  if (named_ns == 0 && *idle_ns > 0) parts.push_back(split_part("other", "idle", *idle_ns, whole));
  return parts;
}

std::string split_source_of(const json& stage, double tokens) {
  const std::string by_token = tokens > 1 ? ", a token" : "";
  const json& idle = stage["idle"];
  if (!idle.is_object() || !idle.value("is_traced", false)) return by_token;
  const auto occurrences = number(stage["traced"], "occurrences_count");
  return by_token + (idle.value("is_mean", false) && occurrences
                         ? fmt::format(", in the trace, mean of {:.0f}", *occurrences)
                         : ", in the trace");
}

}  // namespace profgate::render
