#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "arm_sums.h"
#include "gate/attribution.h"
#include "gate/matching.h"

/// Which operation is launched behind which in a stage, by their first starts.
namespace profgate::gate {

std::vector<launched> launch_order_of(const arm_sums& arm);

/// Those of both arms, with what is the same operation in both.
class launch_orders {
 public:
  launch_orders(const group_matches& matches, const arm_sums& baseline, const arm_sums& candidate);

  /// What of all that is new and gone is one story has one key: what is under one operator, and where a
  /// program names none, what comes behind one and the same operation.
  std::string story_in_baseline(const operation_group& group) const;
  std::string story_in_candidate(const operation_group& group) const;

  /// Of kernels that began before the one ahead of them had ended and now wait for it, or the other way
  /// round. Where another operation is ahead of them than before, that is why, and they are `behind` it; else
  /// it is a change of their own.
  void tell_early_launches(const group_match& match, cause& story) const;

 private:
  struct one_arm {
    std::vector<launched> order{};
    std::map<operation_key, std::size_t> match{};  ///< the number of its match, of those that have one
    const operation_key* ahead_of(const operation_key& key) const;
    std::string story_of(const operation_group& group) const;
  };

  one_arm m_baseline;
  one_arm m_candidate;
  bool m_tell_starts;
};

/// Whether one is launched next to the other, or next but one; also around the end of a layer. Known of what
/// is launched as often; all others are, and so are those of an attribution without an order, as a file has
/// it.
bool are_neighbours(const attribution& result, const cause& a, const cause& b);

}  // namespace profgate::gate
