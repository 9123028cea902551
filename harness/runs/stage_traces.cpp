#include "runs/stage_traces.h"

#include <algorithm>
#include <unordered_map>

#include "core/expression.h"
#include "core/kernel_names.h"
#include "core/stage_names.h"
#include "runs/run_settings.h"

namespace profgate::runs {
namespace {

bool has_range_of(const std::vector<analysis::stage_rule>& rules, const core::timeline& timeline) {
  return std::any_of(rules.begin(), rules.end(), [&](const analysis::stage_rule& rule) {
    if (core::has_expression_characters(rule.range)) return true;  // to be found out by whoever names them
    return std::any_of(timeline.ranges.begin(), timeline.ranges.end(), [&](const core::range_record& range) {
      return range.name == rule.range && (!rule.domain || range.domain == *rule.domain);
    });
  });
}

void reopen_cut_ranges(core::timeline& timeline) {
  if (!timeline.recording_end_ns) return;
  for (core::range_record& range : timeline.ranges)
    if (range.end_ns == timeline.recording_end_ns) range.end_ns.reset();
}

}  // namespace

core::timeline read_stages(const std::vector<std::filesystem::path>& files, const config::resolved& config) {
  core::timeline timeline = profilers::read_timelines(files);
  name_stages(timeline, config, recorded_by::these_settings);
  return timeline;
}

void name_stages(core::timeline& timeline, const config::resolved& config, recorded_by who) {
  // The range that gates a recording ends it, and may well end with it.
  if (who == recorded_by::these_settings && !config.boolean("nsys.gating_nvtx")) reopen_cut_ranges(timeline);
  std::vector<analysis::stage_rule> rules = stage_rules_of(config);
  // The bare run of a program that opened no stage is timed as a whole, so its trace is looked at as a whole.
  if (config::has_adapter(config) && !has_range_of(rules, timeline))
    rules.push_back({core::whole_process_stage, core::whole_process_stage, std::nullopt, "workload.adapter"});
  analysis::name_stages(timeline, rules, config.text("workload.nvtx_domain"),
                        who == recorded_by::somebody ? analysis::layers::together : layers_of(config));
}

analysis::counter_facts counted(std::vector<core::kernel_counters> launches, const config::resolved& config,
                                const profilers::counting_conditions& conditions,
                                const std::vector<analysis::capture>& captures,
                                std::optional<analysis::layers> are) {
  analysis::counter_facts facts;
  facts.launches = std::move(launches);
  analysis::name_stages(facts.launches, stage_rules_of(config), are.value_or(layers_of(config)));
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

}  // namespace profgate::runs
