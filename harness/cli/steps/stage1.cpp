#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "ad_hoc_pair.h"
#include "analysis/bare_run.h"
#include "artifacts/files.h"
#include "artifacts/gpu_choice.h"
#include "core/stage_names.h"
#include "core/units.h"
#include "gate/rank_statistics.h"
#include "measuring_turn.h"
#include "parsers/adapter_report.h"
#include "parsers/program_figures.h"
#include "parsers/workload_result.h"
#include "profilers/capture.h"
#include "requirements.h"
#include "runs/device_samples.h"
#include "runs/process_samples.h"
#include "runs/program_figures.h"
#include "runs/run_reader.h"
#include "runs/run_settings.h"
#include "runs/unfitted_stages.h"
#include "steps/model_work.h"
#include "steps/run_command.h"
#include "steps/step.h"
#include "workload/contract.h"
#include "workload/server_settings.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

/// The workload times itself and says so in its result.
void measure_by_contract(step_context& context, const fs::path& folder) {
  if (!context.config.list("workload.figures").empty()) {
    throw core::bad_input(
        "workload.figures is for programs that write no result, and this one gets {result} to write it to",
        "remove workload.figures: times and tokens stand in the result (workloads/README.md)");
  }
  if (!runs::synchronised_stages(context.config).empty()) {
    throw core::bad_input(
        "sync: true is for programs that write no result, and this one gets {result} to write it to",
        "remove sync from workload.stages, and let the workload wait for its device (workloads/README.md)");
  }
  const fs::path result_file = folder / "result.json";
  const fs::path log_file = folder / "log.txt";
  step_command bare;
  bare.command.argv = workload_argv(context, "bench", result_file);
  bare.command.working_directory = context.manifest.working_directory;
  bare.command.set_environment = adapter_environment_of(context, workload::adapter_mode::bare, folder);
  bare.what = "the bare workload";
  bare.runs_workload = true;
  bare.log_file = log_file;
  workload::require_good_end(run_command(context, bare), log_file, workload::exit_codes::by_contract);
  if (!fs::exists(result_file)) {
    throw core::step_failure(
        fmt::format("the workload ended well but wrote no {}", result_file.string()),
        "let it write its result JSON to the path given as {result} (workloads/README.md)");
  }
  const core::workload_result result = parsers::read_workload_result(result_file);
  if (context.config.text("workload.device") == "cuda") {
    const core::measured<artifacts::gpu_device> gpu = artifacts::chosen_gpu(artifacts::gather_gpu_facts());
    if (gpu) artifacts::require_chosen_gpu(*gpu, result.pci_bus_id);
  }
  for (const std::string& stage : context.config.list("workload.stages")) {
    if (!result.samples_ns.contains(stage)) {
      throw core::step_failure(fmt::format("{} has no samples of stage '{}'", result_file.string(), stage),
                               "let the workload time it, or take it out of workload.stages");
    }
  }
}

double median_ns_of(const std::vector<std::int64_t>& durations_ns) {
  return gate::median_of(std::vector<double>(durations_ns.begin(), durations_ns.end()));
}

void add_notes(const std::vector<std::string>& more, std::vector<std::string>& notes) {
  for (const std::string& note : more) {
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  }
}

