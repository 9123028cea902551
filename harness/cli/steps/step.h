#pragma once

#include <chrono>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "artifacts/owner.h"
#include "artifacts/status.h"
#include "config/config.h"
#include "core/error.h"
#include "installation.h"
#include "pair_manifest.h"
#include "progress.h"

/// The steps of one pair. CTest runs each as a test of its own (`profgate step`), `profgate run` all of them
/// in a row; both go through run_step(), so they leave the same files and say the same words.
namespace profgate::cli {

/// Who says how the run ended and where it lies: each step by itself, for CTest shows them apart, or
/// `profgate run` once for all.
enum class outcome_told { by_step, by_caller };

/// What a step gets. It returns where it did its work, throws not_possible to be skipped and any other
/// core::error to fail; what it adds to `status` lands in its status.json.
struct step_context {
  const pair_manifest& manifest;
  const config::resolved& config;
  const installation& parts;
  const std::filesystem::path& stage2_dir;
  const std::filesystem::path& run_dir;
  artifacts::step_status& status;
  progress& display;
  outcome_told told = outcome_told::by_step;
  std::vector<std::string> closing_lines{};  ///< printed when the step has ended, before its last line
  std::vector<std::string> quiet_notes{};    ///< join the status's notes without being printed
  std::string short_reason{};                ///< of its end, for a caller that tells the whole of it
  std::chrono::duration<double> waited{0};   ///< for others who measured: no part of the step's time
  std::mutex noting{};                       ///< held for the status where commands run at once
};

struct step_definition {
  std::string name;  ///< as in `profgate step <name>`
  void (*run)(step_context&);
  std::vector<std::string> needs;  ///< steps whose skip this step passes on, and whose failure stops it
};

/// In the order in which they run.
const std::vector<step_definition>& all_steps();

void run_prepare(step_context& context);
void run_stage1(step_context& context);
void run_timeline(step_context& context);
void run_counters(step_context& context);
void run_report(step_context& context);
void run_gate(step_context& context);
void run_prune(step_context& context);

/// Runs one step with everything around it: the claim on the run, predecessors, status.json, the last line.
core::exit_code run_step(std::string_view name, const pair_manifest& manifest,
                         const artifacts::process_owner& owner,
                         const std::vector<std::string>& command_line_overrides,
                         outcome_told told = outcome_told::by_step);

/// The pair's configuration as of now, with PROFGATE_OVERRIDES and `command_line_overrides`.
config::resolved compose_for(const pair_manifest& manifest,
                             const std::vector<std::string>& command_line_overrides);

/// Where the runs of the pair are: artifacts.stage2_dir, relative to the project that registers the pair.
std::filesystem::path stage2_dir_of(const pair_manifest& manifest, const config::resolved& config);

}  // namespace profgate::cli
