#include "device_activity.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/stage_operations.h"
#include "core/interrupt.h"
#include "interval_set.h"
#include "start_order.h"

namespace profgate::analysis {
namespace {

/// From the return of a launch to the kernel's start, where nothing else holds it up.
constexpr std::int64_t longest_latency_ns = 20'000;

/// A host that launches as fast as it can, in Python as well, takes tens of microseconds between launches.
/// One that takes longer than this loads a library, reads data or computes: launching faster would not help.
constexpr std::int64_t longest_launch_gap_ns = 1'000'000;

bool has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

/// What besides kernels went on, in the whole timeline.
struct surroundings {
  std::map<int, interval_set> copies;             ///< by device
  std::map<std::uint32_t, interval_set> waiting;  ///< by process: in calls that wait for the device
  std::map<std::uint32_t, interval_set> copying;  ///< by process: in calls that copy

  explicit surroundings(const core::timeline& timeline) {
    for (const core::copy_execution& copy : timeline.copies) {
      copies[copy.device].add({copy.start_ns, copy.end_ns});
    }
    for (const core::host_call& call : timeline.calls) {
      if (is_synchronisation(call)) {
        waiting[call.process_id].add({call.start_ns, call.end_ns});
      } else if (has(call.name, "Memcpy") || has(call.name, "Memset")) {
        copying[call.process_id].add({call.start_ns, call.end_ns});
      }
    }
    for (auto& [device, intervals] : copies) intervals.join();
    for (auto& [process, intervals] : waiting) intervals.join();
    for (auto& [process, intervals] : copying) intervals.join();
  }
};

/// One device in one stretch, fed with its kernels in the order of their starts.
class device_walk {
 public:
  device_walk(surroundings& around, const stage_stretch& stretch, int device, device_activity& sums,
              gap_listener* listener)
      : m_around(around),
        m_stretch(stretch),
        m_busy_until_ns(stretch.start_ns),
        m_device(device),
        m_copies(around.copies[device]),
        m_sums(sums),
        m_listener(listener) {}

  void add(const core::kernel_execution& kernel) {
    core::stop_if_interrupted();
    // Of processes that share the device the one whose kernel comes next is asked what it did meanwhile.
    if (m_waiting == nullptr || kernel.process_id != m_process_id) {
      m_process_id = kernel.process_id;
      m_waiting = &m_around.waiting[m_process_id];
      m_copying = &m_around.copying[m_process_id];
    }
    const std::int64_t start_ns = std::clamp(kernel.start_ns, m_stretch.start_ns, m_stretch.end_ns);
    const std::int64_t end_ns = std::clamp(kernel.end_ns, m_stretch.start_ns, m_stretch.end_ns);
    if (start_ns > m_busy_until_ns) explain({m_busy_until_ns, start_ns}, &kernel);
    if (end_ns > m_busy_until_ns) {
      m_own.busy_ns += end_ns - std::max(start_ns, m_busy_until_ns);
      m_busy_until_ns = end_ns;
    }
    m_last_replay = kernel.graph_node != 0 ? kernel.correlation : 0;
  }

  void finish() {
    if (m_busy_until_ns < m_stretch.end_ns) explain({m_busy_until_ns, m_stretch.end_ns}, nullptr);
    m_sums.busy_ns += m_own.busy_ns;
    m_sums.gaps += m_own.gaps;
    m_sums.stretches.push_back(m_own);
  }

 private:
  /// `next` ends the gap; null: the stretch does.
  void explain(interval gap, const core::kernel_execution* next) {
    const gap_causes causes = causes_of(gap, next);
    m_own.gaps += causes;
    if (m_listener != nullptr) m_listener->on_gap(m_device, gap.start_ns, gap.end_ns, causes);
  }

