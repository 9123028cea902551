#include "steps/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "artifacts/gpu_choice.h"
#include "artifacts/refusal.h"
#include "artifacts/run_store.h"
#include "core/units.h"
#include "core/utc_time.h"
#include "requirements.h"
#include "terminal.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

const step_definition& find_step(std::string_view name) {
  for (const step_definition& step : all_steps()) {
    if (step.name == name) return step;
  }
  throw core::bad_input(fmt::format("there is no step '{}'", name),
                        "the steps are prepare, stage1, timeline, counters, report, gate and prune");
}

/// A skipped fixture does not stop its dependents in CTest, so each step looks for itself.
void require_predecessors(const step_definition& step, const fs::path& run_dir) {
  for (const std::string& needed : step.needs) {
    const std::optional<artifacts::step_status> before = artifacts::read_status(run_dir, needed);
    if (!before || !before->state) {
      throw core::step_failure(fmt::format("step {} has not run", needed),
                               "run the pair's steps in their order: ctest does, and so does `profgate run`");
    }
    if (*before->state == core::step_state::skipped) throw core::not_possible(before->reason, before->remedy);
    if (*before->state == core::step_state::failed) {
      throw core::step_failure(fmt::format("step {} failed: {}", needed, before->reason), before->remedy);
    }
  }
}

core::step_state state_after(core::exit_code code) {
  if (code == core::exit_code::good) return core::step_state::ok;
  return code == core::exit_code::not_possible ? core::step_state::skipped : core::step_state::failed;
}

constexpr std::chrono::seconds worth_telling{1};  ///< of a wait

/// Runs the step's own work and turns how it ended into its status.
core::exit_code work(const step_definition& step, step_context& context) {
  const auto started = std::chrono::steady_clock::now();
  core::exit_code code = core::exit_code::good;
  try {
    require_predecessors(step, context.run_dir);
    step.run(context);
  } catch (const core::error& ended) {
    code = ended.code();
    context.status.reason = ended.what();
    context.status.remedy = ended.remedy();
  } catch (const std::exception& fault) {
    code = core::exit_code::failed;
    context.status.reason = fmt::format("a fault of profgate itself: {}", fault.what());
    context.status.remedy = "please report it with the run directory";
  }
  context.status.state = state_after(code);
  context.status.exit_code = static_cast<int>(code);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  context.status.seconds = std::max(0.0, (took - context.waited).count());
  if (context.waited >= worth_telling) {
    context.status.notes.push_back(
        fmt::format("waited {} for another measurement on this machine, which the step's time leaves out",
                    core::format_duration(context.waited.count() * core::ns_per_s)));
  }
  context.status.finished_utc = core::utc_timestamp();
  return code;
}

/// CTest shows the last line of a test that was skipped or failed: the reason, and what to do.
void print_last_line(const std::string& pair, const artifacts::step_status& status,
                     const std::string& short_reason) {
  std::string line = fmt::format("{} {} {}", pair, status.step, artifacts::state_name(status.state));
  if (!short_reason.empty()) {
    line += ": " + short_reason;
  } else if (status.reason.empty()) {
    line += fmt::format(" after {}", core::format_duration(status.seconds.value_or(0) * core::ns_per_s));
  } else {
    line += ": " + core::with_remedy(status.reason, status.remedy);
  }
  std::replace(line.begin(), line.end(), '\n', ' ');
  print("{}\n", line);
}

/// The vendor's figures for the GPU of the run, where conf/hardware/ knows it.
std::optional<std::string> hardware_of_gpu(const pair_manifest& manifest) {
  const core::measured<artifacts::gpu_device> gpu = artifacts::chosen_gpu(artifacts::gather_gpu_facts());
  if (!gpu) return std::nullopt;
  const core::measured<std::string>& name = gpu->name;
  return name ? config::hardware_for_device(manifest.conf_dirs, *name) : std::nullopt;
}

/// For what ctest says in the end, where there is no run whose steps could be read.
void keep_refusal(const pair_manifest& manifest, const artifacts::process_owner& owner,
                  const core::error& refused) {
  try {
    artifacts::write_refusal(build_dir_of(manifest), manifest.pair,
                             {owner, refused.what(), refused.remedy()});
  } catch (const core::error& full_disk) {
    print_error("profgate: {}\n", full_disk.what());
  }
}

}  // namespace

