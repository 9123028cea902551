#pragma once

#include <cstddef>
#include <vector>

/// Where a history of a stage's times changed level.
namespace profgate::gate {

struct change_point_rules {
  std::size_t min_history = 10;  ///< commits
  std::size_t min_segment = 4;   ///< commits on each side; the table of critical values holds for 4
  double min_ratio = 0.01;       ///< a smaller shift is none
};

/// The level changed with entry `index`.
struct change_point {
  std::size_t index = 0;
  double shift_ratio = 0;  ///< Hodges–Lehmann between the segments on both sides; above zero: slower
  double statistic = 0;    ///< standardised rank sum of the split that found it
};

/// `ratios`: a commit's time over that of a pinned anchor build, oldest first, above zero. Each level is
/// tried at every split; the largest standardised rank sum counts if chance reaches it in at most one of
/// 1,000 histories of that length. Then both sides in the same way. Points whose shift is too small go again.
std::vector<change_point> find_change_points(const std::vector<double>& ratios,
                                             const change_point_rules& rules = {});

/// The largest |standardised rank sum| over all splits that leave 4 on each side, for values given by their
/// ranks (1 … n, means for ties). For the program that makes the table, and for tests.
struct best_split {
  std::size_t index = 0;
  double statistic = 0;
};
best_split find_best_split(const std::vector<double>& ranks, std::size_t min_segment);

/// What chance reaches in at most one of 1,000 histories of `length`; infinite where nothing is that rare.
double critical_statistic(std::size_t length);

}  // namespace profgate::gate