  gap_causes causes_of(interval gap, const core::kernel_execution* next) const {
    gap_causes causes;
    std::int64_t left_ns = gap.end_ns - gap.start_ns;
    const auto take = [&](std::int64_t some_ns) {
      const std::int64_t taken_ns = std::min(some_ns, left_ns);
      left_ns -= taken_ns;
      return taken_ns;
    };
    causes.copy_ns += take(m_copies.covered_ns(gap));
    const bool inside_replay = next != nullptr && m_last_replay != 0 && next->correlation == m_last_replay;
    // Without a record of its launch it looks as if launched when it starts.
    const bool launched_before =
        next != nullptr && (next->thread_id == 0 || next->launched_ns + next->call_ns <= gap.start_ns);
    if (inside_replay || launched_before) {
      // A host of which nothing is known did not launch for that long, or the trace would not be whole.
      const bool is_pause = !inside_replay && next->thread_id == 0 && left_ns > longest_launch_gap_ns;
      (is_pause ? causes.pause_ns : causes.other_ns) += left_ns;
      return causes;
    }
    if (next != nullptr) {  // a kernel that starts much later than its launch returned waits for the device
      const std::int64_t due_ns = next->launched_ns + next->call_ns + longest_latency_ns;
      causes.other_ns += take(std::max<std::int64_t>(0, gap.end_ns - std::max(due_ns, gap.start_ns)));
    }
    causes.synchronisation_ns += take(m_waiting->covered_ns(gap));
    causes.copy_ns += take(m_copying->covered_ns(gap));
    std::int64_t& cause = next == nullptr                    ? causes.after_ns
                          : left_ns <= longest_launch_gap_ns ? causes.launch_ns
                                                             : causes.pause_ns;
    cause += left_ns;
    return causes;
  }

  surroundings& m_around;
  const stage_stretch& m_stretch;
  std::int64_t m_busy_until_ns;
  stretch_activity m_own;
  std::uint32_t m_last_replay = 0;
  std::uint32_t m_process_id = 0;
  int m_device;
  const interval_set& m_copies;
  const interval_set* m_waiting = nullptr;  ///< of the last kernel's process
  const interval_set* m_copying = nullptr;
  device_activity& m_sums;
  gap_listener* m_listener;
};

}  // namespace

gap_causes& gap_causes::operator+=(const gap_causes& more) {
  launch_ns += more.launch_ns;
  pause_ns += more.pause_ns;
  synchronisation_ns += more.synchronisation_ns;
  copy_ns += more.copy_ns;
  other_ns += more.other_ns;
  after_ns += more.after_ns;
  return *this;
}

std::string idle_label(std::string_view key) {
  for (const gap_cause& cause : all_gap_causes)
    if (cause.key == key) return std::string("idle, ") + cause.name;
  throw std::out_of_range("no cause of idle time is called " + std::string(key));
}

std::map<std::pair<std::size_t, int>, device_activity> find_activity(
    const core::timeline& timeline, const std::vector<stage_stretch>& stretches,
    const std::vector<std::uint32_t>& kernel_stretches, gap_listener* listener) {
  const std::vector<core::kernel_execution>& kernels = timeline.kernels;
  std::map<std::pair<std::size_t, int>, device_activity> activities;
  surroundings around(timeline);
  std::map<std::pair<std::uint32_t, int>, device_walk> walks;  // by stretch and device
  const start_order order(kernels);
  for (std::size_t nth = 0; nth < kernels.size(); ++nth) {
    const std::uint32_t k = order[nth];
    if (kernel_stretches[k] == 0) continue;
    const std::uint32_t s = kernel_stretches[k] - 1;
    const int device = kernels[k].device;
    auto walk = walks.find({s, device});
    if (walk == walks.end()) {
      device_activity& sums = activities[{stretches[s].stage, device}];
      walk = walks.try_emplace({s, device}, around, stretches[s], device, sums, listener).first;
    }
    walk->second.add(kernels[k]);
  }
  for (auto& [key, walk] : walks) walk.finish();
  return activities;
}

}  // namespace profgate::analysis
