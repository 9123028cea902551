#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "ab/baseline_build.h"
#include "artifacts/files.h"
#include "artifacts/refusal.h"
#include "artifacts/run_store.h"
#include "artifacts/status.h"
#include "commands.h"
#include "config/schema.h"
#include "make_reports.h"
#include "measuring_turn.h"
#include "process/runner.h"
#include "render/gate_views.h"
#include "render/models_views.h"
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
  std::vector<artifacts::step_status> steps{};
};

/// Of the steps that have run, in their order.
std::vector<artifacts::step_status> statuses_of(const fs::path& run_dir) {
  std::vector<artifacts::step_status> statuses;
  for (const step_definition& step : all_steps()) {
    std::optional<artifacts::step_status> status = artifacts::read_status(run_dir, step.name);
    if (status && status->state) statuses.push_back(std::move(*status));
  }
  return statuses;
}

/// As seen from `here`; whole where that is empty.
std::string shown_path(const fs::path& path, const fs::path& here) {
  return (here.empty() ? path : fs::proximate(path, here)).string();
}

std::string line_of(const fs::path& run_dir, const fs::path& here,
                    const std::vector<artifacts::step_status>& steps,
                    const std::optional<gate::judgement>& judged) {
  for (const artifacts::step_status& step : steps) {
    if (*step.state == core::step_state::failed) {
      return fmt::format("FAILED   {}: {} ({})", step.step, core::with_remedy(step.reason, step.remedy),
                         run_dir.string());
    }
    const bool nothing_measured = step.step == "prepare" || step.step == "stage1";
    if (*step.state == core::step_state::skipped && nothing_measured) return "skipped  " + step.reason;
  }
  return fmt::format("ok       {}  (gate: {})", shown_path(run_dir / "report.html", here),
                     judged ? render::verdict_word(*judged) : words_without_verdict(steps));
}

/// What step prepare of this very ctest was refused for, so that it left no run.
std::optional<artifacts::refusal> refusal_by(const std::optional<artifacts::process_owner>& ctest,
                                             const pair_manifest& pair) {
  if (!ctest) return std::nullopt;
  std::optional<artifacts::refusal> refused = artifacts::read_refusal(build_dir_of(pair), pair.pair);
  if (refused && refused->owner != *ctest) refused.reset();
  return refused;
}

/// `ctest`: the one to tell of, where its user started it; without it the pair's last run.
pair_result result_of(const pair_manifest& pair, const fs::path& here,
                      const std::optional<artifacts::process_owner>& ctest) {
  pair_result result;
  const auto set_refused = [&](const std::string& reason, const std::string& remedy) {
    result.line = "FAILED   prepare: " + core::with_remedy(reason, remedy);
    result.outcome = {pair_ending::failed};
  };
  try {
    result.stage2_dir = stage2_dir_of(pair, compose_for(pair, {}));
  } catch (const core::bad_input& refused) {
    // Its step prepare failed by it, and left no run.
    result.stage2_dir = pair.project_dir / config::find_row("artifacts.stage2_dir")->default_yaml;
    set_refused(refused.what(), refused.remedy());
    return result;
  }
  if (const std::optional<artifacts::refusal> refused = refusal_by(ctest, pair)) {
    set_refused(refused->reason, refused->remedy);
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
    result.steps = statuses_of(current->run_directory);
    result.line = line_of(current->run_directory, here, result.steps, result.judged);
    result.outcome = outcome_of(result.steps, result.judged);
  } catch (const core::bad_input& damaged) {
    result.outcome = {pair_ending::damaged};  // the other pairs' lines are worth no less for it
    result.line = fmt::format("FAILED   {}", damaged.what());
  }
  return result;
}

/// models.md: what the latest runs come to, side by side; nothing where none came to anything.
void write_models(const fs::path& stage2_dir, const fs::path& here) {
  try {
    const fs::path file = stage2_dir / "models.md";
    artifacts::write_file_atomically(file, render::models_markdown(models_table(stage2_dir, {}, stage2_dir),
                                                                   find_installation().templates_dir));
    print("models: {}\n", shown_path(file, here));
  } catch (const core::bad_input& none) {
    print("models: none: {}\n", none.what());
  }
}

