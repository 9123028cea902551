#include <fmt/format.h>

#include "ab/baseline_build.h"
#include "ab/comparison.h"
#include "commands.h"
#include "comparison_request.h"
#include "gate_stored.h"
#include "read_waivers.h"
#include "record_comparison.h"
#include "show_judgement.h"
#include "steps/step.h"

namespace profgate::cli {
namespace {

/// What `git bisect run` makes of 77 is "bad"; what it skips is 125.
constexpr int bisect_skip = 125;

ab::comparison_result compare(const ab_options& options) {
  const pair_manifest manifest = manifest_of(options.pair);
  const auto settings_with = [&](const std::vector<std::string>& further) {
    std::vector<std::string> all = options.pair.overrides;
    all.insert(all.end(), further.begin(), further.end());
    return compose_for(manifest, all);
  };
  const config::resolved settings = settings_with(options.candidate_overrides);
  const std::vector<baselines::waiver> waivers =
      read_waivers(baselines_dir_of(manifest, settings));  // a faulty file is told before the runs
  progress display(fmt::format("{} ab", manifest.pair));
  ab::comparison_result result = ab::run_comparison(comparison_request(
      manifest,
      {options.baseline, settings_with(options.baseline_overrides), settings, options.out, options.candidate},
      display));
  take_waivers_into_account(waivers, settings, result.judged);
  return result;
}

}  // namespace

core::exit_code compare_builds(const ab_options& options) {
  try {
    const ab::comparison_result result = compare(options);
    record_comparison(result);
    fmt::print("runs, logs and traces: {}\n", result.folder.string());
    print_judgement(result.judged);
    if (options.for_bisect && result.judged.code == core::exit_code::not_possible)
      return static_cast<core::exit_code>(bisect_skip);
    return result.judged.code;
  } catch (const core::error& broken) {
    // A commit that does not build, or whose workload fails, says nothing about speed.
    const bool is_of_commit = dynamic_cast<const core::step_failure*>(&broken) != nullptr ||
                              dynamic_cast<const ab::build_failure*>(&broken) != nullptr;
    if (!options.for_bisect || !is_of_commit) throw;
    fmt::print(stderr, "profgate: this commit cannot be judged: {}\n", broken.what());
    return static_cast<core::exit_code>(bisect_skip);
  }
}

}  // namespace profgate::cli
