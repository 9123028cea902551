#include <fmt/format.h>

#include "ab/comparison.h"
#include "ad_hoc_pair.h"
#include "commands.h"
#include "comparison_request.h"
#include "judging.h"
#include "measuring_turn.h"
#include "out_folder.h"
#include "read_waivers.h"
#include "steps/run_command.h"
#include "steps/step.h"
#include "terminal.h"

namespace profgate::cli {
namespace {

/// What `git bisect run` makes of 77 is "bad"; what it skips is 125.
constexpr int bisect_skip = 125;

/// The candidate's; the baseline's is the same pair by another command, where two were typed.
struct manifests {
  pair_manifest candidate;
  std::optional<pair_manifest> baseline{};
};

manifests manifests_of(const pair_options& options) {
  if (options.command.empty()) return {manifest_of(options)};
  const two_commands commands = split_commands(options.command);
  manifests both{ad_hoc_pair(commands.candidate), ad_hoc_pair(commands.baseline)};
  both.baseline->pair = both.candidate.pair;
  both.baseline->model = both.candidate.model;
  if (both.candidate.command_has_placeholders != both.baseline->command_has_placeholders) {
    throw core::bad_input("one of the two commands asks for {result}, the other does not",
                          "let both keep the contract, or none of them");
  }
  return both;
}

gate::judgement compare(const ab_options& options) {
  const manifests both = manifests_of(options.pair);
  const pair_manifest& manifest = both.candidate;
  const auto settings_with = [&](const std::vector<std::string>& further) {
    std::vector<std::string> all = options.pair.overrides;
    all.insert(all.end(), further.begin(), further.end());
    return compose_for(manifest, all);
  };
  const config::resolved settings = settings_with(options.candidate_overrides);
  const config::resolved settings_of_baseline = settings_with(options.baseline_overrides);
  if (both.baseline) {  // both were typed
    require_programs(*both.baseline, settings_of_baseline);
    require_programs(manifest, settings);
  }
  // A faulty file is told before the runs. What is looked for may well be what was waived.
  const std::vector<gate::waiver> waivers =
      options.for_bisect ? std::vector<gate::waiver>{} : read_waivers(baselines_dir_of(manifest, settings));
  const ab::comparison_result result = [&] {
    progress display(fmt::format("{} ab", manifest.pair));
    const measuring_turn turn(display);
    const comparison_options wanted{options.baseline, settings_of_baseline, settings,
                                    options.out,      options.candidate,    options.pair.overrides};
    return ab::run_comparison(both.baseline ? request_of_commands(*both.baseline, manifest, wanted, display)
                                            : comparison_request(manifest, wanted, display));
  }();
  const gate::judgement judged = judge_comparison(result, settings, waivers);
  record_comparison(result, judged);
  print("report: {}; runs, logs and traces beside it\n", (result.folder / "gate.md").string());
  print_judgement(judged);
  return judged;
}

/// What is not judged says nothing about speed, and bisect takes every code but 0 and 125 for "bad": a stage
/// that is gone, runs that somebody disturbed, noise.
core::exit_code answer_to_bisect(const gate::judgement& judged) {
  if (judged.overall == gate::verdict::regressed) return core::exit_code::judged_bad;
  const bool is_good = gate::exit_code_of(judged.overall) == core::exit_code::good;
  return is_good ? core::exit_code::good : static_cast<core::exit_code>(bisect_skip);
}

core::exit_code leave_commit_out(const std::string& why, const std::string& remedy) {
  print_error("profgate: this commit cannot be judged: {}\n", why);
  if (!remedy.empty()) print_error("  to fix it: {}\n", remedy);
  return static_cast<core::exit_code>(bisect_skip);
}

}  // namespace

core::exit_code compare_builds(const ab_options& options) {
  // A bisection would take the refusal for a verdict on the commit.
  if (options.out && !options.for_bisect) require_folder_around(*options.out);
  try {
    const gate::judgement judged = compare(options);
    return options.for_bisect ? answer_to_bisect(judged) : judged.code;
  } catch (const core::error& broken) {
    // An interrupt ends the bisection, as codes above 127 do.
    if (!options.for_bisect || broken.code() == core::exit_code::interrupted) throw;
    return leave_commit_out(broken.what(), broken.remedy());
  } catch (const std::exception& broken) {
    if (!options.for_bisect) throw;
    return leave_commit_out(broken.what(), "");
  }
}

}  // namespace profgate::cli
