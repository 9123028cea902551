#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "ab/baseline_build.h"
#include "artifacts/files.h"
#include "artifacts/run_store.h"
#include "artifacts/status.h"
#include "commands.h"
#include "process/runner.h"
#include "render/gate_views.h"
#include "render/verdict_json.h"
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
  bool is_damaged = false;  ///< its verdict cannot be read
};

/// The verdict that the gate left in the run, where it came that far.
std::optional<gate::judgement> verdict_of(const fs::path& run_dir) {
  const fs::path file = run_dir / "verdict.json";
  if (!fs::exists(file)) return std::nullopt;
  return render::read_verdict(artifacts::read_file(file), file.string());
}

std::string line_of(const fs::path& run_dir, const std::optional<gate::judgement>& judged) {
  std::string gate = judged ? gate::to_text(judged->overall) : "no verdict";
  for (const step_definition& step : all_steps()) {
    const std::optional<artifacts::step_status> status = artifacts::read_status(run_dir, step.name);
    if (!status || !status->state) continue;
    if (*status->state == core::step_state::failed) {
      return fmt::format("FAILED   {}: {} ({})", step.name, status->reason, run_dir.string());
    }
    const bool nothing_measured = step.name == "prepare" || step.name == "stage1";
    if (*status->state == core::step_state::skipped && nothing_measured) return "skipped  " + status->reason;
    if (!judged && step.name == "gate" && *status->state == core::step_state::ok) gate = "passed";
  }
  return fmt::format("ok       {}  (gate: {})", fs::proximate(run_dir / "report.md").string(), gate);
}

pair_result result_of(const pair_manifest& pair) {
  pair_result result;
  result.stage2_dir = stage2_dir_of(pair, compose_for(pair, {}));
  const std::optional<artifacts::current_run> current =
      artifacts::run_store(result.stage2_dir).current(pair.pair);
  if (!current) {
    result.line = "not run";
    return result;
  }
  try {
    result.judged = verdict_of(current->run_directory);
    result.line = line_of(current->run_directory, result.judged);
  } catch (const core::bad_input& damaged) {
    result.is_damaged = true;  // the other pairs' lines are worth no less for it
    result.line = fmt::format("FAILED   {}", damaged.what());
  }
  return result;
}

/// One summary.md beside the runs, for a comment of a CI.
void write_summaries(const std::map<fs::path, std::vector<render::summary_row>>& rows_by_folder) {
  for (const auto& [stage2_dir, rows] : rows_by_folder) {
    fs::create_directories(stage2_dir);
    const fs::path file = stage2_dir / "summary.md";
    artifacts::write_file_atomically(file, render::gate_summary(rows));
    print("\nsummary: {}\n", fs::proximate(file).string());
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
  bool is_damaged = false;
  for (const pair_manifest& pair : registered_pairs(build_dir)) {
    pair_result result = result_of(pair);
    print("{:<32} {}\n", pair.pair, result.line);
    is_damaged = is_damaged || result.is_damaged;
    summaries[result.stage2_dir].push_back({pair.pair, std::move(result.judged), std::move(result.line)});
  }
  write_summaries(summaries);
  if (is_damaged) return core::exit_code::bad_input;
  // The caller wants ctest's own code, whatever it is.
  return outcome.how == process::ending::exited ? static_cast<core::exit_code>(outcome.exit_code)
                                                : core::exit_code::judged_bad;
}

}  // namespace profgate::cli
