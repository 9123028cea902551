#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gate/attribution.h"

/// Traces summed up by kernel and operator. It is all that attribution looks at, and small enough to be kept
/// beside the times of a build: so causes can be named long after a trace is gone.
namespace profgate::gate {

/// Time that is shared between operations is kept in units of 1/720720 ns, the least common multiple of
/// 1 … 16: up to 16 operations share an instant without a rest.
inline constexpr std::int64_t units_per_ns = 720'720;

/// All operations of one name under one path, in one stage of one traced process.
struct operation_sum {
  std::string name{};  ///< demangled, whole
  std::string operator_path{};
  std::string
      category{};  ///< "copy": a copy or memset; "host": an operator's range, where there are no kernels
  std::int64_t launches = 0;
  std::int64_t total_ns = 0;      ///< from start to end of each
  std::int64_t shared_units = 0;  ///< its part of the busy time
  std::int64_t first_at_ns = 0;   ///< of its first start from the stage's: the launch order
};

/// When the device did nothing, and in which time.
struct stage_idle {
  std::int64_t occurrences = 0;  ///< of the stage in the process: all other numbers are sums over them
  std::int64_t time_ns = 0;
  idle_times idle{};
};

/// One stage of one traced process.
struct traced_stage {
  std::optional<stage_idle> times{};  ///< nothing: run sets of schema 1.0 hold durations alone
  std::vector<operation_sum> operations{};
};

/// `occurrences` are those of one process.
traced_stage sum_up(const std::vector<stage_trace>& occurrences);

/// As attribute() of the traces themselves, less than a nanosecond an operation apart where the sums went
/// through a file. Throws core::bad_input where an arm is empty or its times are not known.
attribution attribute(const std::vector<traced_stage>& baseline, const std::vector<traced_stage>& candidate,
                      std::optional<double> bare_difference_ns = std::nullopt);

}  // namespace profgate::gate
