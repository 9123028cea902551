#pragma once

#include <string>
#include <vector>

#include "arm_sums.h"
#include "gate/attribution.h"
#include "gate/exact_gates.h"
#include "gate/matching.h"

/// What a difference consists of: a part for each operation, and for each cause of idle time. Together they
/// are the difference.
namespace profgate::gate {

/// What an operation, or idle time of one kind, has to do with the difference, before it is scaled.
struct part {
  double busy_ns = 0;     ///< difference of what the device did
  double waiting_ns = 0;  ///< difference of what it idled; a tracer stretches it
  cause story{};

  double traced_ns() const { return busy_ns + waiting_ns; }
};

struct side {
  double launches = 0;
  double busy_ns = 0;
  double waiting_ns = 0;  ///< without latency_ns
  double latency_ns = 0;  ///< the launch's: see analysis::operation_sum
  double lasting_ns = 0;  ///< from start to end of each
  double total_ns() const { return busy_ns + waiting_ns; }
  double each_ns() const { return launches > 0 ? total_ns() / launches : 0; }
};

side side_of(const arm_sums& arm, const std::vector<operation_group>& groups);

/// The operator of all of them; empty: they have several.
std::string path_of(const std::vector<operation_group>& groups);

/// A story for each operation that both have. Under one operator what is new belongs to what is gone: kernels
/// are fused, split and exchanged.
std::vector<part> parts_of(const group_matches& matches, const arm_sums& baseline, const arm_sums& candidate);

/// Between two kernels of which the second had been asked for the device idles, too. That stays the second
/// one's where the device runs dry before it is asked for: only what it then waits longer is the launch's.
void keep_own_waits(const arm_sums& baseline, const arm_sums& candidate, group_matches& matches);

/// What the device idled and no operation had been asked for, or was on its way.
void add_idle(const group_matches& matches, const arm_sums& baseline, const arm_sums& candidate,
              std::vector<part>& parts);

/// A host that waits for the device more often than before no longer runs ahead of it: what the device then
/// idles, for the host's work and until each launch arrives, follows from it and is one part.
void join_lost_lead(const exact_comparison& exact, std::vector<part>& parts);

}  // namespace profgate::gate
