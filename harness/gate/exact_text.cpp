#include <fmt/format.h>

#include <algorithm>

#include "analysis/stage_operations.h"
#include "gate/exact_gates.h"
#include "gate/judgement.h"

namespace profgate::gate {
namespace {

/// "grid (16, 8, 1) → (8, 8, 1); registers 64 → 128" of "grid (16, 8, 1); registers 64" and the other's.
std::string configuration_text(std::string_view was, std::string_view is) {
  const auto take = [](std::string_view& text) {
    const std::string_view first = text.substr(0, text.find("; "));
    text.remove_prefix(std::min(text.size(), first.size() + 2));
    return first;
  };
  std::string text;
  while (!was.empty() && !is.empty()) {
    const std::string_view before = take(was);
    std::string_view after = take(is);
    const std::size_t value = before.find_first_of("(0123456789");
    if (value != std::string_view::npos && after.starts_with(before.substr(0, value)))
      after.remove_prefix(value);
    text += fmt::format("{}{} → {}", text.empty() ? "" : "; ", before, after);
  }
  return text;
}

}  // namespace

core::short_kernel_names short_names_of(const exact_comparison& compared) {
  std::vector<std::string> names;
  for (const exact_change& change : compared.changes) {
    names.push_back(change.subject);
    if (!change.baseline_subject.empty()) names.push_back(change.baseline_subject);
  }
  return core::short_kernel_names(std::move(names));
}

std::string to_text(const exact_change& change, const core::short_kernel_names& names) {
  switch (change.kind) {
    case exact_kind::new_kernel:
      return "new kernel: " + names.of(change.subject);
    case exact_kind::gone_kernel:
      return "gone kernel: " + names.of(change.subject);
    case exact_kind::launches:
      return fmt::format("launches: {} → {}", change.baseline, change.candidate);
    case exact_kind::launches_per_token:
      return fmt::format("launches a token: {} → {}", change.baseline, change.candidate);
    case exact_kind::routing:
      return "routing: " + difference_text(change);
    case exact_kind::graph_nodes:
      return fmt::format("graph nodes: {} → {}", change.baseline, change.candidate);
    case exact_kind::graph_copies:
      return fmt::format("graph nodes that copy or clear memory: {} → {}", change.baseline, change.candidate);
    case exact_kind::moved:
    case exact_kind::launch_configuration:
    case exact_kind::operation_launches:
    case exact_kind::machine_code:
    case exact_kind::copied_bytes:
    case exact_kind::synchronisations:
      return fmt::format(
          "{}{}{}: {}", names.of(change.subject),
          change.baseline_subject.empty() ? "" : ", which was " + names.of(change.baseline_subject) + ",",
          change.path.empty() ? "" : " in " + change.path, difference_text(change));
  }
  return change.subject;
}

std::string difference_text(const exact_change& change) {
  switch (change.kind) {
    case exact_kind::operation_launches:
      if (analysis::is_copy_name(change.subject))
        return fmt::format("{} → {} times", change.baseline, change.candidate);
      return fmt::format("launches {} → {}", change.baseline, change.candidate);
    case exact_kind::moved:
      return change.path.empty() ? fmt::format("moved from {} to {}", change.baseline, change.candidate)
                                 : "moved from " + change.baseline;
    case exact_kind::routing:
      return fmt::format("rows of the fullest expert over the mean {} → {}", change.baseline,
                         change.candidate);
    case exact_kind::machine_code:
      return "other machine code";
    case exact_kind::copied_bytes:
      return fmt::format("bytes {} → {}", change.baseline, change.candidate);
    case exact_kind::synchronisations:
      return fmt::format("calls {} → {}", change.baseline, change.candidate);
    case exact_kind::launch_configuration:
      return configuration_text(change.baseline, change.candidate);
    default:
      return fmt::format("{} → {}", change.baseline, change.candidate);
  }
}

std::string experts_text(const stage_judgement& stage) {
  if (!stage.experts) return "";
  const auto figures = [](const expert_fill& fill, const char* of_the_mean) {
    return fmt::format("{:.1f} times{}, {} {}", fill.imbalance_ratio, of_the_mean, fill.largest_rows,
                       fill.largest_rows == 1 ? "row" : "rows");
  };
  std::string text = "the fullest expert gets " + figures(*stage.experts, " the mean");
  if (!stage.baseline_experts) return text;
  if (*stage.baseline_experts == *stage.experts) return text + "; as before";
  return text + "; before: " + figures(*stage.baseline_experts, "");
}

}  // namespace profgate::gate
