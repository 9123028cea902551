#include <fmt/format.h>

#include "baselines/baseline_store.h"
#include "baselines/judge.h"
#include "baselines/run_set_file.h"
#include "commands.h"
#include "gate_rules.h"
#include "read_waivers.h"
#include "run_set_source.h"
#include "show_judgement.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

/// The rules of a configuration, or the defaults; `reduction` as the program timed itself.
baselines::judge_rules rules_for(const judge_files_options& options, const gate::run_set& candidate) {
  baselines::judge_rules rules =
      options.config ? judge_rules_of(config::read_resolved(*options.config)) : baselines::judge_rules{};
  rules.reduction = baselines::reduction_for(candidate);
  if (options.inconclusive_fails) rules.inconclusive_fails = true;
  return rules;
}

gate::judgement judge(const judge_files_options& options, const std::vector<baselines::waiver>& waivers,
                      const std::string& today) {
  const gate::run_set candidate = baselines::read_run_set(options.candidate).runs;
  gate::run_set baseline;
  try {
    baseline = baselines::read_run_set(options.baseline).runs;
  } catch (const core::not_possible& other_schema) {
    return baselines::judged_without_runs(candidate.identity.pair, gate::verdict::not_comparable,
                                          other_schema.what(), waivers, today);
  }
  const baselines::judge_rules rules = rules_for(options, candidate);
  const baselines::compared_names names{
      fmt::format("{} ({})", options.baseline.string(), baselines::commit_text(baseline.identity)),
      fmt::format("{} ({})", options.candidate.string(), baselines::commit_text(candidate.identity))};
  return options.as_stored ? baselines::judge_stored(baseline, candidate, rules, waivers, today, names)
                           : baselines::judge_run_sets(baseline, candidate, rules, waivers, today, names);
}

}  // namespace

core::exit_code judge_files(const judge_files_options& options) {
  const gate::judgement judged = judge(options, read_waivers(options.baselines_dir), baselines::today_utc());
  print_judgement(judged);
  return judged.code;
}

core::exit_code judge_run(judge_files_options options) {
  options.candidate = run_set_file_of(options.run);
  if (fs::exists(options.run / "config.yaml")) options.config = options.run / "config.yaml";
  if (options.config && options.baselines_dir == default_baselines_dir)
    options.baselines_dir = config::read_resolved(*options.config).text("gate.baselines_dir");
  // A comparison of two builds has its own baseline; a run against stored numbers has that of its key.
  if (const auto other = other_arm_of(options.run)) {
    options.baseline = *other;
    return judge_files(options);
  }
  const gate::build_identity identity = baselines::read_run_set(options.candidate).runs.identity;
  options.baseline = options.baselines_dir / baselines::baseline_name(identity);
  if (!fs::exists(options.baseline)) {
    throw core::not_possible(fmt::format("there is no baseline {}", options.baseline.string()),
                             fmt::format("profgate baseline accept {} --reason \"…\"", options.run.string()));
  }
  return judge_files(options);
}

}  // namespace profgate::cli
