#include <fmt/format.h>

#include <cmath>

#include "ab/comparison.h"
#include "ab/gate_config.h"
#include "commands.h"
#include "comparison_request.h"
#include "core/stage_names.h"
#include "judging.h"
#include "measuring_turn.h"
#include "self_test_outcome.h"
#include "steps/step.h"
#include "terminal.h"

namespace profgate::cli {
namespace {

/// The delay is planted in decode steps, so this stage alone is judged.
constexpr const char* planted_stage = core::decode_all_stage;

/// The pair's build against itself; the candidate waits `delay_ns` in every decode step.
gate::judgement compare_once(const pair_manifest& pair, std::vector<std::string> overrides,
                             std::int64_t delay_ns) {
  overrides.push_back(fmt::format("gate.stages=[{}]", planted_stage));
  const config::resolved unchanged = compose_for(pair, overrides);
  overrides.push_back(fmt::format("workload.planted_delay_ns={}", delay_ns));
  const config::resolved planted = compose_for(pair, overrides);
  progress display(fmt::format("{} self-test", pair.pair));
  const measuring_turn turn(display);
  const ab::comparison_result result = ab::run_comparison(
      {surroundings_of(pair, unchanged, display), arm_of(pair, unchanged, "this build"),
       arm_of(pair, planted,
              delay_ns == 0 ? "the same build"
                            : fmt::format("the same build with a planted delay of {} ns a step", delay_ns)),
       fmt::format("profgate run {} workload.planted_delay_ns={}", pair.pair, delay_ns)});
  gate::judgement judged = judge_comparison(result, planted, {});
  record_comparison(result, judged);
  print_judgement(judged);
  return judged;
}

/// Too much noise is tried once more. A gate must not, for chance would have a second try; here it is known
/// what has to come out.
gate::judgement compare_with_itself(const pair_manifest& pair, const std::vector<std::string>& overrides,
                                    std::int64_t delay_ns) {
  gate::judgement judged = compare_once(pair, overrides, delay_ns);
  if (judged.stages.front().which != gate::verdict::inconclusive) return judged;
  print("self-test: too noisy to say; once more\n");
  return compare_once(pair, overrides, delay_ns);
}

core::exit_code end_with(const self_test_outcome& ends) {
  print("self-test {}: {}\n",
        ends.code == core::exit_code::good           ? "passed"
        : ends.code == core::exit_code::not_possible ? "inconclusive"
                                                     : "FAILED",
        ends.sentence);
  return ends.code;
}

}  // namespace

core::exit_code gate_self_test(const self_test_options& options) {
  const pair_manifest pair = manifest_of(options.pair);
  const config::resolved config = compose_for(pair, options.pair.overrides);
  if (pair.engine != "llm") {
    throw core::bad_input(
        fmt::format("{} is no pair of the engine llm: no delay can be planted in it", pair.pair),
        "name a pair of the engine llm; `profgate list` shows them");
  }
  if (options.planted_ratio <= config.number("gate.confirm_ratio")) {
    throw core::bad_input(
        fmt::format("a planted slowdown of {:.1f} % is within the gate's margin of {:.1f} %",
                    100 * options.planted_ratio, 100 * config.number("gate.confirm_ratio")),
        "plant more (--planted-ratio), or lower gate.confirm_ratio");
  }
  const gate::judgement unchanged = compare_with_itself(pair, options.pair.overrides, 0);
  const gate::stage_judgement& first = unchanged.stages.front();
  if (first.which == gate::verdict::inconclusive) return end_with(too_noisy(first));
  // By chance "faster" in one of some hundred comparisons of noisy processes: its test passes.
  if (unchanged.code != core::exit_code::good || !first.numbers)
    return end_with(
        {core::exit_code::judged_bad, "an unchanged build was judged " + gate::to_text(first.which)});

  const auto steps = static_cast<double>(ab::gate_config(config).integer("workload.decode_tokens"));
  const std::int64_t delay_ns =
      std::llround(options.planted_ratio * first.numbers->baseline_median_ns / steps);
  const gate::judgement planted = compare_with_itself(pair, options.pair.overrides, delay_ns);
  return end_with(outcome_of_planted(planted.stages.front(), options.planted_ratio));
}

}  // namespace profgate::cli
