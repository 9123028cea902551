#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/records.h"

/// Walks a timeline once, thread by thread, in time order: O(n log n) for the sort, then linear.
namespace profgate::analysis {

/// One occurrence of a stage.
struct stage_window {
  std::size_t stage = 0;  ///< index into the stages asked for
  std::uint32_t process_id = 0;
  std::uint32_t thread_id = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// One closed range of the domain, inside a stage, that is no stage itself.
struct inner_range {
  const core::range_record* range = nullptr;
  const stage_window* window = nullptr;
  std::int64_t self_ns = 0;  ///< without what is nested inside (push/pop only)
  bool on_stage_thread = false;
  bool is_outermost = false;  ///< no operator encloses it (a decode step does not count as one)
};

struct launched_kernel {
  const core::kernel_execution* kernel = nullptr;
  const stage_window* window = nullptr;  ///< null: launched outside any stage
  /// Its window's inner ranges around its launch, outermost first; valid during the visit only.
  const std::vector<const core::range_record*>& enclosing;
};

class sweep_visitor {
 public:
  virtual ~sweep_visitor() = default;
  virtual void on_range(const inner_range& inner) = 0;
  virtual void on_kernel(const launched_kernel& launched) = 0;
};

/// Closed ranges of `domain` named like a stage, sorted by start.
std::vector<stage_window> find_windows(const core::timeline& timeline, const std::vector<std::string>& stages,
                                       const std::string& domain);

/// A range belongs to the innermost stage window of its process that contains it in time.
void sweep(const core::timeline& timeline, const std::vector<stage_window>& windows,
           const std::vector<std::string>& stages, const std::string& domain, sweep_visitor& visitor);

}  // namespace profgate::analysis
