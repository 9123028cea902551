#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts.h"
#include "core/records.h"

/// A trace as rows of spans, as a viewer draws it: what overlaps lies in rows of its own.
namespace profgate::analysis {

enum class track_kind {
  ranges,     ///< of one domain on one thread; start/end ranges, which may overlap, in rows of their own
  calls,      ///< of one thread into CUDA
  operators,  ///< what a device worked for: one operator after the other
  stream,     ///< kernels, copies and memsets
  idle,       ///< of a device inside of stages, by what it waited for
};

/// A row. Kernels that were launched early, and wait for the one before, overlap it: each lane is a row.
struct track {
  track_kind kind = track_kind::ranges;
  std::uint32_t process_id = 0;
  std::uint32_t thread_id = 0;  ///< of ranges and calls
  std::string_view domain{};    ///< of ranges
  int device = 0;               ///< of the others
  std::uint32_t stream = 0;     ///< of a stream
  std::uint32_t lane = 0;
};

/// Texts live as long as the trace.
struct trace_span {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::string_view name{};
  std::string_view op{};  ///< the innermost operator of a kernel or copy
  std::string_view stage{};
  const core::kernel_shape* shape = nullptr;  ///< of a kernel
  /// The same of a call and of the first thing that it started, unique in the trace; 0: one of both is not
  /// there.
  std::uint64_t flow = 0;
};

/// Rows are told before their first span; the spans of one row come in the order of their starts, a range
/// before what it encloses, and else overlap nothing.
class span_visitor {
 public:
  virtual ~span_visitor() = default;
  virtual void on_track(std::size_t index, const track& row) = 0;
  virtual void on_span(std::size_t index, const trace_span& one) = 0;
};

struct span_request {
  std::vector<std::string> stages{};
  std::string domain{};
  std::vector<std::string> device_timed_stages{};  ///< see find_windows()
};

/// That of a run's captures.
span_request spans_asked_for(const run_facts& facts);

void visit_spans(const core::timeline& timeline, const span_request& request, span_visitor& visitor);

}  // namespace profgate::analysis
