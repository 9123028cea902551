#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "analysis/findings.h"
#include "analysis/trace_spans.h"
#include "core/stage_names.h"
#include "core/units.h"
#include "findings_parts.h"
#include "kernel_summaries.h"

namespace profgate::analysis {
namespace {

/// The stages that were timed, then those that only a trace can know.
std::vector<bare_stage> all_stages(const bare_facts& facts, const bare_figures& figures) {
  std::vector<bare_stage> stages = figures.stages;
  for (const std::string& name : facts.stages) {
    const bool known = std::any_of(stages.begin(), stages.end(),
                                   [&](const bare_stage& stage) { return stage.name == name; });
    if (known) continue;
    stages.push_back(untimed_stage(facts, figures, name,
                                   "the program writes no result file, so only the whole process was timed"));
  }
  return stages;
}

/// A bare time is that of all inputs: so is an occurrence then, which has a range for each of them.
traced_stage with_inputs_joined(traced_stage stage, std::int64_t inputs) {
  if (inputs < 2 || stage.occurrences % inputs != 0 || !stage.ranks.empty()) return stage;
  std::vector<double> joined_ns(static_cast<std::size_t>(stage.occurrences / inputs));
  for (std::size_t i = 0; i < stage.occurrences_ns.size(); ++i)
    joined_ns.at(i / static_cast<std::size_t>(inputs)) += static_cast<double>(stage.occurrences_ns[i]);
  stage.occurrences /= inputs;
  stage.occurrences_ns.assign(joined_ns.begin(), joined_ns.end());
  const auto times_ns = describe(std::move(joined_ns), "the stage was not traced");
  if (times_ns) stage.median_ns = times_ns->median;
  if (stage.activity) {
    traced_activity activity = *stage.activity;
    activity.busy_median_ns.reset();  // it is that of a range
    activity.typical_gaps.reset();
    activity.typical_gap_ns.reset();
    stage.activity = activity;
  }
  return stage;
}

measured<traced_stage> traced_of(const run_facts& facts, const timeline_figures& timeline,
                                 const std::string& stage) {
  const auto& names = facts.bare.stages;
  const auto found = std::find(names.begin(), names.end(), stage);
  if (found == names.end()) {
    return measured<traced_stage>::absent("stage '" + stage + "' has no range of its own in a trace");
  }
  const measured<traced_stage>& traced = timeline.stages[static_cast<std::size_t>(found - names.begin())];
  return traced ? with_inputs_joined(*traced, inputs_count(facts.bare)) : traced;
}

measured<double> overhead(const bare_stage& bare, const measured<traced_stage>& traced) {
  if (!traced) return measured<double>::absent(traced.reason());
  if (!bare.time_ns) return measured<double>::absent(bare.time_ns.reason());
  if (bare.name == core::whole_process_stage)
    return measured<double>::absent(
        "a trace holds a process from its first range or launch to its last one only");
  const measured<double> ratio = quotient(traced->median_ns, bare.time_ns->median);
  return ratio ? measured<double>(*ratio - 1.0) : ratio;
}

measured<stage_counters> counters_of(const run_facts& facts, const bare_figures& bare,
                                     const std::string& stage, const measured<traced_stage>& traced) {
  static const std::vector<core::kernel_group> none;
  const std::string no_groups = !traced                         ? traced.reason()
                                : traced->kernel_groups.empty() ? traced->kernel_ns.reason()
                                                                : "";
  return analyze_counters(facts.counters, stage, facts.bare.stages, traced ? traced->kernel_groups : none,
                          no_groups, {bare.ceiling_flops_per_s, bare.ceiling_bytes_per_s});
}

/// What a stage's kernels were counted to do, where nobody says what it has to do.
void take_counted_work(const bare_facts& facts, const bare_figures& figures, const stage_counters& counters,
                       std::int64_t occurrences, bare_stage& stage) {
  const auto sum = [&](measured<double> counted_kernel::*of_launch) {
    measured<double> all(0.0);
    for (const counted_kernel& kernel : counters.kernels) {
      if (!kernel.is_in_timeline || !all) continue;
      const measured<double>& one = kernel.*of_launch;
      all = one ? measured<double>(*all + *one * static_cast<double>(kernel.group.calls)) : one;
    }
    return all ? quotient(*all, static_cast<double>(occurrences)) : all;
  };
  if (!counters.coverage_ratio || *counters.coverage_ratio <= 0) return;
  set_work(facts, figures, sum(&counted_kernel::flops), sum(&counted_kernel::dram_bytes),
           fmt::format("counters of kernels that make up {} of its GPU time; the others count as none",
                       core::format_percent(*counters.coverage_ratio)),
           stage);
}

measured<bool> logits_agree(const run_facts& facts) {
  if (!facts.bare.bench || !facts.bare.bench->logits_hash) {
    return measured<bool>::absent("the unprofiled run reported no logits hash");
  }
  std::size_t compared = 0;
  for (const core::workload_result& result : facts.profiled) {
    if (!result.logits_hash) continue;
    if (*result.logits_hash != *facts.bare.bench->logits_hash) return false;
    ++compared;
  }
  return compared > 0 ? measured<bool>(true) : measured<bool>::absent("no traced run reported a logits hash");
}

/// Of those that an expression describes, which a program need not have.
std::vector<std::string> stages_that_did_not_occur(const run_facts& facts) {
  std::vector<std::string> stages;
  if (facts.bare.bench || facts.bare.process_wall_ns.empty()) return stages;
  for (const auto& [stage, expression] : facts.stage_expressions)
    if (!facts.bare.stage_samples_ns.contains(stage)) stages.push_back(stage);
  return stages;
}

/// How often an unprofiled process went through a stage, and how long in all. Nothing: its ranges were not
/// what was timed, or processes did so a different number of times.
struct unprofiled_ranges {
  std::int64_t count = 0;
  double total_ns = 0;
};
std::optional<unprofiled_ranges> ranges_a_process(const bare_facts& bare, const std::string& stage) {
  const auto samples = bare.stage_samples_ns.find(stage);
  const bool are_ranges = !bare.stage_sources.contains(stage);  // as they are, without waits for the device
  const std::size_t processes = bare.process_wall_ns.size();
  if (samples == bare.stage_samples_ns.end() || !are_ranges || processes == 0) return std::nullopt;
  if (samples->second.size() % processes != 0) return std::nullopt;
  const double total_ns = std::accumulate(samples->second.begin(), samples->second.end(), 0.0);
  return unprofiled_ranges{static_cast<std::int64_t>(samples->second.size() / processes),
                           total_ns / static_cast<double>(processes)};
}

/// nsys loses the last ranges of a process that ends by _exit() or a signal, and says nothing. A program may
/// as well do fewer steps under a tool, when its time is up: then these take as long as the more of the
/// unprofiled run. And where only one process was timed, another stage has to show that its work is fixed.
void find_lost_ranges(const run_facts& facts, timeline_figures& timeline) {
  if (facts.bare.bench || facts.bare.has_adapter || timeline.captures.size() != 1) return;
  const capture_figures& capture = timeline.captures.front();
  if (capture.tool != "nsys" || capture.gate || !capture.part.empty() || capture.dropped_records > 0) return;
  struct lost_ranges {
    std::string stage;
    std::int64_t traced = 0;
    std::int64_t unprofiled = 0;
  };
  std::vector<lost_ranges> lost;
  bool is_work_fixed = facts.bare.process_wall_ns.size() > 1;
  for (std::size_t s = 0; s < std::min(facts.bare.stages.size(), timeline.stages.size()); ++s) {
    const auto unprofiled = ranges_a_process(facts.bare, facts.bare.stages[s]);
    const measured<traced_stage>& traced = timeline.stages[s];
    if (!unprofiled || !traced || unprofiled->total_ns <= 0) continue;
    is_work_fixed = is_work_fixed || (unprofiled->count > 1 && traced->ranges == unprofiled->count);
    if (traced->ranges >= unprofiled->count) continue;
    const double lost_ratio =
        1.0 - static_cast<double>(traced->ranges) / static_cast<double>(unprofiled->count);
    const double less_time_ratio = 1.0 - static_cast<double>(traced->range_ns) / unprofiled->total_ns;
    constexpr double most_of_it = 0.7;
    if (less_time_ratio >= most_of_it * lost_ratio)
      lost.push_back({facts.bare.stages[s], traced->ranges, unprofiled->count});
  }
  if (!is_work_fixed) return;
  for (const lost_ranges& each : lost) {
    timeline.problems.push_back(fmt::format(
        "stage '{}': the trace has {} of {}, as often as the unprofiled run went through it: nsys "
        "loses the last ranges of a process that ends by _exit() or a signal; timeline=embedded "
        "keeps them",
        each.stage, each.traced, each.unprofiled));
  }
}

/// `stages` as those of the timeline.
std::set<std::string> nested_stages(const std::vector<std::string>& stages,
                                    const timeline_figures& timeline) {
  std::set<std::string> nested;
  for (std::size_t s = 0; s < std::min(stages.size(), timeline.stages.size()); ++s)
    if (timeline.stages[s] && !timeline.stages[s]->outer_stages.empty()) nested.insert(stages[s]);
  return nested;
}

}  // namespace

measured<double> share_of_largest(const std::vector<core::kernel_record>& kernels, std::size_t top_n) {
  if (kernels.empty()) return measured<double>::absent("there are no kernels");
  double all_ns = 0;
  double largest_ns = 0;  // of a list with the largest first
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    all_ns += static_cast<double>(kernels[i].total_ns);
    if (i < top_n) largest_ns += static_cast<double>(kernels[i].total_ns);
  }
  return quotient(largest_ns, all_ns);
}

