#include "runs/run_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "artifacts/files.h"
#include "bare_run_reader.h"
#include "bundle.h"
#include "core/error.h"
#include "core/json.h"
#include "core/program_name.h"
#include "core/stage_names.h"
#include "environment_facts.h"
#include "nsys_summaries.h"
#include "parsers/workload_result.h"
#include "profilers/backends.h"
#include "runs/run_folder_check.h"
#include "runs/run_settings.h"
#include "runs/stage_traces.h"

namespace profgate::runs {
namespace fs = std::filesystem;
namespace {

/// Whose ends the reports tell; gate and prune come after them.
constexpr const char* reported_steps[] = {"prepare", "stage1", "timeline", "counters", "report"};

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
  if (!m_bare) {
    m_bare = read_bare_run({path(), config(), status("stage1"), status("timeline"), reason_of("stage1")});
    const fs::path environment = path() / "env.json";
    if (config().text("workload.device") == "cpu" && artifacts::file_exists(environment))
      m_bare->last_level_cache_bytes =
          last_level_cache_bytes_in(read_document(environment, "run the pair again"));
  }
  return *m_bare;
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