/// What the host spent in a call is not what the GPU did for it; and where it runs ahead of the GPU, the GPU
/// is what a token waits for. `process_ids` by the numbers of processes.
void take_device_samples(step_context& context, const std::vector<parsers::adapter_report>& reports,
                         const std::vector<std::uint32_t>& process_ids, runs::process_samples& samples) {
  for (auto& [stage, times] : runs::device_times_of_stages(context.config, reports, samples.stages_ns,
                                                           samples.stage_processes, process_ids)) {
    if (samples.stage_sources.contains(stage)) continue;
    const std::string silent = parsers::silent_processes_words(times, stage);
    if (!silent.empty()) add_notes({silent}, context.status.notes);
    runs::take_device_times(stage, std::move(times), samples);
  }
  for (const auto& [stage, durations_ns] : parsers::device_samples_ns(reports)) {
    if (stage != core::prefill_stage && stage != core::decode_step_range) continue;  // makes no single token
    if (stage == core::prefill_stage && parsers::have_chunks(reports)) {
      samples.first_token_ns.clear();
      samples.first_token_absent_reason =
          "prefill comes in chunks, and the GPU's time of one is not that of a prompt";
      continue;
    }
    std::vector<std::int64_t>& tokens_ns =
        stage == core::prefill_stage ? samples.first_token_ns : samples.further_token_ns;
    if (!tokens_ns.empty() && median_ns_of(durations_ns) > median_ns_of(tokens_ns)) tokens_ns = durations_ns;
  }
  const std::string several_gpus = parsers::several_gpus_words(reports);
  if (!several_gpus.empty()) add_notes({several_gpus}, context.status.notes);
}

/// Calls were seen of which nobody knows how many tokens come: none of their times is a token's.
void withhold_unknown_tokens(step_context& context, const std::vector<parsers::adapter_report>& reports,
                             runs::process_samples& samples) {
  const std::string why = parsers::unknown_tokens_words(reports);
  if (why.empty()) return;
  add_notes({"tokens are not told: " + why}, context.status.notes);
  samples.further_token_ns.clear();
  samples.further_tokens.clear();
  samples.decode_steps.clear();
  if (!parsers::are_prompts_unknown(reports)) return;
  samples.first_token_ns.clear();
  samples.before_prefill_ns.clear();
  samples.first_token_absent_reason = why;
}

void add_decode_steps(const runs::range_samples& ranges, runs::process_samples& samples) {
  samples.decode_steps.insert(samples.decode_steps.end(), ranges.decode_steps.begin(),
                              ranges.decode_steps.end());
}

/// Of a program that fails half-way: the stages that it finished by then stay, whatever it did not come to.
/// It is no sample of a whole process.
void keep_what_finished(step_context& context, const fs::path& folder, core::timeline timeline,
                        runs::process_samples samples) {
  const bool has_adapter = config::has_adapter(context.config);
  if (has_adapter) runs::add_token_times(timeline, samples);
  const runs::range_samples ranges = runs::sample_ranges(std::move(timeline), context.config);
  std::vector<std::string> finished;
  std::vector<std::string> unfinished;
  for (const std::string& stage : context.config.list("workload.stages")) {
    const auto found = ranges.stages_ns.find(stage);
    if (found == ranges.stages_ns.end()) {
      if (stage != core::whole_process_stage) unfinished.push_back(stage);
      continue;
    }
    const std::vector<std::int64_t>& durations_ns = found->second;
    finished.push_back(fmt::format("{} {} time{} (median {})", stage, durations_ns.size(),
                                   durations_ns.size() == 1 ? "" : "s",
                                   core::format_duration(median_ns_of(durations_ns))));
  }
  runs::add_stages(ranges, samples);
  if (has_adapter) {
    add_decode_steps(ranges, samples);  // a text that was cut off is one of another length
    withhold_unknown_tokens(context, parsers::read_adapter_reports(parsers::adapter_report_files(folder)),
                            samples);
  }
  if (!finished.empty()) {
    context.status.notes.push_back(
        fmt::format("the process that failed had finished {}{}", fmt::join(finished, ", "),
                    unfinished.empty() ? "" : fmt::format("; never {}", fmt::join(unfinished, ", "))));
  }
  if (!samples.wall_ns.empty() || !samples.stages_ns.empty())
    runs::write_process_samples(folder / "process_samples.json", samples);
}

/// How long a server's client ran, beside stages that are the server's. Where there are none it is the stage
/// `process`.
void add_client_time(runs::process_samples& samples) {
  if (samples.stages_ns.empty()) return;
  analysis::program_figure time{"client", "s", "how long it ran", {}};
  for (const std::int64_t wall_ns : samples.wall_ns)
    time.values.push_back(static_cast<double>(wall_ns) / core::ns_per_s);
  samples.figures.push_back(std::move(time));
}

