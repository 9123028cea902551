#include "analysis/stage_windows.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/stage_names.h"
#include "window_cover.h"

namespace profgate::analysis {
namespace {

/// By when a process's devices were through with all that it had asked of them up to a moment.
class device_progress {
 public:
  explicit device_progress(const core::timeline& timeline) {
    add_all(timeline.kernels);
    add_all(timeline.copies);
    add_all(timeline.opaque_graphs);
    for (auto& [process, ends] : m_ends) {
      std::sort(ends.begin(), ends.end());
      std::int64_t latest_ns = 0;
      for (auto& [launched_ns, end_ns] : ends) end_ns = latest_ns = std::max(latest_ns, end_ns);
    }
  }

  /// Of what was launched before `time_ns`; 0: nothing was.
  std::int64_t through_ns(std::uint32_t process_id, std::int64_t time_ns) const {
    const auto ends = m_ends.find(process_id);
    if (ends == m_ends.end()) return 0;
    const auto after =
        std::lower_bound(ends->second.begin(), ends->second.end(), std::pair(time_ns, std::int64_t{0}));
    return after == ends->second.begin() ? 0 : std::prev(after)->second;
  }

 private:
  template <typename execution>
  void add_all(const std::vector<execution>& works) {
    for (const execution& work : works) m_ends[work.process_id].emplace_back(work.launched_ns, work.end_ns);
  }

  /// By process: launched, and the latest end of all that was launched by then.
  std::map<std::uint32_t, std::vector<std::pair<std::int64_t, std::int64_t>>> m_ends;
};

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Of what each process launched in its windows.
class launch_counter {
 public:
  explicit launch_counter(const std::vector<stage_window>& windows) {
    std::vector<const stage_window*> in_order;
    for (const stage_window& window : windows) in_order.push_back(&window);
    std::stable_sort(in_order.begin(), in_order.end(),
                     [](const stage_window* a, const stage_window* b) { return a->start_ns < b->start_ns; });
    for (const stage_window* window : in_order)
      m_processes[window->process_id].cover.add(window->start_ns, window->end_ns);
  }

  template <typename execution>
  void count(const std::vector<execution>& works) {
    for (const execution& work : works) {
      const auto process = m_processes.find(work.process_id);
      if (process != m_processes.end() && process->second.cover.holds(work.launched_ns, work.launched_ns))
        process->second.launched += 1;
    }
  }

  /// The lowest number of those that launched most.
  std::uint32_t busiest() const {
    return std::max_element(
               m_processes.begin(), m_processes.end(),
               [](const auto& a, const auto& b) { return a.second.launched < b.second.launched; })
        ->first;
  }

  bool is_alone() const { return m_processes.size() == 1; }

 private:
  struct process_launches {
    window_cover cover{};
    std::int64_t launched = 0;
  };
  std::map<std::uint32_t, process_launches> m_processes;
};

}  // namespace

const stage_window& telling_window(const core::timeline& timeline, const std::vector<stage_window>& windows) {
  launch_counter counter(windows);
  if (counter.is_alone()) return windows.back();
  counter.count(timeline.kernels);
  counter.count(timeline.copies);
  counter.count(timeline.opaque_graphs);
  const std::uint32_t busiest = counter.busiest();
  return *std::find_if(windows.rbegin(), windows.rend(),
                       [&](const stage_window& window) { return window.process_id == busiest; });
}

std::vector<stage_window> find_windows(const core::timeline& timeline, const std::vector<std::string>& stages,
                                       std::string_view domain, const std::vector<std::string>& on_device) {
  std::vector<std::pair<const core::range_record*, std::size_t>> found;  // with its stage
  for (const core::range_record& range : timeline.ranges) {
    if (!range.end_ns || range.domain != domain) continue;
    const auto stage = std::find(stages.begin(), stages.end(), range.name);
    if (stage != stages.end()) found.emplace_back(&range, static_cast<std::size_t>(stage - stages.begin()));
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first->start_ns, *b.first->end_ns) < std::tie(b.first->start_ns, *a.first->end_ns);
  });
  std::vector<stage_window> windows;
  std::map<std::tuple<std::size_t, std::uint32_t, std::uint32_t>, std::int64_t> open_until_ns;
  for (const auto& [range, stage] : found) {
    if (range->style == core::range_style::push_pop) {
      std::int64_t& outer_end_ns =
          open_until_ns.try_emplace({stage, range->process_id, range->thread_id}, range->start_ns)
              .first->second;
      if (range->start_ns < outer_end_ns) continue;
      outer_end_ns = *range->end_ns;
    }
    windows.push_back({stage, range->process_id, range->thread_id, range->start_ns, *range->end_ns,
                       range->start_ns, *range->end_ns, false});
    windows.back().is_of_no_thread =
        range->style == core::range_style::start_end || stages[stage] == core::whole_process_stage;
  }
  if (on_device.empty()) return windows;
  const device_progress devices(timeline);
  for (stage_window& window : windows) {
    if (!contains(on_device, stages[window.stage])) continue;
    window.device_end_ns = std::max(window.end_ns, devices.through_ns(window.process_id, window.end_ns));
    window.device_start_ns =
        std::max(window.start_ns, devices.through_ns(window.process_id, window.start_ns));
  }
  return windows;
}

}  // namespace profgate::analysis
