#include <fmt/format.h>

#include <cstdio>

#include "artifacts/run_store.h"
#include "artifacts/status.h"
#include "commands.h"
#include "process/runner.h"
#include "steps/step.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

/// What became of a pair: its report, or the reason why there is none.
std::string pair_line(const pair_manifest& pair) {
  const fs::path stage2_dir = stage2_dir_of(pair, compose_for(pair, {}));
  const std::optional<artifacts::current_run> current = artifacts::run_store(stage2_dir).current(pair.pair);
  if (!current) return "not run";
  const fs::path run_dir = current->run_directory;
  std::string gate = "no verdict";
  for (const step_definition& step : all_steps()) {
    const std::optional<artifacts::step_status> status = artifacts::read_status(run_dir, step.name);
    if (!status || !status->state) continue;
    if (*status->state == core::step_state::failed) {
      return fmt::format("FAILED   {}: {} ({})", step.name, status->reason, run_dir.string());
    }
    const bool nothing_measured = step.name == "prepare" || step.name == "stage1";
    if (*status->state == core::step_state::skipped && nothing_measured) return "skipped  " + status->reason;
    if (step.name == "gate" && *status->state == core::step_state::ok) gate = "passed";
  }
  return fmt::format("ok       {}  (gate: {})", fs::proximate(run_dir / "report.md").string(), gate);
}

}  // namespace

core::exit_code session(const session_options& options) {
  const fs::path build_dir = find_build_dir(options.build_dir);
  process::command ctest;
  ctest.argv = {"ctest",    "--test-dir",       build_dir.string(),   "-L",
                "^stage2$", "--no-tests=error", "--output-on-failure"};
  process::run_options run_options;
  run_options.on_line = [](std::string_view line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
  };
  const process::outcome outcome = process::run(ctest, run_options);
  if (outcome.how == process::ending::not_started) {
    throw core::bad_input(outcome.start_error, "put the ctest of your CMake on PATH");
  }
  if (outcome.how == process::ending::interrupted) throw core::interrupted("the session was interrupted");

  fmt::print("\n");
  for (const pair_manifest& pair : registered_pairs(build_dir))
    fmt::print("{:<32} {}\n", pair.pair, pair_line(pair));
  // The caller wants ctest's own code, whatever it is.
  return outcome.how == process::ending::exited ? static_cast<core::exit_code>(outcome.exit_code)
                                                : core::exit_code::judged_bad;
}

}  // namespace profgate::cli