/// A program that knows nothing of profgate: its process is timed, and its NVTX ranges where it has some.
void measure_from_outside(step_context& context, const fs::path& folder) {
  const fs::path log_file = folder / "log.txt";
  const std::int64_t warmup = context.config.integer("stage1.warmup");
  const std::int64_t repetitions = context.config.integer("stage1.repetitions");
  profilers::capture_request request;
  request.workload = workload_argv(context, "bench", {});
  request.set_environment = adapter_environment_of(context, workload::adapter_mode::bare, folder);
  request.output_folder = folder;
  request.log_file = log_file;
  const std::vector<std::string> synchronised = runs::synchronised_stages(context.config);
  request.synchronised = runs::named_ranges(context.config, synchronised);
  request.collector_library = context.parts.collector_library;
  request.collector_max_bytes = static_cast<std::uint64_t>(context.config.integer("collector.max_bytes"));
  runs::process_samples samples;
  runs::seen_stages seen;
  bool is_synchronised = true;             // in every process
  std::vector<std::uint32_t> process_ids;  // by the numbers in `samples`
  runs::program_figures figures(context.config, context.manifest.working_directory);
  for (std::int64_t i = 0; i < warmup + repetitions; ++i) {
    process::outcome outcome;
    process::outcome client;
    profilers::device_waits waits;
    const auto run_program = [&](const profilers::tool_command& tool) {
      step_command bare;
      bare.command = {tool.argv, tool.set_environment, tool.unset_environment,
                      context.manifest.working_directory};
      bare.what = fmt::format("the bare program, {} of {}", i + 1, warmup + repetitions);
      bare.log_file = log_file;
      bare.capture_stdout = figures.wants_output();
      bare.captured_max_bytes = parsers::max_figure_source_bytes;
      bare.runs_workload = true;
      bare.captures_client = figures.wants_client_output();
      bare.client = &client;
      figures.note_start();
      outcome = run_command(context, bare);
      return workload::as_tool_run(outcome);
    };
    core::timeline timeline = profilers::observe_ranges(request, run_program, waits);
    samples.range_cost_ns = std::max(samples.range_cost_ns, waits.range_cost_ns);
    try {
      workload::require_good_end(outcome, log_file, workload::exit_codes::its_own);
    } catch (const core::step_failure&) {
      keep_what_finished(context, folder, std::move(timeline), std::move(samples));
      throw;
    }
    if (i < warmup) {
      for (const fs::path& report : parsers::adapter_report_files(folder)) fs::remove(report);
      continue;
    }
    is_synchronised = is_synchronised && waits.are_done;
    add_notes(waits.notes, context.status.notes);
    // A server's own life says nothing: it is started, and stopped when its client is done.
    samples.wall_ns.push_back(workload::is_server(context.config) ? client.wall_ns : outcome.wall_ns);
    figures.add({{outcome.captured, outcome.captured_truncated, log_file},
                 {client.captured, client.captured_truncated, folder / "client_log.txt"}},
                samples);
    const bool has_adapter = config::has_adapter(context.config);
    if (has_adapter) runs::add_token_times(timeline, samples);
    std::vector<std::uint32_t> adapted = parsers::adapted_processes(timeline);
    const runs::range_samples ranges = runs::sample_ranges(std::move(timeline), context.config);
    process_ids.resize(parsers::process_count(samples.stage_processes));
    parsers::add_processes(std::move(adapted), ranges.stage_processes, process_ids);
    if (has_adapter) add_decode_steps(ranges, samples);
    runs::add_counts(ranges, samples);
    seen.ranges.insert(ranges.seen_if_unfitted.ranges.begin(), ranges.seen_if_unfitted.ranges.end());
    seen.opened.insert(ranges.seen_if_unfitted.opened.begin(), ranges.seen_if_unfitted.opened.end());
    runs::add_stages(ranges, samples);
  }
  for (const auto& [stage, durations_ns] : samples.stages_ns) seen.timed.insert(stage);
  add_notes(runs::notes_of_unfitted_stages(context.config, seen), context.status.notes);
  for (const std::string& stage : synchronised) {
    if (is_synchronised && samples.stages_ns.contains(stage))
      samples.stage_sources.try_emplace(stage, analysis::synchronised_ranges_source);
  }
  const std::vector<parsers::adapter_report> reports =
      parsers::read_adapter_reports(parsers::adapter_report_files(folder));
  take_device_samples(context, reports, process_ids, samples);
  withhold_unknown_tokens(context, reports, samples);
  if (workload::is_server(context.config)) {
    samples.stage_sources.try_emplace(core::whole_process_stage, analysis::whole_client_source);
    add_client_time(samples);
  }
  runs::write_process_samples(folder / "process_samples.json", samples);
}