span_request spans_asked_for(const run_facts& facts) {
  return {facts.bare.stages, facts.nvtx_domain, facts.device_timed_stages};
}

run_figures analyze_run(const run_facts& facts) {
  run_figures figures;
  figures.bare = analyze_bare(facts.bare);
  figures.timeline = analyze_timelines(
      facts.captures, facts.bare.stages, facts.nvtx_domain, facts.captures_absent_reason,
      {facts.kernel_categories, facts.region_kernels, !facts.bare.bench || inputs_count(facts.bare) > 1,
       facts.device_timed_stages, facts.stage_expressions, facts.bare.has_unnamed_warm_up,
       facts.device != "cpu", stages_that_did_not_occur(facts)});
  find_lost_ranges(facts, figures.timeline);
  sum_up_stages(facts.bare, nested_stages(facts.bare.stages, figures.timeline), figures.bare);
  compare_with_summaries(facts, figures.timeline.problems);
  const std::vector<kernel_summary> summaries = summaries_without_trace(facts);
  take_kernels_of_summaries(summaries, figures.timeline);
  std::vector<std::string> kernel_names;
  for (const core::kernel_record& kernel : figures.timeline.kernels)
    kernel_names.push_back(kernel.kernel_name);
  figures.kernel_names = core::short_kernel_names(std::move(kernel_names));
  for (bare_stage& bare : all_stages(facts.bare, figures.bare)) {
    measured<traced_stage> traced = traced_of(facts, figures.timeline, bare.name);
    const measured<double> overhead_ratio = overhead(bare, traced);
    measured<stage_counters> counters = counters_of(facts, figures.bare, bare.name, traced);
    if (counters && traced && bare.use.source.empty())
      take_counted_work(facts.bare, figures.bare, *counters, traced->occurrences, bare);
    const measured<idle_figures> idle = stage_idle(bare, traced);
    const measured<step_figures> step = stage_step(bare, traced);
    const measured<double> launches = per_token(facts.bare, bare.name, traced, &traced_activity::launches);
    const measured<double> kernels = per_token(facts.bare, bare.name, traced, &traced_activity::kernels);
    std::vector<core::kernel_record> summarized = kernels_of_stage(summaries, bare.name);
    const measured<double> share =
        share_of_largest(traced ? traced->kernels : summarized, facts.top_n_kernels);
    figures.stages.push_back({std::move(bare), std::move(traced), step, overhead_ratio, idle, launches,
                              kernels, std::move(counters), share, std::move(summarized)});
  }
  figures.is_timed_by_itself = facts.bare.bench.has_value();
  for (stage_figures& stage : figures.stages) {
    if (!stage.step || !is_time_of_host(figures, stage)) continue;
    step_figures step = *stage.step;
    step.is_host_alone = *late_ratio(*stage.traced) >= most_late_ratio;
    stage.step = step;
  }
  figures.traced_logits_agree = logits_agree(facts);
  return figures;
}

}  // namespace profgate::analysis
