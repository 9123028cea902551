#include <fmt/format.h>

#include "artifacts/files.h"
#include "baselines/baseline_store.h"
#include "baselines/run_set_file.h"
#include "commands.h"
#include "gate/judge.h"
#include "gate/process_runs.h"
#include "judging.h"
#include "out_folder.h"
#include "read_waivers.h"
#include "requirements.h"
#include "run_set_source.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

/// The rules of a configuration, or the defaults; `reduction` as the program timed itself.
gate::judge_rules rules_for(const judge_files_options& options, const gate::run_set& candidate) {
  gate::judge_rules rules =
      options.config ? judge_rules_of(config::read_resolved(*options.config)) : gate::judge_rules{};
  rules.reduction = gate::reduction_for(candidate);
  if (options.inconclusive_fails) rules.inconclusive_fails = true;
  return rules;
}

gate::judgement judge(const judge_files_options& options, const std::vector<gate::waiver>& waivers,
                      const std::string& today) {
  const gate::run_set candidate = baselines::read_run_set(options.candidate).runs;
  gate::run_set baseline;
  try {
    baseline = baselines::read_run_set(options.baseline).runs;
  } catch (const core::not_possible& other_schema) {
    return gate::judged_without_runs(candidate.identity.pair, gate::verdict::not_comparable,
                                     other_schema.what(), waivers, today);
  }
  const gate::judge_rules rules = rules_for(options, candidate);
  const gate::compared_names names{
      fmt::format("{} ({})", options.baseline.string(), gate::commit_text(baseline.identity)),
      fmt::format("{} ({})", options.candidate.string(), gate::commit_text(candidate.identity))};
  return options.as_stored ? gate::judge_stored(baseline, candidate, rules, waivers, today, names)
                           : gate::judge_run_sets(baseline, candidate, rules, waivers, today, names);
}

}  // namespace

core::exit_code judge_files(const judge_files_options& options) {
  if (options.out) require_folder_around(*options.out);
  const std::vector<gate::waiver> waivers = read_waivers(options.baselines_dir);
  gate::judgement judged = judge(options, waivers, today_utc());
  if (options.anchor) {
    const gate::run_set candidate = baselines::read_run_set(options.candidate).runs;
    baselines::judge_since_anchor(*options.anchor, candidate, rules_for(options, candidate), waivers,
                                  today_utc(), judged);
  }
  print_judgement(judged);
  if (options.out) {
    artifacts::make_folder(*options.out);
    write_judgement(judged, *options.out);
  }
  if (lacks_baseline(judged) && required_here().contains(require_baseline_word))
    skip_unless_required(require_baseline_word, judged.reason, "");
  return judged.code;
}

core::exit_code judge_run(judge_files_options options) {
  options.candidate = run_set_file_of(options.run);
  for (const char* name : {"candidate.yaml", "config.yaml"}) {  // of a comparison's folder, of a run
    if (fs::exists(options.run / name)) options.config = options.run / name;
  }
  if (options.baselines_dir == default_baselines_dir) {
    if (options.config)
      options.baselines_dir = config::read_resolved(*options.config).text("gate.baselines_dir");
    options.baselines_dir = project_of(options.run, options.baselines_dir) / options.baselines_dir;
  }
  // The gate's own run: two builds that somebody compares are not held against a third.
  if (const auto history_file = history_file_of_run(options.run)) {
    options.anchor = anchor_place_of(config::read_resolved(*options.config), {}, options.baselines_dir);
    if (options.anchor) options.anchor->history_file = *history_file;
  }
  // A comparison of two builds has its own baseline; a run against stored numbers has that of its key.
  if (const auto other = other_arm_of(options.run)) {
    options.baseline = *other;
    return judge_files(options);
  }
  const gate::build_identity identity = baselines::read_run_set(options.candidate).runs.identity;
  options.baseline = options.baselines_dir / baselines::baseline_name(identity);
  if (!fs::exists(options.baseline)) {
    skip_unless_required(require_baseline_word,
                         fmt::format("there is no baseline {}", options.baseline.string()),
                         fmt::format("profgate baseline accept {} --reason \"…\"", options.run.string()));
  }
  return judge_files(options);
}

}  // namespace profgate::cli
