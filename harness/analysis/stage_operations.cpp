#include "analysis/stage_operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "analysis/exclusive_time.h"
#include "core/error.h"
#include "interval_set.h"

namespace profgate::analysis {
namespace {

using sums_by_name = std::map<std::pair<std::string_view, std::string_view>, operation_sum>;

void refuse_impossible(const stage_trace& trace) {
  const auto refuse = [](const std::string& what) {
    throw core::bad_input("a trace cannot be attributed: " + what, "trace again; the tool's file is broken");
  };
  if (trace.end_ns < trace.start_ns) refuse("its stage ends before it starts");
  if (trace.end_ns - trace.start_ns > std::numeric_limits<std::int64_t>::max() / units_per_ns) {
    refuse("its stage is longer than three hours");
  }
  for (const operation& one : trace.operations) {
    if (one.end_ns < one.start_ns) refuse(fmt::format("{} ends before it starts", one.name));
  }
}

/// Finds what a device was idle for. By what comes next, where device_activity.h asks what went on meanwhile:
/// the parts of two builds are subtracted, and a gap must not change its cause because a copy beside it
/// moved.
class idle_explainer {
 public:
  explicit idle_explainer(const stage_trace& trace) {
    for (const host_wait& wait : trace.waits) m_waits.add({wait.start_ns, wait.end_ns});
    m_waits.join();
  }

  /// `next` ends the gap; null: the stage does.
  void explain(interval gap, const operation* next, bool was_busy, idle_times& idle) const {
    const auto add = [&](idle_cause cause, std::int64_t some_ns) {
      idle.by_cause_ns[static_cast<std::size_t>(cause)] += some_ns;
    };
    const std::int64_t gap_ns = gap.end_ns - gap.start_ns;
    if (next == nullptr) {
      add(was_busy ? idle_cause::synchronisation : idle_cause::host, gap_ns);
    } else if (next->is_copy) {
      add(idle_cause::copy, gap_ns);
    } else {
      const std::int64_t waited_ns = m_waits.covered_ns(gap);
      add(idle_cause::synchronisation, waited_ns);
      add(idle_cause::launch, gap_ns - waited_ns);
    }
  }

 private:
  interval_set m_waits;
};

/// One occurrence: its operations in the order of their starts, cut to the window.
class occurrence_sums {
 public:
  explicit occurrence_sums(const stage_trace& trace) : m_trace(trace), m_order(trace.operations.size()) {
    std::iota(m_order.begin(), m_order.end(), 0U);
    std::stable_sort(m_order.begin(), m_order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return trace.operations[a].start_ns < trace.operations[b].start_ns;
    });
  }

  void add_operations(sums_by_name& sums) const {
    exclusive_time_sweep sweep(m_trace.operations.size());
    for (const std::uint32_t i : m_order) {
      const operation& one = m_trace.operations[i];
      sweep.add(i, {0, one.device, one.stream}, cut(one.start_ns), cut(one.end_ns));
    }
    const std::vector<std::int64_t> exclusive_units = sweep.take();
    for (std::size_t i = 0; i < m_trace.operations.size(); ++i) {
      const operation& one = m_trace.operations[i];
      const std::int64_t at_ns = cut(one.start_ns) - m_trace.start_ns;
      const auto [found, is_new] = sums.try_emplace({one.name, one.path});
      operation_sum& sum = found->second;
      if (is_new) {
        sum.name = one.name;
        sum.operator_path = one.path;
        sum.category = one.is_copy ? "copy" : one.category.empty() ? "other" : one.category;
        sum.first_at_ns = at_ns;
      }
      sum.first_at_ns = std::min(sum.first_at_ns, at_ns);
      sum.launches += 1;
      sum.total_ns += one.end_ns - one.start_ns;
      sum.exclusive_units += exclusive_units[i];
    }
  }

  /// Each device has the whole stage's time; what it was not busy in, it was idle for a reason.
  void add_times(stage_times& times) const {
    std::map<int, std::vector<const operation*>> by_device;
    for (const std::uint32_t i : m_order) {
      by_device[m_trace.operations[i].device].push_back(&m_trace.operations[i]);
    }
    if (by_device.empty()) by_device[0];
    const idle_explainer idle(m_trace);
    for (const auto& [device, operations] : by_device) {
      times.occurrences += 1;
      times.time_ns += m_trace.end_ns - m_trace.start_ns;
      std::int64_t busy_until_ns = m_trace.start_ns;
      bool was_busy = false;
      for (const operation* one : operations) {
        const std::int64_t start_ns = cut(one->start_ns);
        const std::int64_t end_ns = cut(one->end_ns);
        if (start_ns == end_ns) continue;
        if (start_ns > busy_until_ns) idle.explain({busy_until_ns, start_ns}, one, was_busy, times.idle);
        busy_until_ns = std::max(busy_until_ns, end_ns);
        was_busy = true;
      }
      if (busy_until_ns < m_trace.end_ns) {
        idle.explain({busy_until_ns, m_trace.end_ns}, nullptr, was_busy, times.idle);
      }
    }
  }

 private:
  std::int64_t cut(std::int64_t at_ns) const { return std::clamp(at_ns, m_trace.start_ns, m_trace.end_ns); }

  const stage_trace& m_trace;
  std::vector<std::uint32_t> m_order;
};

}  // namespace

std::string to_text(idle_cause cause) {
  switch (cause) {
    case idle_cause::launch:
      return "launch";
    case idle_cause::synchronisation:
      return "synchronisation";
    case idle_cause::copy:
      return "copy";
    case idle_cause::host:
      return "host";
  }
  return "";
}

stage_operations sum_up(const std::vector<stage_trace>& occurrences) {
  stage_operations stage;
  stage.times.emplace();
  sums_by_name sums;
  for (const stage_trace& trace : occurrences) {
    refuse_impossible(trace);
    const occurrence_sums occurrence(trace);
    occurrence.add_operations(sums);
    occurrence.add_times(*stage.times);
  }
  for (auto& [key, sum] : sums) stage.operations.push_back(std::move(sum));
  return stage;
}

}  // namespace profgate::analysis