/// Whether somebody redirected a file or a pipe with something in it to this profgate.
bool is_given_input() {
  struct stat facts {};
  if (::fstat(STDIN_FILENO, &facts) != 0) return false;
  if (S_ISREG(facts.st_mode)) return facts.st_size > 0;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return S_ISFIFO(facts.st_mode) && ::poll(&input, 1, 0) > 0 && (input.revents & POLLIN) != 0;
}

/// Where a program that failed may have wanted to read what nobody hands it: how it gets that; else empty.
std::string remedy_of_empty_input(const std::string& what_failed) {
  const bool speaks_of_it = what_failed.find("EOF") != std::string::npos ||
                            what_failed.find("stdin") != std::string::npos ||
                            what_failed.find("standard input") != std::string::npos;
  if (!speaks_of_it && !is_given_input()) return "";
  return "the program's standard input is empty; where it reads from there: sh -c 'exec <program> < <file>'";
}

/// Where a program that failed was given a file by a path that leads to it from the source folder only: what
/// to do about that; else empty.
std::string remedy_of_misplaced_file(const pair_manifest& manifest) {
  if (manifest.config == ad_hoc_config) return "";
  const fs::path& here = manifest.working_directory;
  const fs::path below_build = here.lexically_relative(build_dir_of(manifest));
  for (std::size_t i = 1; i < manifest.command.size(); ++i) {
    const fs::path file = manifest.command[i];
    std::error_code ignored;
    if (file.empty() || !file.is_relative() || fs::exists(here / file, ignored)) continue;
    for (const fs::path& source : {manifest.project_dir / below_build, manifest.project_dir}) {
      if (!fs::is_regular_file(source / file, ignored)) continue;
      return fmt::format(
          "add WORKING_DIRECTORY \"${{CMAKE_CURRENT_SOURCE_DIR}}\" to profgate_add_workload(): the program "
          "runs "
          "in {}, where there is no {}; there is {}",
          here.string(), file.string(), (source / file).lexically_normal().string());
    }
  }
  return "";
}

}  // namespace

void run_stage1(step_context& context) {
  const fs::path folder = context.run_dir / "stage1";
  context.status.tool = fs::path(context.manifest.command.front()).filename().string();
  const measuring_turn turn(context.display);
  context.waited = turn.waited();
  try {
    if (context.manifest.command_has_placeholders) {
      measure_by_contract(context, folder);
    } else {
      measure_from_outside(context, folder);
    }
  } catch (const core::step_failure& failed) {
    std::string remedy = remedy_of_misplaced_file(context.manifest);
    if (remedy.empty()) remedy = remedy_of_empty_input(failed.what());
    if (remedy.empty()) throw;
    throw core::step_failure(failed.what(), fmt::format("{} ({})", remedy, failed.remedy()));
  } catch (const core::not_possible& cannot) {  // so the workload says
    if (context.config.text("workload.device") != "cuda") throw;
    skip_unless_required(require_gpu_word, cannot.what(), cannot.remedy());
  }
  note_adapter(context, folder);
  if (!context.manifest.command_has_placeholders) count_model_work(context, folder);
  artifacts::write_file_atomically(
      folder / "metrics.json",
      analysis::stage1_metrics_json(runs::run_reader(context.run_dir, context.config).bare()));
}

}  // namespace profgate::cli
