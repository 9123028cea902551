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

/// Until when a window of each stage is open.
class open_windows {
 public:
  explicit open_windows(std::size_t stages) : m_until_ns(stages) {}

  void open(const stage_window& window) {
    m_until_ns[window.stage] = std::max(m_until_ns[window.stage], window.end_ns);
  }
  /// The other stages that are open for as long as `window`, which begins now.
  std::set<std::size_t> around(const stage_window& window) const {
    std::set<std::size_t> stages;
    for (std::size_t s = 0; s < m_until_ns.size(); ++s)
      if (s != window.stage && m_until_ns[s] >= window.end_ns) stages.insert(s);
    return stages;
  }

 private:
  std::vector<std::int64_t> m_until_ns;
};

void keep_common(std::set<std::size_t> more, std::optional<std::set<std::size_t>>& common) {
  if (!common)
    common = std::move(more);
  else
    std::erase_if(*common, [&](std::size_t one) { return !more.contains(one); });
}

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
  std::vector<std::optional<std::set<std::size_t>>> shared(
      stages);  // around each that is in none of its thread
  std::map<std::uint32_t, open_windows> of_process;
  std::map<std::uint32_t, open_windows> of_no_thread;  // by process, too
  std::map<std::pair<std::uint32_t, std::uint32_t>, open_windows> of_thread;
  for (const stage_window& window : windows) {
    open_windows& process = of_process.try_emplace(window.process_id, stages).first->second;
    open_windows& no_thread = of_no_thread.try_emplace(window.process_id, stages).first->second;
    open_windows& thread = of_thread.try_emplace({window.process_id, window.thread_id}, stages).first->second;
    for (const std::size_t s : process.around(window)) nesting.holds_others[s] = true;
    const std::set<std::size_t> own = thread.around(window);
    outer[window.stage].insert(own.begin(), own.end());
    if (own.empty()) keep_common(no_thread.around(window), shared[window.stage]);
    process.open(window);
    thread.open(window);
    if (window.is_of_no_thread) no_thread.open(window);
  }
  for (std::size_t s = 0; s < stages; ++s) {
    if (shared[s] && shared[s]->empty()) continue;
    if (shared[s]) outer[s].insert(shared[s]->begin(), shared[s]->end());
    nesting.outer_stages[s].assign(outer[s].begin(), outer[s].end());
  }
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