/// One summary.md beside the runs, for a comment of a CI.
void write_summaries(const std::map<fs::path, std::vector<render::summary_row>>& rows_by_folder,
                     const fs::path& here) {
  for (const auto& [stage2_dir, rows] : rows_by_folder) {
    artifacts::make_folder(stage2_dir);
    const fs::path file = stage2_dir / "summary.md";
    artifacts::write_file_atomically(file, render::gate_summary(rows));
    print("\nsummary: {}\n", shown_path(file, here));
    write_models(stage2_dir, here);
  }
}

/// A line a pair, why steps were skipped, what lies beside the runs, and a line of counts.
std::vector<pair_outcome> tell(const std::vector<pair_manifest>& pairs, const fs::path& here,
                               const std::optional<artifacts::process_owner>& ctest = {}) {
  print("\n");
  std::map<fs::path, std::vector<render::summary_row>> summaries;
  std::vector<pair_outcome> outcomes;
  std::vector<std::vector<artifacts::step_status>> steps;
  for (const pair_manifest& pair : pairs) {
    pair_result result = result_of(pair, here, ctest);
    print("{:<32} {}\n", pair.pair, result.line);
    outcomes.push_back(result.outcome);
    steps.push_back(std::move(result.steps));
    summaries[result.stage2_dir].push_back({pair.pair, std::move(result.judged), std::move(result.line)});
  }
  for (const std::string& line : skipped_step_lines(steps)) print("{}\n", line);
  write_summaries(summaries, here);
  print("{}\n", closing_line(outcomes));
  return outcomes;
}

bool was_run_by(const artifacts::process_owner& ctest, const pair_manifest& pair) {
  if (refusal_by(ctest, pair)) return true;
  try {
    const auto current = artifacts::run_store(stage2_dir_of(pair, compose_for(pair, {}))).current(pair.pair);
    return current && current->owner == ctest;
  } catch (const core::bad_input&) {
    return false;  // refused now, but no test of this ctest's
  }
}

/// For the ctest that a session starts: the session tells it all itself.
constexpr const char* in_session_variable = "PROFGATE_IN_SESSION";

}  // namespace

core::exit_code session(const session_options& options) {
  const fs::path build_dir = find_build_dir(options.build_dir);
  process::command ctest;
  const fs::path test_dir = ab::cmake_binary_dir(build_dir);
  ctest.argv = {"ctest",    "--test-dir",       test_dir.string(),    "-L",
                "^stage2$", "--no-tests=error", "--output-on-failure"};
  if (test_dir != build_dir) ctest.argv.insert(ctest.argv.end(), {"-C", build_dir.filename().string()});
  ctest.set_environment[in_session_variable] = "1";
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

  const std::vector<pair_outcome> outcomes = tell(registered_pairs(build_dir), fs::current_path());
  return exit_code_of(outcomes, outcome.how == process::ending::exited && outcome.exit_code == 0);
}

core::exit_code tell_before_ctest() {
  if (const auto holder = whoever_measures())
    print("{} measures on this machine: tests that measure wait until it has ended\n", *holder);
  return core::exit_code::good;
}

core::exit_code tell_after_ctest(const session_options& options) {
  if (std::getenv(in_session_variable) != nullptr) return core::exit_code::good;
  try {
    const artifacts::process_owner ctest = artifacts::owner_of(getppid());
    std::vector<pair_manifest> pairs = registered_pairs(find_build_dir(options.build_dir));
    std::erase_if(pairs, [&](const pair_manifest& pair) { return !was_run_by(ctest, pair); });
    if (!pairs.empty()) tell(pairs, {}, ctest);  // ctest has left the folder that its user is in
  } catch (const core::error& fault) {
    print_error("profgate: {}\n", fault.what());
  }
  return core::exit_code::good;
}

}  // namespace profgate::cli
