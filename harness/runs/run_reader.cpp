#include "runs/run_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "analysis/stage_windows.h"
#include "artifacts/files.h"
#include "bundle.h"
#include "core/error.h"
#include "core/expression.h"
#include "core/json.h"
#include "core/kernel_names.h"
#include "core/units.h"
#include "nsys_summaries.h"
#include "parsers/adapter_report.h"
#include "parsers/workload_result.h"
#include "profilers/backends.h"
#include "runs/run_folder_check.h"

namespace profgate::runs {
namespace fs = std::filesystem;
namespace {

/// Whose ends the reports tell; gate and prune come after them.
constexpr const char* reported_steps[] = {"prepare", "stage1", "timeline", "counters", "report"};

std::optional<analysis::hardware_peaks> peaks_of(const config::resolved& config) {
  if (config.is_null("hardware.name")) return std::nullopt;
  analysis::hardware_peaks peaks;
  peaks.name = config.text("hardware.name");
  for (const std::string dtype : {"float32", "bfloat16"}) {
    const std::string key = "hardware.peak_tflops." + dtype;
    if (!config.is_null(key)) peaks.peak_tflops[dtype] = config.number(key);
  }
  if (!config.is_null("hardware.memory_bandwidth_gbs")) {
    peaks.memory_bandwidth_bytes_per_s = config.number("hardware.memory_bandwidth_gbs") * 1e9;
  }
  if (!config.is_null("hardware.source")) peaks.source = config.text("hardware.source");
  if (peaks.peak_tflops.empty() && !peaks.memory_bandwidth_bytes_per_s) return std::nullopt;
  return peaks;
}

/// As a result names them; empty where no adapter saw a prefill.
std::map<std::string, std::int64_t> seen_tokens_in(const fs::path& run_dir) {
  const plain_files reports(files_like(run_dir, "stage1/pytorch.*.json"));
  const auto seen = parsers::tokens_of(parsers::read_adapter_reports(reports.paths()));
  if (!seen) return {};
  return {{"batch", seen->batch}, {"prompt", seen->prompt}, {"decode", seen->decoded}};
}

std::vector<analysis::named_value> inputs_of(const config::resolved& config,
                                             const std::map<std::string, std::int64_t>& seen) {
  std::vector<analysis::named_value> inputs;
  for (const std::string key : {"weights", "checkpoint"}) {
    const std::string path = "model." + key;
    if (!config.is_null(path)) inputs.push_back({key, config.text(path)});
  }
  for (const std::string key : {"prompt_tokens", "decode_tokens", "batch"}) {
    const std::string path = "workload." + key;
    const auto read_off = seen.find(key.substr(0, key.find('_')));
    if (read_off != seen.end()) {
      inputs.push_back({key, fmt::format("{}, read off the model's inputs", read_off->second)});
    } else if (!config.is_null(path)) {
      inputs.push_back({key, std::to_string(config.integer(path))});
    }
  }
  return inputs;
}

std::vector<std::int64_t> durations_of(const core::json_cursor& list) {
  std::vector<std::int64_t> durations_ns;
  for (const core::json_cursor& value : list.items())
    durations_ns.push_back(value.integer(0, core::longest_plausible_ns));
  return durations_ns;
}

/// Empty where the file does not exist.
process_samples read_process_samples(const fs::path& file) {
  if (!artifacts::file_exists(file)) return {};
  const core::json_document document(artifacts::read_file(file), file.string(), "run the pair again");
  process_samples samples{durations_of(document.root().require("wall_ns"))};
  if (const auto stages = document.root().find("stages_ns")) {
    for (const auto& [stage, list] : stages->members()) samples.stages_ns[stage] = durations_of(list);
  }
  if (const auto sources = document.root().find("stage_sources")) {
    for (const auto& [stage, source] : sources->members()) samples.stage_sources[stage] = source.text();
  }
  if (const auto times = document.root().find("first_token_ns"))
    samples.first_token_ns = durations_of(*times);
  if (const auto times = document.root().find("further_token_ns"))
    samples.further_token_ns = durations_of(*times);
  if (const auto figures = document.root().find("figures")) {
    for (const core::json_cursor& figure : figures->items()) {
      analysis::program_figure& told = samples.figures.emplace_back();
      told.name = figure.require("name").text();
      told.unit = figure.require("unit").text();
      told.source = figure.require("source").text();
      for (const core::json_cursor& value : figure.require("values").items())
        told.values.push_back(value.number());
    }
  }
  return samples;
}

/// Whether all times of stages are of ranges.
bool tells_no_times(const analysis::bare_facts& bare) {
  return std::all_of(bare.stage_sources.begin(), bare.stage_sources.end(),
                     [](const auto& each) { return each.second == analysis::synchronised_ranges_source; });
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
  if (!found) return {step, core::step_state::skipped, "has not run", "", std::nullopt, "", "", {}};
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
  const fs::path result = path() / "stage1" / "result.json";
  if (artifacts::file_exists(result)) {
    bare.bench = parsers::parse_workload_result(artifacts::read_file(result), result.string());
    return bare;
  }
  process_samples samples = read_process_samples(path() / "stage1" / "process_samples.json");
  bare.process_wall_ns = std::move(samples.wall_ns);
  bare.stage_samples_ns = std::move(samples.stages_ns);
  bare.stage_sources = std::move(samples.stage_sources);
  bare.figures = std::move(samples.figures);
  bare.seen_tokens = seen_tokens_in(path());
  const fs::path counted = path() / "stage1" / counted_work_file;
  if (artifacts::file_exists(counted))
    bare.counted = parsers::parse_workload_result(artifacts::read_file(counted), counted.string());
  bare.first_token_ns = std::move(samples.first_token_ns);
  bare.further_token_ns = std::move(samples.further_token_ns);
  if (config().text("workload.adapter") != "none" && !bare.process_wall_ns.empty()) {
    // A decoder has other stages than an encoder: the adapter's are those that it saw.
    std::erase_if(bare.stages, [&](const std::string& stage) {
      return stage != core::whole_process_stage && !bare.stage_samples_ns.contains(stage);
    });
    if (bare.stages.empty()) bare.stages = {core::whole_process_stage};
  }
  bare.bench_absent_reason =
      bare.process_wall_ns.empty()    ? reason_of("stage1")
      : bare.stage_samples_ns.empty() ? "the program writes no result JSON; only the whole process was timed"
      : tells_no_times(bare)          ? "the program writes no result JSON; its NVTX ranges were timed"
                                      : "the program writes no result JSON; it told its times otherwise";
  if (status("stage1")) bare.peak_rss_bytes = status("stage1")->peak_rss_bytes;
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
    // nsys's export calls itself by another version than nsys does: the one that the step asked for counts.
    const std::optional<artifacts::step_status>& recorded = status("timeline");
    if (recorded && recorded->tool == capture.timeline.tool && !recorded->tool_version.empty())
      capture.timeline.tool_version = recorded->tool_version;
    if (facts.device == "cpu" && capture.timeline.kernels.empty()) {
      capture.timeline.kernels_absent_reason = "the pair runs on the CPU: there are no kernels";
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

namespace {

/// An adapter names a model's modules by their paths.
analysis::layers layers_of(const config::resolved& config) {
  return config.text("workload.adapter") == "none" ? analysis::layers::apart : analysis::layers::together;
}

}  // namespace

analysis::counter_facts counted(std::vector<core::kernel_counters> launches, const config::resolved& config,
                                const profilers::counting_conditions& conditions,
                                const std::vector<analysis::capture>& captures) {
  analysis::counter_facts facts;
  facts.launches = std::move(launches);
  analysis::name_stages(facts.launches, stage_rules_of(config), layers_of(config));
  std::unordered_map<std::string_view, std::string_view> names;  // demangled by mangled
  for (const analysis::capture& capture : captures) {
    for (const core::kernel_execution& kernel : capture.timeline.kernels) {
      const core::kernel_shape& shape = *kernel.shape;
      if (!shape.mangled_name.empty()) names.try_emplace(shape.mangled_name, shape.name);
    }
  }
  for (core::kernel_counters& launch : facts.launches) {
    const auto known = names.find(launch.kernel_name);
    launch.kernel_name =
        known == names.end() ? core::demangle(launch.kernel_name) : std::string(known->second);
  }
  facts.cache_control = conditions.cache_control;
  facts.clock_control = conditions.clock_control;
  facts.replay_mode = conditions.replay_mode;
  return facts;
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
  facts.top_n_kernels = static_cast<std::size_t>(config().integer("run.top_n_kernels"));
  facts.kernel_categories = category_rules_of(config());
  facts.region_kernels = {config().list("regions.include_kernels"), config().list("regions.exclude_kernels")};
  facts.bare = bare();
  read_captures(facts);
  facts.counters = counters(facts.captures);
  for (const char* step : reported_steps) facts.steps.push_back(step_facts_of(step));
  facts.artifacts = artifacts();
  facts.inputs = inputs_of(config(), facts.bare.seen_tokens);
  facts.env_json = read_document(path() / "env.json", "run the pair again");
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

void write_process_samples(const std::filesystem::path& file, const process_samples& samples) {
  nlohmann::ordered_json json = {{"schema_version", 1}, {"wall_ns", samples.wall_ns}};
  if (!samples.stages_ns.empty()) json["stages_ns"] = samples.stages_ns;
  if (!samples.stage_sources.empty()) json["stage_sources"] = samples.stage_sources;
  if (!samples.first_token_ns.empty()) json["first_token_ns"] = samples.first_token_ns;
  if (!samples.further_token_ns.empty()) json["further_token_ns"] = samples.further_token_ns;
  for (const analysis::program_figure& figure : samples.figures) {
    json["figures"].push_back(
        {{"name", figure.name}, {"unit", figure.unit}, {"source", figure.source}, {"values", figure.values}});
  }
  artifacts::write_file_atomically(file, core::json_text(json));
}

std::vector<std::string> stages_gate_first(const config::resolved& config) {
  std::vector<std::string> stages = config.list("workload.stages");
  const std::string gate = config.text("nsys.gate_range");
  std::stable_partition(stages.begin(), stages.end(),
                        [&](const std::string& stage) { return stage == gate; });
  return stages;
}

std::vector<analysis::stage_rule> stage_rules_of(const config::resolved& config) {
  constexpr std::string_view any = "any";
  const std::string own_domain = config.text("workload.nvtx_domain");
  std::vector<analysis::stage_rule> rules;
  for (const config::record& stage : config.records("workload.stages")) {
    const auto field = [&](const char* key, const std::string& otherwise) {
      const auto found = stage.find(key);
      return found == stage.end() ? otherwise : found->second;
    };
    const std::string domain = field("domain", own_domain);
    rules.push_back({stage.at("name"), field("range", stage.at("name")),
                     domain == any ? std::nullopt : std::optional(domain),
                     fmt::format("workload.stages ({})", config.origin("workload.stages")),
                     field("sync", "false") == "true"});
  }
  return rules;
}

std::vector<std::string> device_timed_stages(const config::resolved& config) {
  std::vector<std::string> stages;
  if (config.text("workload.adapter") == "none") return stages;
  for (const analysis::stage_rule& rule : stage_rules_of(config)) {
    if (parsers::is_adapter_stage(rule.range)) stages.push_back(rule.name);
  }
  return stages;
}

std::vector<std::string> synchronised_stages(const config::resolved& config) {
  std::vector<std::string> stages;
  for (const analysis::stage_rule& rule : stage_rules_of(config))
    if (rule.is_synchronised) stages.push_back(rule.name);
  return stages;
}

std::vector<profilers::range_name> named_ranges(const config::resolved& config,
                                                const std::vector<std::string>& stages) {
  std::vector<profilers::range_name> ranges;
  for (const analysis::stage_rule& rule : stage_rules_of(config)) {
    if (std::find(stages.begin(), stages.end(), rule.name) == stages.end()) continue;
    if (rule.range != core::every_text && core::has_expression_characters(rule.range)) {
      throw core::bad_input(fmt::format("{}: the stage '{}' is to be synchronised, and its range '{}' is an "
                                        "expression",
                                        rule.where, rule.name, rule.range),
                            "give the stage the same range, or no sync, on both sides");
    }
    ranges.push_back({rule.range, rule.domain.value_or(profilers::any_domain)});
  }
  return ranges;
}

namespace {

bool has_range_of(const std::vector<analysis::stage_rule>& rules, const core::timeline& timeline) {
  return std::any_of(rules.begin(), rules.end(), [&](const analysis::stage_rule& rule) {
    if (core::has_expression_characters(rule.range)) return true;  // to be found out by whoever names them
    return std::any_of(timeline.ranges.begin(), timeline.ranges.end(), [&](const core::range_record& range) {
      return range.name == rule.range && (!rule.domain || range.domain == *rule.domain);
    });
  });
}

}  // namespace

core::timeline read_stages(const std::vector<fs::path>& files, const config::resolved& config) {
  core::timeline timeline = profilers::read_timelines(files);
  std::vector<analysis::stage_rule> rules = stage_rules_of(config);
  // The bare run of a program that opened no stage is timed as a whole, so its trace is looked at as a whole.
  if (config.text("workload.adapter") != "none" && !has_range_of(rules, timeline))
    rules.push_back({core::whole_process_stage, core::whole_process_stage, std::nullopt, "workload.adapter"});
  analysis::name_stages(timeline, rules, config.text("workload.nvtx_domain"), layers_of(config));
  return timeline;
}

range_samples sample_ranges(core::timeline timeline, const config::resolved& config) {
  const std::string domain = config.text("workload.nvtx_domain");
  const std::vector<std::string> stages = config.list("workload.stages");
  range_samples samples;
  samples.counts = analysis::name_stages(timeline, stage_rules_of(config), domain);
  for (const analysis::stage_window& window : analysis::find_windows(timeline, stages, domain)) {
    // The whole process is timed from outside, its start and its end included.
    if (stages[window.stage] != core::whole_process_stage)
      samples.stages_ns[stages[window.stage]].push_back(window.end_ns - window.start_ns);
  }
  return samples;
}

void add_token_times(const core::timeline& timeline, process_samples& samples) {
  constexpr std::string_view prefill = "prefill";
  constexpr std::string_view step = "decode_step";
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<core::range_record>> by_thread;
  for (const core::range_record& range : timeline.ranges) {
    if (range.domain == "LLM" && range.end_ns && (range.name == prefill || range.name == step))
      by_thread[{range.process_id, range.thread_id}].push_back(range);
  }
  for (auto& [thread, stages] : by_thread) {
    std::sort(stages.begin(), stages.end(),
              [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    for (std::size_t i = 0; i + 1 < stages.size(); ++i) {
      if (stages[i + 1].name != step) continue;  // the last step of a text
      (stages[i].name == prefill ? samples.first_token_ns : samples.further_token_ns)
          .push_back(stages[i + 1].start_ns - stages[i].start_ns);
    }
  }
}

analysis::category_rules category_rules_of(const config::resolved& config) {
  const auto parsed = [&](const std::string& key) {
    std::vector<analysis::category_rule> rules;
    for (const std::string& text : config.list(key))
      rules.push_back(analysis::parse_category_rule(text, fmt::format("{} ({})", key, config.origin(key))));
    return rules;
  };
  return {parsed("categories.kernels"), parsed("categories.operators")};
}

}  // namespace profgate::runs
