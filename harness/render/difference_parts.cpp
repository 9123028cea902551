#include "difference_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "analysis/gap_causes.h"
#include "compare_stages.h"
#include "core/escape.h"
#include "difference_words.h"

namespace profgate::render {
namespace {

using nlohmann::json;

constexpr double most_share = 0.5;        ///< of the change: less is not "most of it"
constexpr double mentioned_share = 0.05;  ///< smaller parts go without a name
constexpr std::size_t most_mentioned = 3;

struct difference_part {
  std::string name;
  double delta_ns = 0;
  bool is_kernel = true;
};

std::vector<difference_part> all_parts(const compare::compared_stage& stage,
                                       const core::short_kernel_names& names) {
  std::vector<difference_part> parts;
  for (const compare::compared_kernel& kernel : stage.kernels) {
    const std::string name = core::to_valid_utf8(kernel.b_name.empty() ? kernel.a_name : kernel.b_name);
    const std::string device = kernel.device.empty() ? "" : core::to_valid_utf8(kernel.device) + ": ";
    const std::string was =
        is_in_place_of_another(kernel) ? " in place of " + names.of(core::to_valid_utf8(kernel.a_name)) : "";
    parts.push_back({device + names.of(name) + was, kernel.b_ns - kernel.a_ns, true});
  }
  const auto add_figure = [&](const std::string& key, const std::string& name) {
    for (const compare::compared_figure& figure : stage.figures)
      if (figure.what.key == key && figure.a && figure.b)
        parts.push_back({name, *figure.b - *figure.a, false});
  };
  for (const analysis::gap_cause& cause : analysis::all_gap_causes)
    add_figure(fmt::format("/idle/{}_ns", cause.key), fmt::format("idle ({})", cause.name));
  add_figure("/idle/unexplained_ns", "kernels slower than in the trace (clocks, spread)");
  return parts;
}

/// By how much the stage's time changed; where it was not timed, its parts together.
double change_of(const compare::compared_stage& stage, const std::vector<difference_part>& parts) {
  const compare::compared_figure& time = stage.figures.front();
  if (time.a && time.b) return *time.b - *time.a;
  double sum_ns = 0;
  for (const difference_part& part : parts) sum_ns += part.delta_ns;
  return sum_ns;
}

}  // namespace

json parts_of_difference(const compare::compared_stage& stage, const core::short_kernel_names& names) {
  json view{{"lead", ""}, {"named", json::array()}, {"rest", ""}};
  if (stage.shift && stage.shift->may_be_noise()) return view;  // nobody knows whether there is a difference
  std::vector<difference_part> parts = all_parts(stage, names);
  const double change_ns = change_of(stage, parts);
  if (parts.empty() || change_ns == 0) return view;
  std::stable_sort(parts.begin(), parts.end(), [&](const difference_part& a, const difference_part& b) {
    return change_ns > 0 ? a.delta_ns > b.delta_ns : a.delta_ns < b.delta_ns;
  });
  double named_ns = 0;
  double against_ns = 0;
  for (const difference_part& part : parts) {
    const double share = part.delta_ns / change_ns;
    if (share < 0) against_ns += part.delta_ns;
    if (share < mentioned_share || view["named"].size() == most_mentioned) continue;
    named_ns += part.delta_ns;
    view["named"].push_back(
        {{"name", part.name}, {"difference", signed_duration(part.delta_ns)}, {"is_kernel", part.is_kernel}});
  }
  const bool are_most = named_ns / change_ns > most_share;
  view["lead"] = are_most                ? "Most of it"
                 : view["named"].empty() ? "No single part explains it"
                                         : "No single part explains it; the largest";
  // Else a part could seem to be more than the whole.
  if (are_most && std::abs(against_ns) > most_share * std::abs(change_ns))
    view["rest"] = fmt::format("others changed the other way, {} together", signed_duration(against_ns));
  return view;
}

}  // namespace profgate::render
