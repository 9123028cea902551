#include "runs/run_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/bare_run.h"
#include "analysis/texts.h"
#include "artifacts/files.h"
#include "bundle.h"
#include "core/error.h"
#include "core/json.h"
#include "core/program_name.h"
#include "core/stage_names.h"
#include "environment_facts.h"
#include "nsys_summaries.h"
#include "parsers/adapter_report.h"
#include "parsers/workload_result.h"
#include "profilers/backends.h"
#include "runs/model_request.h"
#include "runs/process_samples.h"
#include "runs/run_folder_check.h"
#include "runs/run_settings.h"
#include "runs/stage_traces.h"
#include "text_lengths.h"

namespace profgate::runs {
namespace fs = std::filesystem;
namespace {

/// Whose ends the reports tell; gate and prune come after them.
constexpr const char* reported_steps[] = {"prepare", "stage1", "timeline", "counters", "report"};

std::vector<parsers::adapter_report> adapter_reports_in(const fs::path& run_dir) {
  return parsers::read_adapter_reports(plain_files(files_like(run_dir, "stage1/pytorch.*.json")).paths());
}

/// As a result names them; empty where no adapter saw a prefill.
std::map<std::string, std::int64_t> named(const std::optional<parsers::generated_tokens>& seen) {
  if (!seen) return {};
  std::map<std::string, std::int64_t> tokens = {{"batch", seen->batch}, {"prompt", seen->prompt}};
  if (seen->decoded > 0) tokens["decode"] = seen->decoded;  // an encoder makes none
  if (seen->chunks > 1) tokens["chunks"] = seen->chunks;    // of a prompt
  return tokens;
}

/// Of texts of which two tokens were seen to come, where nobody counted the steps.
std::vector<std::int64_t> steps_by_tokens(const std::vector<std::int64_t>& further_tokens) {
  std::vector<std::int64_t> steps;
  for (const std::int64_t further : further_tokens) steps.push_back(further + 1);
  return steps;
}

/// What a step noted in words that begin so; null: nothing.
const std::string* note_beginning(const std::optional<artifacts::step_status>& step, std::string_view words) {
  if (!step) return nullptr;
  const auto note = std::find_if(step->notes.begin(), step->notes.end(),
                                 [&](const std::string& each) { return each.starts_with(words); });
  return note == step->notes.end() ? nullptr : &*note;
}

/// Why the model's work was not counted, in the words of the step that tried; empty: it did not.
std::string count_failure_of(const std::optional<artifacts::step_status>& stage1) {
  const std::string* const note = note_beginning(stage1, not_counted_note);
  return note == nullptr ? "" : note->substr(std::string_view(not_counted_note).size());
}

/// How the stages of a program were timed that tells no times by a result.
std::string timed_words(const analysis::bare_facts& bare, bool has_adapter) {
  if (bare.stage_samples_ns.empty()) return "only the whole process was timed";
  const auto all_from = [&](std::initializer_list<std::string_view> sources) {
    return std::all_of(bare.stage_sources.begin(), bare.stage_sources.end(), [&](const auto& each) {
      return std::find(sources.begin(), sources.end(), each.second) != sources.end();
    });
  };
  if (has_adapter && all_from({analysis::adapter_ranges_source, parsers::device_samples_source}))
    return "ranges of the PyTorch adapter were timed";
  if (all_from({analysis::synchronised_ranges_source})) return "its NVTX ranges were timed";
  return "it told its times otherwise";
}

/// As it is written; bad_input where it is no JSON, or too deep for those who walk through it.
std::string read_document(const fs::path& file, const std::string& remedy) {
  std::string text = artifacts::read_file(file);
  const core::json_document whole(text, file.string(), remedy);
  return text;
}

artifacts::run_info require_run(const fs::path& run_dir) {
  // "x/", "." and a link are the folder that they lead to.
  std::error_code missing;
  const fs::path folder = fs::canonical(run_dir, missing);
  const std::optional<artifacts::run_info> run = missing ? std::nullopt : artifacts::read_run(folder);
  if (run) return *run;
  const std::string name = missing ? "" : artifacts::marked_run_id(folder);
  if (!name.empty() && name != folder.filename().string()) {
    throw core::bad_input(fmt::format("{} was renamed: it is the run {}", run_dir.string(), name),
                          fmt::format("give it its name back: mv {} {}", folder.string(),
                                      (folder.parent_path() / name).string()));
  }
  throw core::bad_input(fmt::format("{} is not a run directory of profgate", run_dir.string()),
                        "name one of the folders in tmp/stage2 (or artifacts.stage2_dir)");
}

}  // namespace

run_reader::run_reader(const fs::path& run_dir) : m_run(require_run(run_dir)) {
  m_run.path = run_dir;
  check_run_folder(run_dir);
}

run_reader::run_reader(const fs::path& run_dir, config::resolved config) : run_reader(run_dir) {
  m_config = std::move(config);
}

const config::resolved& run_reader::config() {
  const fs::path file = path() / "config.yaml";
  if (!m_config) m_config = config::parse_resolved(artifacts::read_file(file), file.string());
  return *m_config;
}

const std::optional<artifacts::step_status>& run_reader::status(const std::string& step) {
  const auto [found, is_new] = m_statuses.try_emplace(step);
  if (is_new) found->second = artifacts::read_status(path(), step);
  return found->second;
}

/// Why a step left nothing, in its own words.
std::string run_reader::reason_of(const std::string& step) {
  const std::optional<artifacts::step_status>& found = status(step);
  if (!found) return fmt::format("step {} did not run", step);
  if (!found->state) return fmt::format("step {} is still running", step);
  return found->reason.empty() ? fmt::format("step {} left nothing", step) : found->reason;
}

analysis::step_facts run_reader::step_facts_of(const std::string& step) {
  const std::optional<artifacts::step_status>& found = status(step);
  if (!found)
    return {step,
            core::step_state::skipped,
            "it was not started, or what it left was removed",
            "run it again with all of its steps (ctest does, and so does profgate run)",
            std::nullopt,
            "",
            "",
            {}};
  // The report step is the one that asks; its own end is not known yet.
  const core::step_state state = found->state.value_or(core::step_state::ok);
  return {step,           state,       found->reason,       found->remedy,
          found->seconds, found->tool, found->tool_version, found->notes};
}

const analysis::bare_facts& run_reader::bare() {
  if (m_bare) return *m_bare;
  analysis::bare_facts& bare = m_bare.emplace();
  bare.stages = config().list("workload.stages");
  bare.peaks = peaks_of(config());
  const fs::path environment = path() / "env.json";
  if (config().text("workload.device") == "cpu" && artifacts::file_exists(environment))
    bare.last_level_cache_bytes = last_level_cache_bytes_in(read_document(environment, "run the pair again"));
  const fs::path result = path() / "stage1" / "result.json";
  if (artifacts::file_exists(result)) {
    bare.bench = parsers::parse_workload_result(artifacts::read_file(result), result.string());
    return bare;
  }
  process_samples samples = read_process_samples(path() / "stage1" / "process_samples.json");
  bare.process_wall_ns = std::move(samples.wall_ns);
  bare.stage_samples_ns = std::move(samples.stages_ns);
  bare.stage_processes = std::move(samples.stage_processes);
  bare.stage_sources = std::move(samples.stage_sources);
  bare.range_cost_ns = samples.range_cost_ns;
  bare.figures = std::move(samples.figures);
  const std::vector<parsers::adapter_report> reports = adapter_reports_in(path());
  const std::optional<parsers::generated_tokens> seen = parsers::tokens_of(reports, samples.decode_steps);
  bare.seen_tokens = named(seen);
  bare.is_mean_decode = seen && seen->is_mean;
  bare.without_cache = parsers::steps_without_cache_of(reports);
  const fs::path counted = path() / "stage1" / counted_work_file;
  if (artifacts::file_exists(counted))
    bare.counted = parsers::parse_workload_result(artifacts::read_file(counted), counted.string());
  // The counter is told a checkpoint's, whatever the program filled its model with.
  if (bare.counted && config().is_null("model.checkpoint")) bare.counted->model_weights.clear();
  // A prefill is a chunk, and what is counted is the whole prompt's.
  if (bare.counted && seen && seen->chunks > 1) bare.counted->work.erase(core::prefill_stage);
  if (bare.counted && bare.without_cache)
    bare.counted->work_assumptions.emplace_back(
        "decode steps are counted as with a KV cache; what this program computes again is not counted");
  bare.how_to_tell_work =
      how_to_tell_work(config(), model_request_of(config(), reports, samples.decode_steps),
                       count_failure_of(status("stage1")));
  if (bare.counted && bare.seen_tokens.contains("chunks"))
    bare.how_to_tell_work = "let it prefill whole prompts: a chunk's work is not counted";
  bare.first_token_ns = std::move(samples.first_token_ns);
  bare.first_token_absent_reason = std::move(samples.first_token_absent_reason);
  bare.further_token_ns = std::move(samples.further_token_ns);
  bare.further_tokens = std::move(samples.further_tokens);
  bare.decode_steps = std::move(samples.decode_steps);
  const bool has_adapter = config::has_adapter(config());
  bare.has_adapter = has_adapter;
  bare.has_unnamed_warm_up = has_adapter && parsers::have_one_shape(reports);
  if (bare.has_unnamed_warm_up) analysis::leave_out_warm_up(bare);
  const bool is_forward_of_host = !bare.stage_sources.contains(core::forward_stage);
  bare.ttft_leaves_out = forwards_before(reports, samples.before_prefill_ns, is_forward_of_host);
  bare.decoding_in_turns = models_in_turns(reports);
  if (!bare.decoding_in_turns.empty()) {
    bare.seen_tokens.clear();
    bare.counted.reset();
    bare.how_to_tell_work = "let it decode with one model alone: " + bare.decoding_in_turns;
    bare.first_token_ns.clear();
    bare.further_token_ns.clear();
    bare.further_tokens.clear();
    bare.decode_steps.clear();
    bare.without_cache.reset();
  }
  const std::vector<std::int64_t> steps_of_texts =
      bare.decode_steps.empty() ? steps_by_tokens(bare.further_tokens) : bare.decode_steps;
  bare.imports_torch = note_beginning(status("timeline"), parsers::torch_without_adapter_note) != nullptr;
  if (const std::string* const note = note_beginning(status("stage1"), parsers::silent_adapter_note))
    bare.adapter_silence = *note;
  for (const std::string& stage : device_timed_stages(config())) {
    if (bare.stage_samples_ns.contains(stage))
      bare.stage_sources.try_emplace(stage, analysis::adapter_ranges_source);
  }
  if (has_adapter && !bare.process_wall_ns.empty()) {
    // A decoder has other stages than an encoder: the adapter's are those that it saw.
    std::erase_if(bare.stages, [&](const std::string& stage) {
      return stage != core::whole_process_stage && !bare.stage_samples_ns.contains(stage);
    });
    if (bare.stages.empty()) bare.stages = {core::whole_process_stage};
  }
  if (has_adapter && bare.decoding_in_turns.empty())
    bare.lengths_that_differ = lengths_that_differ(reports, steps_of_texts);
  if (has_adapter && bare.lengths_that_differ.empty()) analysis::leave_out_other_lengths(bare);
  if (!bare.lengths_that_differ.empty()) {
    for (const char* kind : {"prompt", "decode", "chunks"}) bare.seen_tokens.erase(kind);
    bare.counted.reset();
    bare.how_to_tell_work =
        fmt::format("let it run texts of one length: these were {}", bare.lengths_that_differ);
  }
  bare.bench_absent_reason =
      bare.process_wall_ns.empty()
          ? reason_of("stage1")
          : fmt::format("the program writes no result JSON; {}", timed_words(bare, has_adapter));
  if (status("stage1")) {
    bare.peak_rss_bytes = status("stage1")->peak_rss_bytes;
    bare.is_python = status("stage1")->tool.starts_with("python");
  }
  return bare;
}

void run_reader::read_captures(analysis::run_facts& facts) {
  // Without a gate for each stage a file holds them all.
  const bool is_gated = config().boolean("nsys.gating_nvtx");
  const bool has_one_gate = is_gated && !config().is_null("workload.profile_range");
  const std::vector<std::string> gates =
      is_gated && !has_one_gate ? stages_gate_first(config()) : std::vector<std::string>{};
  for (const timeline_file& file : timeline_files(path(), gates)) {
    analysis::capture capture{file.name, file.gate, read_stages(plain_files(file.paths).paths(), config())};
    if (has_one_gate && capture.timeline.tool == "nsys")
      capture.gate = config().text("workload.profile_range");
    if (!capture.gate && capture.timeline.tool == "nsys") capture.part = recorded_part_of(config());
    // nsys's export calls itself by another version than nsys does: the one that the step asked for counts.
    const std::optional<artifacts::step_status>& recorded = status("timeline");
    if (recorded && recorded->tool == capture.timeline.tool && !recorded->tool_version.empty())
      capture.timeline.tool_version = recorded->tool_version;
    if (facts.device == "cpu" && capture.timeline.kernels.empty()) {
      capture.timeline.kernels_absent_reason = "the workload runs on the CPU: there are no kernels";
    }
    facts.captures.push_back(std::move(capture));
  }
  facts.kernel_summaries =
      read_nsys_summaries(path(), gates, facts.bare.stages, config().text("workload.nvtx_domain"));
  if (facts.captures.empty()) {
    for (const analysis::kernel_summary& summary : facts.kernel_summaries) {
      if (!summary.unreadable.empty())
        throw core::bad_input(summary.unreadable, "make it again by 'nsys stats', or remove it");
    }
    facts.captures_absent_reason =
        facts.kernel_summaries.empty()
            ? reason_of("timeline")
            : "nsys/run.sqlite is not there; the CSVs beside it tell the time of kernels only";
  }
  for (const fs::path& result : profiled_results(path()))
    facts.profiled.push_back(parsers::parse_workload_result(artifacts::read_file(result), result.string()));
}

analysis::counter_facts run_reader::counters(const std::vector<analysis::capture>& captures) {
  std::vector<core::kernel_counters> launches;
  profilers::counting_conditions conditions;
  for (const profilers::counter_backend& backend : profilers::counter_backends()) {
    std::vector<fs::path> found = files_like(path(), backend.counters);
    if (found.empty()) found = files_like(path(), backend.all_counters);
    const plain_files files(found);
    if (files.paths().empty()) continue;
    for (const fs::path& file : files.paths()) {
      const auto more = backend.read(file);
      launches.insert(launches.end(), more.begin(), more.end());
    }
    conditions = backend.conditions(config());
    break;
  }
  if (!launches.empty()) return counted(std::move(launches), config(), conditions, captures);
  analysis::counter_facts nothing;
  nothing.absent_reason = reason_of("counters");
  return nothing;
}

analysis::run_facts run_reader::facts() {
  analysis::run_facts facts;
  facts.run_id = m_run.run_id;
  facts.created_utc = m_run.created_utc;
  facts.pair = m_run.pair;
  // An override may have chosen another model than the pair is called by.
  facts.model = config().is_null("model.name") ? m_run.pair.substr(0, m_run.pair.rfind('.'))
                                               : config().text("model.name");
  if (!config().is_null("model.variant")) facts.model_variant = config().text("model.variant");
  facts.config = m_run.pair.substr(m_run.pair.rfind('.') + 1);
  facts.device = config().text("workload.device");
  facts.mode = config().text("run.mode");
  facts.config_hash = config().hash();
  facts.nvtx_domain = config().text("workload.nvtx_domain");
  facts.device_timed_stages = device_timed_stages(config());
  facts.stage_expressions = stage_expressions_of(config());
  facts.top_n_kernels = static_cast<std::size_t>(config().integer("run.top_n_kernels"));
  facts.kernel_categories = category_rules_of(config());
  facts.region_kernels = {config().list("regions.include_kernels"), config().list("regions.exclude_kernels")};
  facts.bare = bare();
  if (status("stage1") && !status("stage1")->commands.empty())
    facts.program = core::program_of(status("stage1")->commands.front().argv).name;
  read_captures(facts);
  facts.counters = counters(facts.captures);
  for (const std::string step : reported_steps) {
    // After a failure the report is made without its step; nobody misses that in the report itself.
    if (step != "report" || status(step)) facts.steps.push_back(step_facts_of(step));
  }
  facts.artifacts = artifacts();
  facts.inputs = inputs_of(config(), facts.bare.seen_tokens, facts.bare.is_mean_decode);
  facts.changed_settings = changed_settings_of(config());
  facts.env_json = read_document(path() / "env.json", "run the pair again");
  facts.counters.multiprocessors = multiprocessors_in(facts.env_json);
  return facts;
}

std::vector<analysis::artifact_facts> run_reader::artifacts() const {
  return list_artifacts(path());
}

std::vector<std::string> run_reader::missing_artifacts() {
  return runs::missing_artifacts(
      path(), [this](const std::string& step) -> const std::optional<artifacts::step_status>& {
        return status(step);
      });
}

}  // namespace profgate::runs
