#pragma once

#include <string>
#include <vector>

#include "analysis/facts.h"
#include "analysis/measured.h"
#include "core/kernel_names.h"

/// One prefill and one decode step, bounded, for a picture: what the host and the devices did side by side.
namespace profgate::analysis {

struct strip_span {
  std::int64_t start_ns = 0;  ///< from the strip's start
  std::int64_t duration_ns = 0;
  std::string name{};  ///< "3 short kernels": too short to be drawn one by one; of idle time its cause
  /// How much of its duration is what it is called: less where it stands for several. Those of other kinds
  /// among them have a span of their own, of the same start and duration.
  std::int64_t own_ns = 0;
  std::int64_t count = 1;  ///< that it stands for
};

/// How copies are called that are drawn as one span: "3 short copies".
inline constexpr const char* short_copies = "short copies";

struct strip_row {
  std::string kind{};  ///< "ranges", "calls", "operators", "stream" or "idle"
  std::string label{};
  bool is_further_lane = false;  ///< of a stream whose work overlaps: not its first row
  std::vector<strip_span> spans{};
};

struct timeline_strip {
  std::string what{};  ///< "prefill", "decode_step"
  std::string capture{};
  std::int64_t duration_ns = 0;
  std::int64_t earlier = 0;  ///< occurrences before the one that is shown
  std::int64_t occurrences = 1;
  std::vector<strip_row> rows{};
};

/// Of each stage one occurrence, of a stage of decode steps one step; nothing where there is no trace of it.
/// It is the one whose length is nearest to their median; where several processes run it, of the slowest,
/// whose time is that of a step. Kernels are called as the run's reports do.
std::vector<timeline_strip> find_strips(const run_facts& facts, const core::short_kernel_names& kernel_names);

}  // namespace profgate::analysis
