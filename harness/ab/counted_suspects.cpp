#include "counted_suspects.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <set>

#include "ab/gate_config.h"
#include "analysis/counter_metrics.h"
#include "artifacts/files.h"
#include "core/error.h"
#include "core/stage_names.h"
#include "gate/judge.h"
#include "profilers/backends.h"
#include "runs/stage_traces.h"
#include "suspect_counts.h"
#include "workload/adapter.h"
#include "workload/contract.h"

namespace profgate::ab {
namespace fs = std::filesystem;
namespace {

using steady = std::chrono::steady_clock;

constexpr std::int64_t launches_per_kernel = 3;
constexpr std::int64_t most_launches = 40;  // a launch takes a tenth of a second and more

/// Mostly the program's start is what took the time: each build is started once under ncu.
std::string budget_is_over(std::int64_t budget_s) {
  constexpr std::int64_t most_budget_s = 3600;  // what the setting takes
  const std::string over = fmt::format("the {} s of gate.counter_budget_s were over", budget_s);
  if (budget_s >= most_budget_s) return over;
  return fmt::format("{}; a program that starts slowly needs more: gate.counter_budget_s={}", over,
                     std::min(3 * budget_s, most_budget_s));
}

std::vector<std::string> stages_of_suspects(const std::vector<gate::suspect>& suspects) {
  std::vector<std::string> stages;
  for (const gate::suspect& one : suspects) {
    if (std::find(stages.begin(), stages.end(), one.stage) == stages.end()) stages.push_back(one.stage);
  }
  return stages;
}

/// A group for each way in which a suspect is launched.
analysis::kernel_selection selection_of(const std::vector<gate::suspect>& suspects,
                                        const gate::run_set& runs) {
  analysis::kernel_selection selection;
  for (const gate::suspect& one : suspects) {
    const gate::operation_facts* const facts = facts_of_suspect(runs, one);
    if (facts == nullptr) continue;
    for (const auto& [configuration, count] : facts->launches) {
      core::kernel_group group;
      group.kernel_name = one.name;
      group.op = one.path;
      group.grid = configuration.grid;
      group.block = configuration.block;
      group.total_ns = count;  // all that weighs here
      group.calls = count;
      selection.groups.push_back(std::move(group));
    }
  }
  return selection;
}

/// Of one arm; throws where it could not be counted.
class arm_counting {
 public:
  arm_counting(const surroundings& where, fs::path folder, const std::vector<gate::suspect>& suspects,
               counted_arm& arm)
      : m_where(where), m_folder(std::move(folder)), m_suspects(suspects), m_arm(arm) {}

  bool timed_out() const { return m_timed_out; }

  void count(std::int64_t deadline_ms) {
    const arm_build& build = m_arm.program.build();
    profilers::ncu_filter filter =
        filter_of(m_suspects, m_arm.runs, m_arm.traced.launches(stages_of_suspects(m_suspects)),
                  build.config.text("workload.nvtx_domain"), build.command_has_placeholders);
    if (filter.kernel_names.empty())
      throw core::not_possible("its traces do not tell how the kernels are launched", "");
    fs::remove_all(m_folder);
    artifacts::make_folder(m_folder);
    profilers::counters_request request;
    const config::resolved settings = settings_here();
    const fs::path config_file = m_folder / "config.yaml";
    artifacts::write_file_atomically(config_file, settings.to_yaml());
    request.workload = m_arm.program.words(config_file, "profile", m_folder / "result.json");
    request.set_environment = workload::adapter_environment(build.config, m_where.pytorch_adapter,
                                                            workload::adapter_mode::traced, m_folder);
    request.output_folder = m_folder;
    request.log_file = m_folder / "log.txt";
    request.deadline_ms = deadline_ms;
    request.sessions = {{"", "the stages", std::move(filter)}};
    request.columns = suspect_metrics();
    const profilers::command_runner run = [this](const profilers::tool_command& command) {
      profilers::tool_run done = m_arm.run(command);
      if (done.timed_out) m_timed_out = true;
      return done;
    };
    profilers::counters_result counted = capture(request, settings, run);
    m_arm.runs.counters = counts_of_suspects(
        m_suspects, m_arm.runs, runs::counted(std::move(counted.launches), settings, {}, {}).launches);
    if (m_arm.runs.counters.empty())
      throw core::step_failure("none of the launches that ncu counted was theirs", "");
  }

 private:
  /// Kernels of a graph have no operators under ncu.
  config::resolved settings_here() const {
    const std::string origin = "the gate's counters";
    return gate_config(m_arm.program.build().config)
        .with("workload.cuda_graphs", false, origin)
        .with("ncu.set", std::monostate{}, origin)
        .with("ncu.sections", std::vector<std::string>{}, origin)
        .with("ncu.metrics", suspect_metrics(), origin);
  }

