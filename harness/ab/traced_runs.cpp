#include "traced_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ab/gate_config.h"
#include "analysis/graph_replays.h"
#include "analysis/kernel_patterns.h"
#include "gate/stage_traces.h"
#include "operator_traces.h"
#include "parsers/timeline.h"
#include "parsers/workload_result.h"
#include "run_folder.h"

namespace profgate::ab {
namespace fs = std::filesystem;
namespace {

std::vector<fs::path> timeline_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".timeline") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// By conf/'s rules; what they do not know is left to the gate's own list.
void set_categories(const analysis::category_rules& rules, core::text_pool& texts, gate::stage_trace& trace) {
  for (gate::operation& operation : trace.operations) {
    if (!operation.category.empty()) continue;
    const std::string_view op = operation.path.substr(operation.path.rfind('/') + 1);
    const std::string category = rules.category_of(operation.name, op);
    if (category != "other") operation.category = texts.keep(category);
  }
}

std::int64_t tokens_of(const core::workload_result& result, const std::string& stage) {
  const auto decoded = result.tokens.find("decode");
  return stage.starts_with("decode") && decoded != result.tokens.end() ? decoded->second : 1;
}

}  // namespace

traced_arm::traced_arm(const arm_build& build, const fs::path& folder, const std::vector<finished_run>& runs,
                       gate::arm which)
    : m_build(build) {
  for (const finished_run& run : runs) {
    if (run.kind != run_kind::traced || run.arm != which) continue;
    if (run.crash || run.record.spoiled_by) {
      m_absent_reason = fmt::format("the {} could not be traced: {}", arm_name(which),
                                    run.crash ? *run.crash : *run.record.spoiled_by);
      continue;
    }
    const fs::path traces = folder / "traces" / run_folder::stem(run.record.slot, which);
    traced_process process;
    process.timeline = parsers::read_timelines(timeline_files(traces));
    if (fs::exists(traces / "result.json"))
      process.result = parsers::read_workload_result(traces / "result.json");
    if (build.config.text("workload.device") == "cpu" && process.timeline.kernels.empty())
      process.timeline.kernels_absent_reason = "the pair runs on the CPU: there are no kernels";
    m_doubts.insert(m_doubts.end(), process.timeline.doubts.begin(), process.timeline.doubts.end());
    if (process.timeline.dropped_records > 0) {
      m_doubts.push_back(fmt::format("a trace of the {} lacks {} records", arm_name(which),
                                     process.timeline.dropped_records));
    }
    m_processes.push_back(std::move(process));
  }
}

std::vector<gate::stage_trace> traced_arm::traces_of(traced_process& process, const std::string& stage) {
  core::timeline& timeline = process.timeline;
  const std::string domain = m_build.config.text("workload.nvtx_domain");
  const bool has_device_work = !timeline.kernels.empty() || !timeline.copies.empty();
  if (!has_device_work) return operator_traces(timeline, domain, stage);
  // Under a replayed graph the host runs through no operator ranges: the workload's map knows them.
  const analysis::graph_attribution graphs = analysis::attribute_replays(timeline, process.result.graph_maps);
  const auto path_of = [&](const core::kernel_execution& kernel) -> std::string_view {
    const auto index = static_cast<std::size_t>(&kernel - timeline.kernels.data());
    return graphs.kernels.empty() ? std::string_view{} : graphs.operators[graphs.kernels[index].op];
  };
  if (graphs.unmatched > 0) {
    m_doubts.push_back(fmt::format("{} kernels have no operator: {}", graphs.unmatched, graphs.mismatch));
  }
  std::vector<gate::stage_trace> traces = gate::traces_of(timeline, domain, stage, path_of);
  const analysis::category_rules rules = category_rules_of(m_build.config);
  for (gate::stage_trace& trace : traces) set_categories(rules, timeline.texts, trace);
  return traces;
}

std::vector<gate::stage_trace> traced_arm::traces_of(const std::string& stage) {
  std::vector<gate::stage_trace> all;
  for (traced_process& process : m_processes) {
    for (gate::stage_trace& trace : traces_of(process, stage)) all.push_back(std::move(trace));
  }
  return all;
}

std::map<std::string, gate::stage_structure> traced_arm::structure(
    const std::vector<std::string>& stages) const {
  std::map<std::string, gate::stage_structure> by_stage;
  if (m_processes.empty()) return by_stage;
  const traced_process& first = m_processes.front();
  const std::string domain = m_build.config.text("workload.nvtx_domain");
  for (const std::string& stage : stages)
    by_stage[stage] = gate::structure_of(first.timeline, domain, stage, tokens_of(first.result, stage));
  return by_stage;
}

std::vector<std::map<std::string, gate::traced_stage>> traced_arm::sums(
    const std::vector<std::string>& stages) {
  std::vector<std::map<std::string, gate::traced_stage>> all;
  for (traced_process& process : m_processes) {
    std::map<std::string, gate::traced_stage> by_stage;
    for (const std::string& stage : stages) {
      const std::vector<gate::stage_trace> traces = traces_of(process, stage);
      if (!traces.empty()) by_stage[stage] = gate::sum_up(traces);
    }
    all.push_back(std::move(by_stage));
  }
  return all;
}

}  // namespace profgate::ab
