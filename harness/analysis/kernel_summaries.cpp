#include "kernel_summaries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>

#include "analysis/counter_metrics.h"
#include "analysis/counters.h"
#include "findings_parts.h"

namespace profgate::analysis {
namespace {

constexpr std::int64_t rounding_ns = 1;  // summaries hold whole nanoseconds
constexpr std::size_t most_differences = 5;

struct time_and_calls {
  std::int64_t total_ns = 0;
  std::int64_t calls = 0;
};

struct difference {
  std::string_view kernel_name;
  time_and_calls summarized;
  time_and_calls traced;

  std::int64_t size_ns() const { return std::abs(summarized.total_ns - traced.total_ns); }
};

std::vector<difference> differences_of(const kernel_summary& summary, const core::timeline& timeline) {
  std::map<std::string_view, difference> by_name;
  for (const core::kernel_record& kernel : summary.kernels) {
    time_and_calls& sum = by_name[kernel.kernel_name].summarized;
    sum.total_ns += kernel.total_ns;
    sum.calls += kernel.calls;
  }
  for (const core::kernel_execution& kernel : timeline.kernels) {
    time_and_calls& sum = by_name[kernel.shape->name].traced;
    sum.total_ns += kernel.end_ns - kernel.start_ns;
    sum.calls += 1;
  }
  std::vector<difference> found;
  for (auto& [name, sums] : by_name) {
    sums.kernel_name = name;
    if (sums.size_ns() > rounding_ns || sums.summarized.calls != sums.traced.calls) found.push_back(sums);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const difference& a, const difference& b) { return a.size_ns() > b.size_ns(); });
  return found;
}

void tell_differences(const kernel_summary& summary, const std::vector<difference>& found,
                      std::vector<std::string>& problems) {
  for (std::size_t i = 0; i < std::min(found.size(), most_differences); ++i) {
    const difference& one = found[i];
    problems.push_back(fmt::format("kernel {} takes {} ns in {} calls by {}, but {} ns in {} calls by {}",
                                   short_name(std::string(one.kernel_name)), one.summarized.total_ns,
                                   one.summarized.calls, summary.name, one.traced.total_ns, one.traced.calls,
                                   summary.capture));
  }
  if (found.size() > most_differences) {
    problems.push_back(fmt::format("{} more kernels differ between {} and {}",
                                   found.size() - most_differences, summary.name, summary.capture));
  }
}

std::vector<core::kernel_record> largest_first(std::vector<core::kernel_record> kernels) {
  std::sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) {
    return std::tie(b.total_ns, a.kernel_name) < std::tie(a.total_ns, b.kernel_name);
  });
  return kernels;
}

/// Only of what was counted: each launch that was left out is missing in it.
kernel_summary summary_of_counters(const run_facts& facts) {
  using sums = std::map<std::pair<std::string, int>, core::kernel_record>;
  const auto add = [](sums& to, const core::kernel_counters& launch, double duration_ns) {
    core::kernel_record& sum = to[{launch.kernel_name, launch.device}];
    sum.kernel_name = launch.kernel_name;
    sum.device = fmt::format("cuda:{}", launch.device);
    sum.total_ns += static_cast<std::int64_t>(std::llround(duration_ns));
    sum.calls += 1;
  };
  sums all;
  std::map<std::string, sums> by_stage;
  for (const core::kernel_counters& launch : facts.counters.launches) {
    const measured<double> duration_ns = duration_ns_of(launch.metrics);
    if (!duration_ns) continue;
    add(all, launch, *duration_ns);
    const std::string stage = place_of_launch(launch.ranges, facts.bare.stages).stage;
    if (!stage.empty()) add(by_stage[stage], launch, *duration_ns);
  }
  kernel_summary summary{"the launches that were counted, and no others", "", std::nullopt};
  for (const auto& [key, kernel] : all) summary.kernels.push_back(kernel);
  for (const auto& [stage, kernels] : by_stage)
    for (const auto& [key, kernel] : kernels) summary.by_stage[stage].push_back(kernel);
  return summary;
}

}  // namespace

std::vector<kernel_summary> summaries_without_trace(const run_facts& facts) {
  if (!facts.captures.empty()) return {};
  const auto has_kernels = [](const kernel_summary& summary) { return !summary.kernels.empty(); };
  if (std::any_of(facts.kernel_summaries.begin(), facts.kernel_summaries.end(), has_kernels))
    return facts.kernel_summaries;
  return {summary_of_counters(facts)};
}

void compare_with_summaries(const run_facts& facts, std::vector<std::string>& problems) {
  for (const kernel_summary& summary : facts.kernel_summaries) {
    if (!summary.unreadable.empty()) {
      problems.push_back(
          fmt::format("its kernels could not be held against {}: {}", summary.name, summary.unreadable));
      continue;
    }
    for (const capture& source : facts.captures) {
      if (source.name == summary.capture)
        tell_differences(summary, differences_of(summary, source.timeline), problems);
    }
  }
}

void take_kernels_of_summaries(const std::vector<kernel_summary>& summaries, timeline_figures& figures) {
  std::map<std::pair<std::string, std::string>, core::kernel_record> by_name;
  std::string source;
  for (const kernel_summary& summary : summaries) {
    source += (source.empty() ? "" : ", ") + summary.name;
    for (const core::kernel_record& kernel : summary.kernels) {
      core::kernel_record& sum = by_name[{kernel.kernel_name, kernel.device}];
      sum.kernel_name = kernel.kernel_name;
      sum.device = kernel.device;
      sum.total_ns += kernel.total_ns;
      sum.calls += kernel.calls;
    }
    if (!summary.gate) break;  // it is of the whole run: another one is of the same work
  }
  if (by_name.empty()) return;
  std::vector<core::kernel_record> kernels;
  for (auto& [name, kernel] : by_name) kernels.push_back(std::move(kernel));
  figures.kernels = largest_first(std::move(kernels));
  figures.kernels_absent_reason.reset();
  figures.kernels_source = source;
}

std::vector<core::kernel_record> kernels_of_stage(const std::vector<kernel_summary>& summaries,
                                                  const std::string& stage) {
  const std::vector<core::kernel_record>* chosen = nullptr;
  for (const kernel_summary& summary : summaries) {
    const auto found = summary.by_stage.find(stage);
    if (found != summary.by_stage.end() && (chosen == nullptr || summary.gate == stage))
      chosen = &found->second;
  }
  return chosen == nullptr ? std::vector<core::kernel_record>{} : largest_first(*chosen);
}

}  // namespace profgate::analysis
