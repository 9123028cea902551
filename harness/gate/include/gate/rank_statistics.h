#pragma once

#include <cstddef>
#include <optional>
#include <vector>

/// The rank statistics of the gate. They ask nothing of the noise but that both arms have the same; the
/// null distribution is counted, not approximated, while arms are small.
namespace profgate::gate {

/// The Mann–Whitney U of two samples of one distribution without ties: how often each value occurs among
/// all orders of baseline + candidate runs.
class rank_null {
 public:
  /// Beyond `most_counted_pairs` pairs of runs counting takes too long, and in the end more than a double
  /// holds; the normal distribution with Edgeworth's correction is then as good as exact.
  rank_null(std::size_t baseline_runs, std::size_t candidate_runs, std::size_t most_counted_pairs = 20'000);

  /// P(U ≤ u).
  double p_at_most(std::size_t u) const;

  /// The largest u with P(U ≤ u) ≤ alpha; nothing where even u = 0 is too likely.
  std::optional<std::size_t> critical_u(double alpha) const;

 private:
  std::vector<double> m_p_at_most;  ///< by u, 0 … baseline_runs · candidate_runs
};

/// All log ratios ln(candidate / baseline) of two arms, and what follows from their order.
class log_ratios {
 public:
  /// Both arms hold times above zero, in any unit but the same; else bad_input.
  log_ratios(const std::vector<double>& baseline, const std::vector<double>& candidate);

  double hodges_lehmann() const;  ///< the median: the shift between the arms
  std::size_t u_slower() const;   ///< how many are ≤ 0; few: the candidate is slower. Ties speak against it
  std::size_t u_faster() const;   ///< how many are ≥ 0
  double p_slower() const { return m_null.p_at_most(u_slower()); }
  double p_faster() const { return m_null.p_at_most(u_faster()); }

  /// One-sided bounds of the shift, each true with 1 − alpha; nothing where the arms are too small for it.
  std::optional<double> lower_bound(double alpha) const;
  std::optional<double> upper_bound(double alpha) const;

 private:
  std::vector<double> m_sorted;
  rank_null m_null;
};

/// The shift alone, for arms too long to count their null distribution.
double hodges_lehmann(const std::vector<double>& baseline, const std::vector<double>& candidate);

/// ln(1 + ratio): margins are written as ratios (0.02) and compared as log ratios.
double to_log(double ratio);
double to_ratio(double log_ratio);

/// Of a copy; the mean of the middle two for an even count. `values` is not empty.
double median_of(std::vector<double> values);

}  // namespace profgate::gate
