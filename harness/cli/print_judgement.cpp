#include "print_judgement.h"

#include <fmt/format.h>

#include "core/units.h"

namespace profgate::cli {
namespace {

constexpr std::size_t shown_causes = 3;

std::string bounds_text(const gate::comparison& numbers) {
  std::string text = fmt::format("{:+.1f} %", 100 * numbers.slowdown_ratio);
  if (numbers.lower_95_ratio && numbers.upper_95_ratio) {
    text +=
        fmt::format(" ({:+.1f} to {:+.1f} %)", 100 * *numbers.lower_95_ratio, 100 * *numbers.upper_95_ratio);
  }
  return text + fmt::format(", {} → {}, {} + {} runs", core::format_duration(numbers.baseline_median_ns),
                            core::format_duration(numbers.candidate_median_ns), numbers.baseline_runs,
                            numbers.candidate_runs);
}

void print_stage(const gate::stage_judgement& stage) {
  fmt::print("{}: {}: {}{}\n", stage.stage, gate::to_text(stage.which),
             stage.numbers ? bounds_text(*stage.numbers) + "; " : "", stage.reason);
  if (stage.detectable_ratio)
    fmt::print("  a slowdown of {:.1f} % would have been seen\n", 100 * *stage.detectable_ratio);
  if (stage.attributed) {
    for (const gate::cause& cause : gate::leading_causes(*stage.attributed, shown_causes))
      fmt::print("  {}\n", gate::to_text(cause));
  } else if (stage.which == gate::verdict::regressed) {
    fmt::print("  its cause is not known: {}\n", stage.attribution_reason);
  }
  for (const gate::exact_change& change : stage.exact.changes) fmt::print("  {}\n", gate::to_text(change));
}

}  // namespace

void print_judgement(const gate::judgement& judged) {
  fmt::print("{}: {} against {}, on {}\n", judged.pair, judged.candidate_name, judged.baseline_name,
             judged.device_name);
  for (const gate::stage_judgement& stage : judged.stages) print_stage(stage);
  for (const std::string& warning : judged.warnings) fmt::print("warning: {}\n", warning);
  for (const std::string& notice : judged.notices) fmt::print("note: {}\n", notice);
  if (judged.seconds)
    fmt::print("{:.0f} s, {} runs discarded; to look deeper: {}\n", *judged.seconds, judged.discarded_runs,
               judged.look_deeper);
  fmt::print("{}: {} ({})\n", judged.pair, gate::to_text(judged.overall), judged.reason);
}

}  // namespace profgate::cli
