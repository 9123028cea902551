#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/graph_replays.h"
#include "analysis/timeline_analysis.h"
#include "device_activity.h"
#include "kernel_sums.h"
#include "range_sweep.h"

namespace profgate::analysis {

struct operator_sums {
  std::int64_t total_ns = 0;
  std::int64_t calls = 0;
  std::int64_t self_ns = 0;
  std::int64_t self_on_stage_thread_ns = 0;
  std::int64_t cuda_ns = 0;            ///< with what nested operators launched
  std::int64_t cuda_self_ns = 0;       ///< without
  std::int64_t cuda_exclusive_ns = 0;  ///< of that what its kernels did not wait for the ones before them
  std::int64_t cuda_whole_exclusive_ns = 0;  ///< the same with what nested operators launched
  std::int64_t replayed_calls = 0;           ///< by a graph: the host ran through no range
  bool has_start_end = false;
  bool on_stage_thread = false;
};

/// What one process asked of one device.
struct place_sums {
  std::int64_t kernels = 0;
  std::int64_t kernel_ns = 0;
  std::int64_t exclusive_ns = 0;
  std::int64_t launches = 0;
  std::int64_t launch_call_ns = 0;
  std::int64_t copies = 0;
  std::int64_t copy_ns = 0;
  std::int64_t copy_bytes = 0;
  std::int64_t pageable_copies = 0;
  std::int64_t pageable_ns = 0;
};

/// Everything that is summed over one stage while its capture is swept.
class stage_sums {
 public:
  void add_range(const inner_range& inner);
  /// The kernel's operators as the ranges around its launch tell them, or those of the graph that it was
  /// replayed from: of `replayed` the first `shared` go on since the node before it. Returns the innermost of
  /// them, a text of the timeline's; empty: none.
  std::string_view add_kernel(const core::kernel_execution& kernel,
                              const std::vector<const core::range_record*>& enclosing,
                              std::int64_t exclusive_ns, const graph_attribution::path& replayed,
                              std::uint32_t shared);
  /// Its operators are told as those of a kernel.
  void add_copy(const core::copy_execution& copy, const std::vector<const core::range_record*>& enclosing,
                const graph_attribution::path& replayed);

  traced_steps steps;
  std::int64_t covered_ns = 0;
  kernel_sums kernels;
  std::map<std::pair<std::uint32_t, int>, place_sums> places;  ///< by process and device
  std::map<int, device_activity> activities;                   ///< by device that ran kernels
  std::vector<kernel_neighbours> neighbours{};
  std::unordered_map<std::string_view, operator_sums> operators;
  /// Of operators, with what nested ones asked for. Beside `operators`: a copy alone makes none.
  std::unordered_map<std::string_view, std::int64_t> operator_copies_ns;
  std::int64_t synchronisations = 0;
  std::int64_t late_ns = 0;  ///< of its kernels' time, after the end of the range around their launch
  std::int64_t unlaunched_kernels = 0;  ///< of no operator: who launched them is not recorded
  std::int64_t unseen_kernels = 0;      ///< replayed from a graph whose capture was not recorded
  std::string unsound;                  ///< why kernels of this stage cannot be summed; empty: they can

 private:
  place_sums& place_of(std::uint32_t process_id, int device);

  std::uint64_t m_last_launch = 0;
  std::pair<std::uint32_t, int> m_last_place{};
  place_sums* m_last_sums = nullptr;  ///< of m_last_place: most come from where the last one came
};

/// The stage's figures from its sums. `windows`: of the capture; `stage`: which of them.
traced_stage finish_stage(const std::string& name, const capture& source,
                          const std::vector<stage_window>& windows, std::size_t stage,
                          std::int64_t occurrences, const stage_sums& sums, const category_rules& categories);

/// What keeps kernels out of a capture; nothing: it has some.
std::optional<std::string> kernels_absent(const core::timeline& timeline);

inline constexpr const char* empty_trace_reason = "the trace holds no kernels";

}  // namespace profgate::analysis
