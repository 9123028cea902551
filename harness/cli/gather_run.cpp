#include "gather_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ab/gate_config.h"
#include "artifacts/files.h"
#include "artifacts/run_list.h"
#include "artifacts/status.h"
#include "bundle.h"
#include "core/demangle.h"
#include "core/error.h"
#include "core/units.h"
#include "parsers/ncu.h"
#include "parsers/timeline.h"
#include "parsers/workload_result.h"
#include "plain_files.h"
#include "process_samples.h"
#include "steps/step.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

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

/// Why a step left nothing, in its own words.
std::string reason_of(const fs::path& run_dir, const std::string& step) {
  const std::optional<artifacts::step_status> status = artifacts::read_status(run_dir, step);
  if (!status) return fmt::format("step {} did not run", step);
  if (!status->state) return fmt::format("step {} is still running", step);
  return status->reason.empty() ? fmt::format("step {} left nothing", step) : status->reason;
}

analysis::step_facts facts_of(const std::string& step, const fs::path& run_dir) {
  const std::optional<artifacts::step_status> status = artifacts::read_status(run_dir, step);
  if (!status) return {step, core::step_state::skipped, "has not run", "", std::nullopt, "", "", {}};
  // The report step is the one that asks; its own end is not known yet.
  const core::step_state state = status->state.value_or(core::step_state::ok);
  return {step,
          state,
          status->reason,
          status->remedy,
          status->seconds,
          status->tool,
          status->tool_version,
          status->notes};
}

void gather_captures(const fs::path& run_dir, const config::resolved& config, analysis::run_facts& facts) {
  // Without gating each file holds the whole run.
  const std::vector<std::string> gates =
      config.boolean("nsys.gating_nvtx") ? stages_gate_first(config) : std::vector<std::string>{};
  for (const timeline_file& file : timeline_files(run_dir, gates)) {
    analysis::capture capture{file.name, file.gate, parsers::read_timelines(plain_files(file.paths).paths())};
    if (facts.device == "cpu" && capture.timeline.kernels.empty()) {
      capture.timeline.kernels_absent_reason = "the pair runs on the CPU: there are no kernels";
    }
    facts.captures.push_back(std::move(capture));
  }
  if (facts.captures.empty()) facts.captures_absent_reason = reason_of(run_dir, "timeline");
  for (const fs::path& result : profiled_results(run_dir))
    facts.profiled.push_back(parsers::parse_workload_result(artifacts::read_file(result), result.string()));
}

std::vector<analysis::named_value> inputs_of(const config::resolved& config) {
  std::vector<analysis::named_value> inputs;
  for (const std::string key : {"weights", "checkpoint"}) {
    const std::string path = "model." + key;
    if (!config.is_null(path)) inputs.push_back({key, config.text(path)});
  }
  for (const std::string key : {"prompt_tokens", "decode_tokens", "batch"}) {
    const std::string path = "workload." + key;
    if (!config.is_null(path)) inputs.push_back({key, std::to_string(config.integer(path))});
  }
  return inputs;
}

}  // namespace

analysis::bare_facts gather_bare(const fs::path& run_dir, const config::resolved& config) {
  analysis::bare_facts bare;
  bare.stages = config.list("workload.stages");
  bare.peaks = peaks_of(config);
  const fs::path result = run_dir / "stage1" / "result.json";
  if (artifacts::file_exists(result)) {
    bare.bench = parsers::parse_workload_result(artifacts::read_file(result), result.string());
    return bare;
  }
  bare.process_wall_ns = read_process_samples(run_dir / "stage1" / "process_samples.json");
  bare.bench_absent_reason = bare.process_wall_ns.empty()
                                 ? reason_of(run_dir, "stage1")
                                 : "the program writes no result JSON; only the whole process was timed";
  const std::optional<artifacts::step_status> status = artifacts::read_status(run_dir, "stage1");
  if (status) bare.peak_rss_bytes = status->peak_rss_bytes;
  return bare;
}

analysis::counter_facts gather_counters(const fs::path& run_dir, const config::resolved& config,
                                        const std::vector<analysis::capture>& captures) {
  analysis::counter_facts facts;
  const plain_files files(counter_files(run_dir));
  for (const fs::path& file : files.paths()) {
    const auto launches = parsers::read_ncu_counters(file, config.text("workload.nvtx_domain"));
    facts.launches.insert(facts.launches.end(), launches.begin(), launches.end());
  }
  if (facts.launches.empty()) {
    facts.absent_reason = reason_of(run_dir, "counters");
    return facts;
  }
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
  facts.cache_control = config.text("ncu.cache_control");
  facts.clock_control = config.text("ncu.clock_control");
  facts.replay_mode = config.text("ncu.replay_mode");
  return facts;
}

artifacts::run_info require_run(const fs::path& run_dir) {
  const std::optional<artifacts::run_info> run = artifacts::read_run(run_dir);
  if (run) return *run;
  throw core::bad_input(fmt::format("{} is not a run directory of profgate", run_dir.string()),
                        "name one of the folders in tmp/stage2 (or artifacts.stage2_dir)");
}

analysis::run_facts gather_run(const fs::path& run_dir) {
  const artifacts::run_info run = require_run(run_dir);
  const config::resolved config = config::parse_resolved(artifacts::read_file(run_dir / "config.yaml"),
                                                         (run_dir / "config.yaml").string());

  analysis::run_facts facts;
  facts.run_id = run.run_id;
  facts.created_utc = run.created_utc;
  facts.pair = run.pair;
  facts.model = run.pair.substr(0, run.pair.rfind('.'));
  facts.config = run.pair.substr(run.pair.rfind('.') + 1);
  facts.device = config.text("workload.device");
  facts.mode = config.text("run.mode");
  facts.config_hash = config.hash();
  facts.nvtx_domain = config.text("workload.nvtx_domain");
  facts.top_n_kernels = static_cast<std::size_t>(config.integer("run.top_n_kernels"));
  facts.kernel_categories = ab::category_rules_of(config);
  facts.region_kernels = {config.list("regions.include_kernels"), config.list("regions.exclude_kernels")};
  facts.bare = gather_bare(run_dir, config);
  gather_captures(run_dir, config, facts);
  facts.counters = gather_counters(run_dir, config, facts.captures);
  for (const step_definition& step : all_steps()) {
    if (step.name != "prune" && step.name != "gate") facts.steps.push_back(facts_of(step.name, run_dir));
  }
  facts.artifacts = list_artifacts(run_dir);
  facts.inputs = inputs_of(config);
  facts.env_json = artifacts::read_file(run_dir / "env.json");
  return facts;
}

}  // namespace profgate::cli
