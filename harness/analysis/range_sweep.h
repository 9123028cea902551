#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/stage_windows.h"
#include "core/records.h"
#include "nesting.h"

/// Which stage ranges and device work belong to, and between which of its ranges.
namespace profgate::analysis {

/// One closed range of the domain, inside a stage, that is no stage itself.
struct inner_range {
  const core::range_record* range = nullptr;
  const stage_window* window = nullptr;
  std::int64_t self_ns = 0;  ///< without what is nested inside (push/pop only)
  bool on_stage_thread = false;
  bool is_outermost = false;  ///< no operator encloses it (a decode step does not count as one)
  /// Its window's inner ranges around it, outermost first; valid during the visit only.
  const std::vector<const core::range_record*>& enclosing;
};

struct launched_operation {
  operation_id which;
  const stage_window* window = nullptr;  ///< null: launched outside any stage
  /// Its window's inner ranges around its launch, outermost first; valid during the visit only.
  const std::vector<const core::range_record*>& enclosing;
};

class sweep_visitor {
 public:
  virtual ~sweep_visitor() = default;
  virtual void on_range(const inner_range& inner) = 0;
  virtual void on_operation(const launched_operation& launched) = 0;
};

/// A range or launch belongs to the innermost stage window of its own thread that contains it in time. Only
/// where that thread is in no stage (a helper, or PyTorch's backward pass) a window of another thread of its
/// process takes it, that which opened last.
void sweep(const core::timeline& timeline, const std::map<thread_key, thread_work>& threads,
           const std::vector<stage_window>& windows, const std::vector<std::string>& stages,
           std::string_view domain, sweep_visitor& visitor);

}  // namespace profgate::analysis