const std::vector<step_definition>& all_steps() {
  static const std::vector<step_definition> steps = {
      {"prepare", run_prepare, {}},
      {"stage1", run_stage1, {"prepare"}},
      {"timeline", run_timeline, {"prepare", "stage1"}},
      {"counters", run_counters, {"prepare", "stage1"}},
      {"report", run_report, {"prepare", "stage1"}},
      {"gate", run_gate, {"prepare", "stage1", "report"}},
      {"prune", run_prune, {}},
  };
  return steps;
}

config::resolved compose_for(const pair_manifest& manifest,
                             const std::vector<std::string>& command_line_overrides) {
  config::request wanted;
  wanted.conf_dirs = manifest.conf_dirs;
  wanted.project_dir = manifest.project_dir;
  wanted.model_choice = manifest.model_choice;
  wanted.workload_choice = manifest.workload_choice;
  wanted.engine = manifest.engine;
  if (!manifest.command_has_placeholders) wanted.runner = "program";
  if (manifest.device == "cuda") wanted.hardware_choice = hardware_of_gpu(manifest);
  wanted.pair_overrides = manifest.overrides;
  if (const char* overrides = std::getenv("PROFGATE_OVERRIDES")) {
    wanted.environment_overrides = config::split_overrides(overrides);
  }
  wanted.command_line_overrides = command_line_overrides;
  return config::compose(wanted);
}

fs::path stage2_dir_of(const pair_manifest& manifest, const config::resolved& config) {
  return (manifest.project_dir / config.text("artifacts.stage2_dir")).lexically_normal();
}

core::exit_code run_step(std::string_view name, const pair_manifest& manifest,
                         const artifacts::process_owner& owner,
                         const std::vector<std::string>& command_line_overrides, outcome_told told) {
  const step_definition& step = find_step(name);
  const installation parts = find_installation();
  const bool is_first = step.name == "prepare";
  std::optional<config::resolved> composed;
  fs::path stage2_dir;
  fs::path run_dir;
  try {
    required_here();  // a slip in it is told before anything runs
    composed = compose_for(manifest, command_line_overrides);
    stage2_dir = stage2_dir_of(manifest, *composed);
    const artifacts::run_store store(stage2_dir);
    run_dir = is_first ? store.claim(manifest.pair, owner) : store.open_current(manifest.pair, owner);
  } catch (const core::error& refused) {
    if (is_first && told == outcome_told::by_step) keep_refusal(manifest, owner, refused);
    // The pair's step prepare failed by it and left no run; one fault is one failed test.
    if (step.name != "prune" || composed) throw;
    print("{} prune skipped: there is no run, since the configuration was refused\n", manifest.pair);
    return core::exit_code::not_possible;
  }
  const config::resolved& now = *composed;
  // Later steps use what prepare wrote: an override that changes half-way must not split a run. What prepare
  // could not write (a full disk) leaves today's configuration, good enough to clean up with.
  const fs::path written = run_dir / "config.yaml";
  const config::resolved config =
      !is_first && fs::exists(written) ? config::read_resolved(written).with_origins_of(now) : now;

  if (config.text("workload.device") == "cuda")
    artifacts::hand_gpu_to_children(artifacts::gather_gpu_facts());
  artifacts::step_status status = artifacts::start_step(run_dir, step.name);
  core::exit_code code = core::exit_code::good;
  std::vector<std::string> closing_lines;
  std::vector<std::string> quiet_notes;
  std::string short_reason;
  {
    progress display(fmt::format("{} {}", manifest.pair, step.name));
    step_context context{manifest, config, parts, stage2_dir, run_dir, status, display, told};
    code = work(step, context);
    closing_lines = std::move(context.closing_lines);
    quiet_notes = std::move(context.quiet_notes);
    short_reason = std::move(context.short_reason);
  }
  for (const std::string& note : status.notes) print("note: {}\n", note);
  for (const std::string& line : closing_lines) print("{}\n", line);
  status.notes.insert(status.notes.end(), quiet_notes.begin(), quiet_notes.end());
  try {
    artifacts::write_status(run_dir, status);
  } catch (const core::error& full_disk) {
    // The step's own reason comes first: it is most likely the same full disk.
    if (status.reason.empty()) throw;
    print_error("profgate: {}\n", full_disk.what());
  }
  if (step.name == "prune") artifacts::run_store(stage2_dir).release(manifest.pair, owner);
  const bool is_news = step.name != "prune" || code != core::exit_code::good;
  if (told == outcome_told::by_step || is_news)
    print_last_line(manifest.pair, status, told == outcome_told::by_caller ? short_reason : "");
  return code;
}

}  // namespace profgate::cli
