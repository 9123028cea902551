#include "traced_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ab/gate_config.h"
#include "analysis/kernel_patterns.h"
#include "core/error.h"
#include "core/stage_names.h"
#include "gate/exact_gates.h"
#include "gate/operator_calls.h"
#include "parsers/workload_result.h"
#include "profilers/backends.h"
#include "run_folder.h"
#include "runs/run_settings.h"
#include "runs/stage_traces.h"

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

std::int64_t tokens_of(const core::workload_result& result, const std::string& stage) {
  const auto decoded = result.tokens.find("decode");
  return stage == core::decode_all_stage && decoded != result.tokens.end() ? decoded->second : 1;
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
    traced_process process;
    try {
      const fs::path traces = folder / "traces" / run_folder::stem(run.record.slot, which);
      process.timeline = runs::read_stages(timeline_files(traces), build.config);
      if (fs::exists(traces / "result.json"))
        process.result = parsers::read_workload_result(traces / "result.json");
    } catch (const core::bad_input& unreadable) {  // the verdict stands without it
      m_absent_reason =
          fmt::format("a trace of the {} cannot be used: {}", arm_name(which), unreadable.what());
      continue;
    }
    if (build.config.text("workload.device") == "cpu" && process.timeline.kernels.empty())
      process.timeline.kernels_absent_reason = "the workload runs on the CPU: there are no kernels";
    m_doubts.insert(m_doubts.end(), process.timeline.doubts.begin(), process.timeline.doubts.end());
    if (process.timeline.dropped_records > 0) {
      m_doubts.push_back(fmt::format("a trace of the {} lacks {} records", arm_name(which),
                                     process.timeline.dropped_records));
    }
    m_processes.push_back(std::move(process));
  }
}

void traced_arm::label(traced_process& process, const std::vector<std::string>& stages) {
  std::vector<std::string> new_stages;
  for (const std::string& stage : stages) {
    if (!process.labelled.contains(stage)) new_stages.push_back(stage);
  }
  if (new_stages.empty()) return;
  const analysis::category_rules categories = runs::category_rules_of(m_build.config);
  std::vector<analysis::labelled_traces> labelled = analysis::label_operations(
      process.timeline, new_stages,
      {m_build.config.text("workload.nvtx_domain"), &categories, runs::device_timed_stages(m_build.config)});
  for (std::size_t i = 0; i < new_stages.size(); ++i) {
    if (labelled[i].unseen > 0) {
      const std::string doubt = fmt::format(
          "{} kernels have no operator: their graph was captured before the recording", labelled[i].unseen);
      if (std::find(m_doubts.begin(), m_doubts.end(), doubt) == m_doubts.end()) m_doubts.push_back(doubt);
    }
    process.labelled.emplace(new_stages[i], std::move(labelled[i]));
  }
}

std::vector<analysis::stage_trace> traced_arm::traces_of(const std::string& stage) {
  std::vector<analysis::stage_trace> all;
  for (traced_process& process : m_processes) {
    label(process, {stage});
    for (const analysis::stage_trace& trace : process.labelled.at(stage).occurrences) all.push_back(trace);
  }
  return all;
}

std::map<std::string, gate::stage_structure> traced_arm::structure(const std::vector<std::string>& stages) {
  std::map<std::string, gate::stage_structure> by_stage;
  if (m_processes.empty()) return by_stage;
  traced_process& first = m_processes.front();
  label(first, stages);
  const std::string domain = m_build.config.text("workload.nvtx_domain");
  for (const std::string& stage : stages) {
    by_stage[stage] = gate::structure_of(first.timeline, domain, stage, tokens_of(first.result, stage));
    by_stage[stage].operations =
        gate::facts_of(first.labelled.at(stage).asked_for, first.timeline.code_hashes);
    by_stage[stage].calls = gate::calls_of(analysis::typical_of(first.labelled.at(stage).occurrences), stage);
  }
  return by_stage;
}

analysis::launch_order traced_arm::launches(const std::vector<std::string>& stages) const {
  if (m_processes.empty()) return {};
  return analysis::order_of_program(m_processes.front().timeline, stages,
                                    m_build.config.text("workload.nvtx_domain"),
                                    analysis::counted_launches::all);
}

std::vector<std::map<std::string, analysis::stage_operations>> traced_arm::sums(
    const std::vector<std::string>& stages) {
  std::vector<std::map<std::string, analysis::stage_operations>> all;
  for (traced_process& process : m_processes) {
    label(process, stages);
    std::map<std::string, analysis::stage_operations> by_stage;
    for (const std::string& stage : stages) {
      const std::vector<analysis::stage_trace>& traces = process.labelled.at(stage).occurrences;
      try {
        if (!traces.empty()) by_stage[stage] = analysis::sum_up(traces);
      } catch (const core::bad_input& unsuitable) {
        m_doubts.push_back(fmt::format("{}: a trace cannot be used: {}", stage, unsuitable.what()));
      }
    }
    all.push_back(std::move(by_stage));
  }
  return all;
}

}  // namespace profgate::ab
