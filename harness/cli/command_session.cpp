#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "ab/baseline_build.h"
#include "artifacts/files.h"
#include "artifacts/run_store.h"
#include "artifacts/status.h"
#include "commands.h"
#include "config/schema.h"
#include "process/runner.h"
#include "render/gate_views.h"
#include "render/models_views.h"
#include "render/verdict_json.h"
#include "session_tally.h"
#include "steps/step.h"
#include "terminal.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

/// What became of a pair.
struct pair_result {
  std::filesystem::path stage2_dir;
  std::string line;  ///< its report, or the reason why there is none
  std::optional<gate::judgement> judged;
  pair_outcome outcome;
};

/// The verdict that the gate left in the run, where it came that far.
std::optional<gate::judgement> verdict_of(const fs::path& run_dir) {
  const fs::path file = run_dir / "verdict.json";
  if (!fs::exists(file)) return std::nullopt;
  return render::read_verdict(artifacts::read_file(file), file.string());
}

/// Of the steps that have run, in their order.
std::vector<artifacts::step_status> statuses_of(const fs::path& run_dir) {
  std::vector<artifacts::step_status> statuses;
  for (const step_definition& step : all_steps()) {
    std::optional<artifacts::step_status> status = artifacts::read_status(run_dir, step.name);
    if (status && status->state) statuses.push_back(std::move(*status));
  }
  return statuses;
}

std::string line_of(const fs::path& run_dir, const std::vector<artifacts::step_status>& steps,
                    const std::optional<gate::judgement>& judged) {
  std::string gate = judged ? render::verdict_word(*judged) : "no verdict";
  for (const artifacts::step_status& step : steps) {
    if (*step.state == core::step_state::failed) {
      return fmt::format("FAILED   {}: {} ({})", step.step, step.reason, run_dir.string());
    }
    const bool nothing_measured = step.step == "prepare" || step.step == "stage1";
    if (*step.state == core::step_state::skipped && nothing_measured) return "skipped  " + step.reason;
    if (!judged && step.step == "gate" && *step.state == core::step_state::ok) gate = "passed";
  }
  return fmt::format("ok       {}  (gate: {})", fs::proximate(run_dir / "report.md").string(), gate);
}

pair_result result_of(const pair_manifest& pair) {
  pair_result result;
  try {
    result.stage2_dir = stage2_dir_of(pair, compose_for(pair, {}));
  } catch (const core::bad_input& refused) {
    // Its step prepare failed by it, and left no run.
    result.stage2_dir = pair.project_dir / config::find_row("artifacts.stage2_dir")->default_yaml;
    result.line = fmt::format("FAILED   prepare: {}", refused.what());
    result.outcome = {pair_ending::failed};
    return result;
  }
  const std::optional<artifacts::current_run> current =
      artifacts::run_store(result.stage2_dir).current(pair.pair);
  if (!current) {
    result.line = "not run";
    result.outcome = {pair_ending::not_judged, "not run"};
    return result;
  }
  try {
    result.judged = verdict_of(current->run_directory);
    const std::vector<artifacts::step_status> steps = statuses_of(current->run_directory);
    result.line = line_of(current->run_directory, steps, result.judged);
    result.outcome = outcome_of(steps, result.judged);
  } catch (const core::bad_input& damaged) {
    result.outcome = {pair_ending::damaged};  // the other pairs' lines are worth no less for it
    result.line = fmt::format("FAILED   {}", damaged.what());
  }
  return result;
}

/// models.md: what the latest runs come to, side by side; nothing where none came to anything.
void write_models(const fs::path& stage2_dir) {
  try {
    const fs::path file = stage2_dir / "models.md";
    artifacts::write_file_atomically(file, render::models_markdown(models_table(stage2_dir, {}, stage2_dir),
                                                                   find_installation().templates_dir));
    print("models: {}\n", fs::proximate(file).string());
  } catch (const core::bad_input& none) {
    print("models: none: {}\n", none.what());
  }
}

/// One summary.md beside the runs, for a comment of a CI.
void write_summaries(const std::map<fs::path, std::vector<render::summary_row>>& rows_by_folder) {
  for (const auto& [stage2_dir, rows] : rows_by_folder) {
    artifacts::make_folder(stage2_dir);
    const fs::path file = stage2_dir / "summary.md";
    artifacts::write_file_atomically(file, render::gate_summary(rows));
    print("\nsummary: {}\n", fs::proximate(file).string());
    write_models(stage2_dir);
  }
}

}  // namespace

core::exit_code session(const session_options& options) {
  const fs::path build_dir = find_build_dir(options.build_dir);
  process::command ctest;
  const fs::path test_dir = ab::cmake_binary_dir(build_dir);
  ctest.argv = {"ctest",    "--test-dir",       test_dir.string(),    "-L",
                "^stage2$", "--no-tests=error", "--output-on-failure"};
  if (test_dir != build_dir) ctest.argv.insert(ctest.argv.end(), {"-C", build_dir.filename().string()});
  process::run_options run_options;
  run_options.on_line = [](std::string_view line) {
    print("{}\n", line);
    std::fflush(stdout);
  };
  const process::outcome outcome = process::run(ctest, run_options);
  if (outcome.how == process::ending::not_started) {
    throw core::bad_input(outcome.start_error, "put the ctest of your CMake on PATH");
  }
  if (outcome.how == process::ending::interrupted) throw core::interrupted("the session was interrupted");

  print("\n");
  std::map<fs::path, std::vector<render::summary_row>> summaries;
  std::vector<pair_outcome> outcomes;
  for (const pair_manifest& pair : registered_pairs(build_dir)) {
    pair_result result = result_of(pair);
    print("{:<32} {}\n", pair.pair, result.line);
    outcomes.push_back(result.outcome);
    summaries[result.stage2_dir].push_back({pair.pair, std::move(result.judged), std::move(result.line)});
  }
  write_summaries(summaries);
  print("{}\n", closing_line(outcomes));
  return exit_code_of(outcomes, outcome.how == process::ending::exited && outcome.exit_code == 0);
}

}  // namespace profgate::cli
