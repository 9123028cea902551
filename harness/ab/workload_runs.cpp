#include "workload_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "ab/comparison.h"
#include "ab/gate_config.h"
#include "artifacts/files.h"
#include "artifacts/gpu_choice.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/slips.h"
#include "core/stage_names.h"
#include "core/utc_time.h"
#include "gate/rank_statistics.h"
#include "gpu_watch.h"
#include "parsers/adapter_report.h"
#include "parsers/program_figures.h"
#include "parsers/workload_result.h"
#include "profilers/capture.h"
#include "runs/device_samples.h"
#include "runs/process_samples.h"
#include "runs/program_figures.h"
#include "runs/run_settings.h"
#include "runs/unfitted_stages.h"
#include "workload/adapter.h"
#include "workload/contract.h"

namespace profgate::ab {
namespace fs = std::filesystem;
namespace {

fs::path write_config(const arm_build& build, const fs::path& file) {
  artifacts::write_file_atomically(file, gate_config(build.config).to_yaml());
  return file;
}

bool has_processes(const std::optional<artifacts::gpu_device>& gpu) {
  return gpu && gpu->processes && !gpu->processes->empty();
}

/// The driver may list a process for a moment after its end: who is still there later is somebody else.
std::optional<artifacts::gpu_device> look_at_gpu_after_end() {
  constexpr int most_looks = 5;
  std::optional<artifacts::gpu_device> gpu = look_at_gpu();
  for (int look = 1; look < most_looks && has_processes(gpu); ++look) {
    core::sleep_unless_interrupted(std::chrono::milliseconds(100));
    gpu = look_at_gpu();
  }
  return gpu;
}

}  // namespace

workload_runs::workload_runs(const surroundings& where, const arm_build& baseline, const arm_build& candidate,
                             const comparison_settings& settings, fs::path folder)
    : m_where(where),
      m_settings(settings),
      m_folder(std::move(folder)),
      m_is_on_gpu(candidate.config.text("workload.device") == "cuda"),
      m_baseline{{where, baseline, m_folder}, write_config(baseline, m_folder / "baseline.yaml")},
      m_candidate{{where, candidate, m_folder}, write_config(candidate, m_folder / "candidate.yaml")},
      m_synchronised(runs::synchronised_stages(candidate.config)) {}

void workload_runs::say(const std::string& line) {
  if (m_where.say) m_where.say(line);
}

void workload_runs::now_running(const std::string& what) {
  if (m_where.now_running) m_where.now_running(what);
}

stage_not_closed stage_not_closed::of(gate::arm which) const {
  stage_not_closed named(fmt::format("the {}: {}", arm_name(which), what()), remedy(), m_stage, m_closed);
  named.m_is_of_candidate = which == gate::arm::candidate;
  return named;
}

const arm_program& workload_runs::program(gate::arm which) const {
  return which == gate::arm::baseline ? m_baseline.program : m_candidate.program;
}

finished_run workload_runs::run(gate::arm which, run_kind kind, const std::string& stem) {
  const prepared_arm& arm = which == gate::arm::baseline ? m_baseline : m_candidate;
  const auto started = std::chrono::steady_clock::now();
  const std::string started_utc = core::utc_timestamp();
  const auto before = m_is_on_gpu ? look_at_gpu() : std::nullopt;
  finished_run run = kind == run_kind::traced ? run_traced(arm, stem) : run_bare(arm, which, stem);
  const auto after = m_is_on_gpu ? look_at_gpu_after_end() : std::nullopt;
  const gate::run_conditions watched = conditions_of(before, after, m_telemetry);
  run.record.conditions = watched;
  if (kind != run_kind::warm_up && !run.crash) run.record.spoiled_by = what_spoiled(watched);
  run.record.started_utc = started_utc;
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return run;
}

finished_run workload_runs::run_bare(const prepared_arm& arm, gate::arm which, const std::string& stem) {
  const fs::path result_file = m_folder / "logs" / (stem + ".result.json");
  const fs::path log_file = m_folder / "logs" / (stem + ".log");
  const bool times_itself = arm.build().command_has_placeholders;
  process::command command;
  command.argv = arm.program.words(arm.config_file, "bench", result_file);
  command.working_directory = arm.build().working_directory;
  fs::remove(result_file);
  finished_run run;
  m_telemetry.clear();
  try {
    if (times_itself) {
      const process::outcome outcome = arm.program.run({command, log_file}).program;
      workload::require_good_end(outcome, log_file, workload::exit_codes::by_contract, process_timeout_key);
      take_result(result_file, run);
    } else {
      run_from_outside(arm, which, command, log_file, run);
    }
  } catch (const core::step_failure& failed) {
    run.crash = failed.what();
    run.remedy = failed.remedy();
  } catch (const stage_not_closed& other) {
    throw other.of(which);
  } catch (const core::error& hopeless) {
    throw core::error(hopeless.code(), fmt::format("the {}: {}", arm_name(which), hopeless.what()),
                      hopeless.remedy());
  }
  return run;
}

/// Times of a device that was waited for and of one that was not are not to be compared.
void workload_runs::require_same_kind(const profilers::device_waits& waits) {
  if (m_synchronised.empty()) return;
  if (!m_is_synchronised) {
    m_is_synchronised = waits.are_done;
    for (const std::string& note : waits.notes) say("note: " + note);
    return;
  }
  if (*m_is_synchronised == waits.are_done) return;
  throw core::bad_input("the device was waited for at the ends of stages in some processes only",
                        "take sync out of workload.stages, or see that both programs can be synchronised: "
                        "`profgate run` of each says why not");
}

void workload_runs::take_figures(const runs::process_samples& told,
                                 std::map<std::string, std::vector<std::int64_t>>& samples_ns) const {
  for (const auto& [stage, durations_ns] : told.stages_ns) samples_ns[stage] = durations_ns;
  for (const analysis::program_figure& figure : told.figures) {
    const bool is_judged =
        std::find(m_settings.stages.begin(), m_settings.stages.end(), figure.name) != m_settings.stages.end();
    if (!is_judged) continue;  // it may be anything
    std::vector<std::int64_t>& kept_ns = samples_ns[figure.name];
    for (const double value : figure.values)
      kept_ns.push_back(gate::figure_sample_ns(value, figure.unit, figure.name));
  }
}

/// A stage that came with the candidate is new, if the baseline has others to judge. Which of an adapter's or
/// of an expression's a program has is found out otherwise, for both.
bool workload_runs::may_lack(const config::resolved& config, gate::arm which, const std::string& stage,
                             const std::map<std::string, std::vector<std::int64_t>>& samples_ns) const {
  if (which != gate::arm::baseline || config::has_adapter(config) ||
      runs::stage_expressions_of(config).contains(stage))
    return false;
  return std::any_of(m_settings.stages.begin(), m_settings.stages.end(),
                     [&](const std::string& other) { return samples_ns.contains(other); });
}

void workload_runs::run_from_outside(const prepared_arm& arm, gate::arm which,
                                     const process::command& command, const fs::path& log_file,
                                     finished_run& run) {
  profilers::capture_request request;
  request.workload = command.argv;
  request.output_folder = m_folder / "ranges";
  request.log_file = log_file;
  request.set_environment = workload::adapter_environment(
      arm.build().config, m_where.pytorch_adapter, workload::adapter_mode::bare, request.output_folder);
  request.collector_library = m_where.collector_library;
  request.collector_max_bytes = static_cast<std::uint64_t>(arm.build().config.integer("collector.max_bytes"));
  request.synchronised = runs::named_ranges(arm.build().config, m_synchronised);
  profilers::device_waits waits;
  arm_program::end ended;
  runs::program_figures figures(arm.build().config, command.working_directory);
  const auto run_program = [&](const profilers::tool_command& tool) {
    figures.note_start();
    ended =
        arm.program.run({{tool.argv, tool.set_environment, tool.unset_environment, command.working_directory},
                         log_file,
                         figures.wants_output() || figures.wants_client_output(),
                         parsers::max_figure_source_bytes});
    return workload::as_tool_run(ended.program);
  };
  artifacts::make_folder(request.output_folder);
  core::timeline timeline = profilers::observe_ranges(request, run_program, waits);
  const std::vector<std::uint32_t> adapted = parsers::adapted_processes(timeline);
  runs::range_samples seen = runs::sample_ranges(std::move(timeline), arm.build().config);
  std::map<std::string, std::vector<std::int64_t>>& samples_ns = seen.stages_ns;
  workload::require_good_end(ended.program, log_file, workload::exit_codes::its_own, process_timeout_key);
  require_same_kind(waits);
  // A server's own life says nothing: it is started, and stopped when its client is done.
  samples_ns[core::whole_process_stage] = {arm.program.is_server() ? ended.client.wall_ns
                                                                   : ended.program.wall_ns};
  const std::vector<parsers::adapter_report> reports =
      parsers::read_adapter_reports(parsers::adapter_report_files(request.output_folder));
  std::vector<std::uint32_t> process_ids;
  parsers::add_processes(adapted, seen.stage_processes, process_ids);
  for (auto& [name, times] : runs::device_times_of_stages(arm.build().config, reports, samples_ns,
                                                          seen.stage_processes, process_ids)) {
    const bool is_synchronised = waits.are_done && std::find(m_synchronised.begin(), m_synchronised.end(),
                                                             name) != m_synchronised.end();
    if (!is_synchronised) samples_ns[name] = std::move(times.durations_ns);
  }
  runs::process_samples told;
  figures.add(
      {{ended.program.captured, ended.program.captured_truncated, log_file},
       {ended.client.captured, ended.client.captured_truncated, arm_program::client_log_of(log_file)}},
      told);
  take_figures(told, samples_ns);
  for (const std::string& stage : m_settings.stages) {
    const auto found = samples_ns.find(stage);
    if (found == samples_ns.end() && config::has_adapter(arm.build().config) &&
        parsers::adapter_report_files(request.output_folder).empty()) {
      throw core::bad_input(workload::silent_adapter_words(),
                            "let the program's Python see PYTHONPATH, or leave --adapter away");
    }
    if (found == samples_ns.end()) {
      if (may_lack(arm.build().config, which, stage, samples_ns)) continue;
      std::vector<std::string> closed;
      for (const auto& [name, durations_ns] : samples_ns) closed.push_back(name);
      const std::vector<std::string> names(seen.seen_if_unfitted.ranges.begin(),
                                           seen.seen_if_unfitted.ranges.end());
      const std::optional<std::string> meant = core::nearest(stage, names);
      throw stage_not_closed(
          fmt::format("the program closed no NVTX range of {}{}",
                      runs::stage_in_words(arm.build().config, stage),
                      names.empty() ? "" : "; it has " + core::first_few(names)),
          meant ? fmt::format("did you mean '{}'?", *meant)
                : "name ranges that it has: workload.stages, or gate.stages for some of them",
          stage, closed);
    }
    // How often a program repeats a step is its own affair: a process is one sample, its median step.
    const std::vector<double> steps_ns(found->second.begin(), found->second.end());
    run.record.samples_ns[stage] = {static_cast<std::int64_t>(std::llround(gate::median_of(steps_ns)))};
  }
}

void workload_runs::take_result(const fs::path& file, finished_run& run) {
  if (!fs::exists(file)) {
    throw core::step_failure("the workload ended well but wrote no result",
                             "let it write its result JSON to the path given as {result}");
  }
  core::workload_result result = parsers::read_workload_result(file);
  if (const auto gpu = m_is_on_gpu ? look_at_gpu() : std::nullopt)
    artifacts::require_chosen_gpu(*gpu, result.pci_bus_id);
  for (const std::string& stage : m_settings.stages) {
    const auto samples = result.samples_ns.find(stage);
    if (samples == result.samples_ns.end()) continue;
    const std::size_t needed =
        m_settings.reduction.discarded_iterations + m_settings.reduction.min_iterations;
    if (samples->second.size() >= needed) continue;
    throw core::bad_input(
        fmt::format("the workload timed stage '{}' {} times in one process, the gate needs {} at least",
                    stage, samples->second.size(), needed),
        "let it time as many rounds as stage1.repetitions of its configuration says");
  }
  run.record.samples_ns = std::move(result.samples_ns);
  run.experts = std::move(result.experts);
  m_telemetry = std::move(result.telemetry);
  run.device_name = result.device_name;
  run.library_versions = std::move(result.library_versions);
  fs::remove(file);  // what counts of it is in the record
}

finished_run workload_runs::run_traced(const prepared_arm& arm, const std::string& stem) {
  const fs::path folder = m_folder / "traces" / stem;
  fs::remove_all(folder);
  artifacts::make_folder(folder);
  profilers::capture_request request;
  request.workload = arm.program.words(arm.config_file, "profile", folder / "result.json");
  request.is_server = arm.program.is_server();
  request.output_folder = folder;
  request.set_environment = workload::adapter_environment(arm.build().config, m_where.pytorch_adapter,
                                                          workload::adapter_mode::traced, folder);
  request.log_file = m_folder / "logs" / (stem + ".log");
  // Which ranges of a program's are stages, in which domain, only the analysis knows.
  request.is_gated = arm.build().command_has_placeholders;
  if (request.is_gated) {
    for (const std::string& stage : m_settings.stages)
      request.ranges.push_back({stage, arm.build().config.text("workload.nvtx_domain")});
  }
  request.collector_library = m_where.collector_library;
  request.collector_max_bytes = static_cast<std::uint64_t>(arm.build().config.integer("collector.max_bytes"));
  finished_run run;
  m_telemetry.clear();
  try {
    profilers::capture_embedded(request, arm.program.tool_runner());
  } catch (const core::interrupted&) {
    throw;
  } catch (const core::error& failed) {
    run.crash = failed.what();  // the verdict stands without the cause
  }
  return run;
}

}  // namespace profgate::ab
