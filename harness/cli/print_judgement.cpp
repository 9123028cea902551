#include "print_judgement.h"

#include <fmt/format.h>

#include "core/units.h"

namespace profgate::cli {
namespace {

std::string numbers_of(const gate::stage_judgement& stage) {
  if (!stage.numbers) return "";
  const gate::comparison& numbers = *stage.numbers;
  std::string text =
      fmt::format("  {} → {}, {:+.1f} %", core::format_duration(numbers.baseline_median_ns),
                  core::format_duration(numbers.candidate_median_ns), 100 * numbers.slowdown_ratio);
  if (numbers.lower_95_ratio && numbers.upper_95_ratio) {
    text += fmt::format(" ({:+.1f} % to {:+.1f} %)", 100 * *numbers.lower_95_ratio,
                        100 * *numbers.upper_95_ratio);
  }
  return text + fmt::format(", {} and {} runs", numbers.baseline_runs, numbers.candidate_runs);
}

void print_stage(const gate::stage_judgement& stage) {
  fmt::print("{:<14} {:<14}{}\n", stage.stage, gate::to_text(stage.which), numbers_of(stage));
  fmt::print("{:<14} {}\n", "", stage.reason);
  if (stage.detectable_ratio) {
    fmt::print("{:<14} a slowdown of {:.1f} % would have been found\n", "", 100 * *stage.detectable_ratio);
  }
  for (const gate::exact_change& change : stage.exact.changes)
    fmt::print("{:<14} {}\n", "", gate::to_text(change));
  if (stage.waived_by) fmt::print("{:<14} waived by {}\n", "", *stage.waived_by);
}

}  // namespace

void print_judgement(const gate::judgement& judged) {
  fmt::print("{} on {}, {}: {} against {}\n", judged.pair, judged.device_name,
             judged.is_interleaved ? "interleaved" : "stored numbers", judged.candidate_name,
             judged.baseline_name);
  for (const gate::stage_judgement& stage : judged.stages) print_stage(stage);
  for (const std::string& warning : judged.warnings) fmt::print("warning: {}\n", warning);
  for (const std::string& notice : judged.notices) fmt::print("note: {}\n", notice);
  std::string detectable;
  for (const gate::stage_judgement& stage : judged.stages) {
    if (stage.which != judged.overall || !stage.detectable_ratio || !detectable.empty()) continue;
    detectable =
        fmt::format("; the smallest slowdown it could have seen: {:.1f} %", 100 * *stage.detectable_ratio);
  }
  fmt::print("{} gate {}: {}{}\n", judged.pair, gate::to_text(judged.overall), judged.reason, detectable);
}

}  // namespace profgate::cli