  /// By the first profiler that is there.
  profilers::counters_result capture(const profilers::counters_request& request,
                                     const config::resolved& settings,
                                     const profilers::command_runner& run) const {
    std::string reason;
    for (const profilers::counter_backend& backend : profilers::counter_backends()) {
      const profilers::tool_location found = backend.tool.find(m_where.machine.environment);
      if (found.executable) {
        backend.require_access(m_where.machine);
        return backend.capture(request, {m_where.machine, *found.executable, settings, run});
      }
      if (reason.empty()) reason = found.reason;
    }
    throw core::not_possible(reason, "");
  }

  const surroundings& m_where;
  fs::path m_folder;
  const std::vector<gate::suspect>& m_suspects;
  counted_arm& m_arm;
  std::atomic<bool> m_timed_out = false;  // commands run at once
};

}  // namespace

const std::vector<std::string>& suspect_metrics() {
  static const std::vector<std::string> metrics = {
      "gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum", l2_hits_metric,
      instructions_metric,      occupancy_metric,       registers_metric};
  return metrics;
}

profilers::ncu_filter filter_of(const std::vector<gate::suspect>& suspects, const gate::run_set& runs,
                                analysis::launch_order order, const std::string& nvtx_domain, bool is_gated) {
  const std::vector<std::string> stages = stages_of_suspects(suspects);
  const bool is_in_ranges =
      is_gated && std::find(stages.begin(), stages.end(), core::whole_process_stage) == stages.end();
  profilers::ncu_filter filter;
  if (is_in_ranges) {
    for (const std::string& stage : stages)
      filter.nvtx_include.push_back(profilers::ncu_range_filter({stage, nvtx_domain}));
    std::erase_if(order.launches,
                  [&](std::uint32_t launch) { return !order.configurations[launch].is_in_stage; });
  }
  const analysis::kernel_selection selection = selection_of(suspects, runs);
  const std::vector<analysis::launch_window> windows =
      analysis::plan_windows(selection, order, {launches_per_kernel, 1, most_launches});
  if (windows.empty()) return filter;
  filter.skip = windows.front().skip;
  filter.count = windows.front().count;
  std::set<std::string> names;
  for (const core::kernel_group& group : selection.groups) names.insert(group.kernel_name);
  const analysis::kernel_spellings spelled = analysis::spellings_of({names.begin(), names.end()}, order);
  filter.base =
      spelled.are_mangled ? profilers::kernel_name_base::mangled : profilers::kernel_name_base::demangled;
  for (const std::vector<std::string>& spellings : spelled.by_kernel)
    std::ranges::copy(spellings, std::back_inserter(filter.kernel_names));
  return filter;
}

void count_suspects(const surroundings& where, const comparison_settings& settings, const fs::path& folder,
                    counted_arm baseline, counted_arm candidate) {
  const config::resolved& config = candidate.program.build().config;
  const std::int64_t budget_ms = 1000 * config.integer("gate.counter_budget_s");
  if (budget_ms == 0 || config.text("workload.device") != "cuda") return;
  gate::judge_rules rules;
  rules.reduction = settings.reduction;
  rules.interleaved = settings.rules;
  rules.stages = settings.stages;
  const gate::suspects suspects = gate::suspects_of(
      gate::judge_interleaved(baseline.runs, candidate.runs, rules, {}, ""), baseline.runs, candidate.runs);
  const auto started = steady::now();
  const auto left_ms = [&] {
    return budget_ms - std::chrono::duration_cast<std::chrono::milliseconds>(steady::now() - started).count();
  };
  const auto count = [&](const char* name, const std::vector<gate::suspect>& kernels, counted_arm& arm,
                         std::int64_t deadline_ms) {
    if (kernels.empty()) return true;
    if (where.now_running) where.now_running(fmt::format("counting kernels of the {}", name));
    arm_counting counting(where, folder / "counters" / name, kernels, arm);
    try {
      counting.count(std::max<std::int64_t>(1, deadline_ms));
      return true;
    } catch (const core::interrupted&) {
      throw;
    } catch (const std::exception& failed) {
      arm.runs.uncounted_because = counting.timed_out()
                                       ? budget_is_over(budget_ms / 1000)
                                       : fmt::format("the {} could not be counted: {}", name, failed.what());
      return false;
    }
  };
  // Of a new kernel there is nothing to count in the baseline.
  const bool both = !suspects.baseline.empty();
  if (!count("baseline", suspects.baseline, baseline, budget_ms / 2)) return;
  count("candidate", suspects.candidate, candidate, both ? left_ms() : budget_ms);
}

}  // namespace profgate::ab
