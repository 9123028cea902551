#pragma once

#include <string>
#include <vector>

#include "analysis/facts.h"
#include "analysis/measured.h"
#include "core/records.h"

/// What the traced runs show: which stages they hold, which operators run inside them, and which kernels
/// those launched. Shares and counts come from here; times in reports come from the bare run.
namespace profgate::analysis {

/// The range that wraps one decode step. It is neither a stage nor an operator.
inline constexpr const char* decode_step_range = "decode_step";

struct operator_figures {
  core::operator_record record;
  measured<std::int64_t> exclusive_ns;  ///< without the operators nested inside
  measured<double> share_ratio;         ///< self time on the stage's own thread over the stage's time
};

struct traced_steps {
  std::int64_t calls = 0;
  std::int64_t total_ns = 0;
};

struct traced_stage {
  std::string capture;
  std::string tool;
  std::string tool_version;
  std::int64_t occurrences = 0;
  std::int64_t duration_ns = 0;  ///< of all occurrences
  /// Time on the stage's own thread in no operator.
  std::int64_t uncovered_ns = 0;
  std::vector<operator_figures> operators;  ///< largest total first
  measured<traced_steps> steps;
  std::vector<core::kernel_record> kernels;       ///< largest total first
  std::vector<core::kernel_group> kernel_groups;  ///< the same launches, apart by grid, block and operator
  measured<std::int64_t> kernel_ns;               ///< sum over kernels; may exceed the wall on many streams
  measured<double> device_idle_ratio;             ///< share of the stage in which no kernel ran
};

struct capture_figures {
  std::string name;
  std::optional<std::string> gate;
  std::string tool;
  std::string tool_version;
  std::size_t ranges = 0;
  std::size_t open_ranges = 0;
  std::size_t kernels = 0;
  std::uint64_t dropped_records = 0;
};

struct timeline_figures {
  std::vector<measured<traced_stage>> stages;  ///< in the order of the stages asked for
  std::vector<core::kernel_record> kernels;    ///< of all stages and of what ran outside any
  std::optional<std::string> kernels_absent_reason;
  std::vector<capture_figures> captures;
  std::vector<std::string> problems;  ///< what makes the trace incomplete; empty: it is whole
};

/// Each stage is taken from one capture: the one gated on it, else the first that holds it.
timeline_figures analyze_timelines(const std::vector<capture>& captures,
                                   const std::vector<std::string>& stages, const std::string& nvtx_domain,
                                   const std::string& captures_absent_reason);

}  // namespace profgate::analysis
