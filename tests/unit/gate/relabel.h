#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "gate/decision.h"

/// How often the decision would alarm on real runs, by giving them out anew many times.
namespace profgate::gate {

struct relabelling {
  std::size_t trials = 0;
  std::map<verdict, std::size_t> verdicts{};

  std::size_t count(verdict which) const;
};

/// Runs of one build, dealt at random to two arms that differ in nothing: each regression is a false alarm.
/// At most extended_runs + confirm_runs of each arm are needed: 40 runs are enough for every way to a
/// verdict.
relabelling relabel(const std::vector<double>& runs_ns, const decision_rules& rules, std::uint64_t seed,
                    std::size_t trials);

/// Runs of two builds, each arm in a new order every time: each regression is a slowdown found.
relabelling reorder(const arm_pair& runs, const decision_rules& rules, std::uint64_t seed,
                    std::size_t trials);

}  // namespace profgate::gate
