#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analysis/stage_windows.h"

/// How long a stage took by the clock on the wall. Ranks run it at the same time, each in a process of its
/// own: an instant counts once, however many of them are in the stage.
namespace profgate::analysis {

/// From the start of an occurrence to where none that overlaps it is left: one occurrence where a program
/// runs alone.
struct stage_stretch {
  std::size_t stage = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

struct stage_stretches {
  std::vector<stage_stretch> all{};         ///< in the order of their starts
  std::vector<std::uint32_t> of_window{};   ///< by window: its stretch
  std::vector<std::int64_t> occurrences{};  ///< by stage: ranks that run it together do so once
};

/// `windows` as find_windows() leaves them: earliest start first.
stage_stretches find_stretches(const std::vector<stage_window>& windows, std::size_t stages);

/// By stage, of windows in the same process. Threads that are in different stages at once nest nothing, even
/// where a short one falls into a long one every time. A window is inside of those of its own thread; what
/// belongs to no thread holds a stage of any if all of that stage's other windows lie in it.
struct stage_nesting {
  /// Another one has a window in the time of one of its windows, on whatever thread: its device does not
  /// idle.
  std::vector<bool> holds_others;
  /// Those in whose windows all of its own lie; empty: it runs beside others.
  std::vector<std::vector<std::size_t>> outer_stages;
};
stage_nesting find_nesting(const std::vector<stage_window>& windows, std::size_t stages);

/// nsys ends a recording that a range opened with the range's first occurrence; the embedded collector goes
/// on at the next one. So that both tell the same, later ones are marked.
void mark_repeats(std::vector<stage_window>& windows, std::size_t stages);

/// The first occurrences of a stage in a process, where they take several times as long as the others.
void mark_warm_up(std::vector<stage_window>& windows);

/// Sums windows that come in the order of their starts.
class wall_clock {
 public:
  void add(const stage_window& window);
  std::int64_t wall_ns() const { return m_wall_ns; }  ///< any of them was open
  std::int64_t windows() const { return m_windows; }

 private:
  std::int64_t m_until_ns = 0;
  std::int64_t m_wall_ns = 0;
  std::int64_t m_windows = 0;
};

}  // namespace profgate::analysis
