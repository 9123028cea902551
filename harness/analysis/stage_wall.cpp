#include "stage_wall.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "analysis/statistics.h"

namespace profgate::analysis {
namespace {

/// The stretch of a stage that may go on.
struct open_stretch {
  std::optional<std::uint32_t> index;
  std::map<std::uint32_t, std::int64_t> windows{};  ///< by process
  std::int64_t occurrences = 0;                     ///< the most that one process had
};

}  // namespace

stage_stretches find_stretches(const std::vector<stage_window>& windows, std::size_t stages) {
  stage_stretches result;
  result.of_window.reserve(windows.size());
  result.occurrences.assign(stages, 0);
  std::vector<open_stretch> open(stages);
  for (const stage_window& window : windows) {
    if (!window.is_counted()) {
      result.of_window.push_back(0);
      continue;
    }
    open_stretch& last = open[window.stage];
    // One that begins where the last ended follows it.
    if (!last.index || window.device_start_ns >= result.all[*last.index].end_ns) {
      last = {static_cast<std::uint32_t>(result.all.size())};
      result.all.push_back({window.stage, window.device_start_ns, window.device_end_ns});
    }
    stage_stretch& stretch = result.all[*last.index];
    stretch.end_ns = std::max(stretch.end_ns, window.device_end_ns);
    result.of_window.push_back(*last.index);
    if (++last.windows[window.process_id] > last.occurrences) {
      last.occurrences += 1;
      result.occurrences[window.stage] += 1;
    }
  }
  return result;
}

stage_nesting find_nesting(const std::vector<stage_window>& windows, std::size_t stages) {
  stage_nesting nesting{std::vector<bool>(stages), std::vector<std::vector<std::size_t>>(stages)};
  std::vector<std::set<std::size_t>> outer(stages);
  std::vector<bool> runs_beside(stages);
  std::map<std::uint32_t, std::vector<std::int64_t>> open_until_ns;  // by process and stage
  for (const stage_window& window : windows) {
    std::vector<std::int64_t>& until_ns = open_until_ns.try_emplace(window.process_id, stages).first->second;
    bool is_inside = false;
    for (std::size_t s = 0; s < stages; ++s) {
      if (s == window.stage || until_ns[s] < window.end_ns) continue;
      nesting.holds_others[s] = true;
      outer[window.stage].insert(s);
      is_inside = true;
    }
    if (!is_inside) runs_beside[window.stage] = true;
    until_ns[window.stage] = std::max(until_ns[window.stage], window.end_ns);
  }
  for (std::size_t s = 0; s < stages; ++s)
    if (!runs_beside[s]) nesting.outer_stages[s].assign(outer[s].begin(), outer[s].end());
  return nesting;
}

void mark_repeats(std::vector<stage_window>& windows, std::size_t stages) {
  const stage_stretches stretches = find_stretches(windows, stages);
  std::vector<std::optional<std::uint32_t>> first(stages);
  for (std::size_t w = 0; w < windows.size(); ++w) {
    std::optional<std::uint32_t>& stretch = first[windows[w].stage];
    if (!stretch) stretch = stretches.of_window[w];
    windows[w].is_repeat = stretches.of_window[w] != *stretch;
  }
}

void mark_warm_up(std::vector<stage_window>& windows) {
  std::map<std::pair<std::uint32_t, std::size_t>, std::vector<stage_window*>> by_process_and_stage;
  for (stage_window& window : windows)
    if (!window.is_repeat) by_process_and_stage[{window.process_id, window.stage}].push_back(&window);
  for (auto& [place, own] : by_process_and_stage) {
    std::vector<double> durations_ns;
    for (const stage_window* window : own)
      durations_ns.push_back(static_cast<double>(window->end_ns - window->start_ns));
    const std::size_t cold = cold_samples(*describe(durations_ns, ""));
    for (std::size_t i = 0; i < cold; ++i) own[i]->is_warm_up = true;
  }
}

void wall_clock::add(const stage_window& window) {
  const std::int64_t from_ns =
      m_windows == 0 ? window.device_start_ns : std::max(window.device_start_ns, m_until_ns);
  m_wall_ns += std::max<std::int64_t>(0, window.device_end_ns - from_ns);
  m_until_ns = m_windows == 0 ? window.device_end_ns : std::max(m_until_ns, window.device_end_ns);
  m_windows += 1;
}

}  // namespace profgate::analysis
