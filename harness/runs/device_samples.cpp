#include "runs/device_samples.h"

#include "analysis/texts.h"
#include "core/stage_names.h"
#include "runs/run_settings.h"

namespace profgate::runs {

std::vector<std::pair<std::string, parsers::device_times>> device_times_of_stages(
    const config::resolved& config, const std::vector<parsers::adapter_report>& reports,
    const std::map<std::string, std::vector<std::int64_t>>& stages_ns,
    const parsers::process_numbers& stage_processes, const std::vector<std::uint32_t>& process_ids) {
  std::vector<std::pair<std::string, parsers::device_times>> all;
  for (const analysis::stage_rule& rule : stage_rules_of(config)) {
    const auto timed_ns = stages_ns.find(rule.name);
    if (timed_ns == stages_ns.end() || !parsers::is_adapter_stage(rule.range, rule.domain)) continue;
    const auto known = stage_processes.find(rule.name);
    const std::vector<std::uint32_t> processes =
        known == stage_processes.end() ? std::vector<std::uint32_t>{} : known->second;
    parsers::device_times times =
        parsers::with_device_samples(rule.range, reports, timed_ns->second, processes, process_ids);
    if (!times.durations_ns.empty()) all.emplace_back(rule.name, std::move(times));
  }
  return all;
}

void take_device_times(const std::string& stage, parsers::device_times times, process_samples& samples) {
  std::vector<std::uint32_t>& processes = samples.stage_processes[stage];
  if (stage == core::decode_all_stage) {
    std::vector<std::uint32_t> sorted;
    std::vector<std::int64_t> steps;
    for (const std::size_t i : analysis::in_order_of_texts(processes)) {
      sorted.push_back(processes[i]);
      if (i < samples.decode_steps.size()) steps.push_back(samples.decode_steps[i]);
    }
    const bool is_one = parsers::process_count(samples.stage_processes) == 1;
    const bool is_whole = times.durations_ns.size() == samples.decode_steps.size();
    if (!is_whole || (times.processes != sorted && !is_one)) {
      samples.decode_steps.clear();
    } else {
      samples.decode_steps = std::move(steps);
    }
  }
  processes = std::move(times.processes);
  if (processes.empty()) samples.stage_processes.erase(stage);  // in another order
  samples.stages_ns[stage] = std::move(times.durations_ns);
  samples.stage_sources[stage] = parsers::device_samples_source;
}

}  // namespace profgate::runs
