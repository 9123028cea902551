#include "gate/change_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "change_point_table.h"
#include "core/error.h"
#include "gate/rank_statistics.h"

namespace profgate::gate {
namespace {

std::vector<double> ranks_of(const double* values, std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(count);
  for (std::size_t first = 0; first < count;) {
    std::size_t end = first + 1;
    while (end < count && values[order[end]] == values[order[first]]) ++end;
    const double mean = (static_cast<double>(first + 1) + static_cast<double>(end)) / 2;
    for (std::size_t i = first; i < end; ++i) ranks[order[i]] = mean;
    first = end;
  }
  return ranks;
}

class history {
 public:
  history(const std::vector<double>& ratios, const change_point_rules& rules)
      : m_ratios(ratios), m_rules(rules) {}

  std::vector<change_point> run() {
    split(0, m_ratios.size());
    std::sort(m_points.begin(), m_points.end(),
              [](const change_point& a, const change_point& b) { return a.index < b.index; });
    drop_small_shifts();
    return std::move(m_points);
  }

 private:
  void split(std::size_t first, std::size_t end) {
    const std::size_t length = end - first;
    if (length < 2 * m_rules.min_segment) return;
    const best_split best = find_best_split(ranks_of(m_ratios.data() + first, length), m_rules.min_segment);
    if (best.statistic < critical_statistic(length)) return;
    m_points.push_back({first + best.index, 0, best.statistic});
    split(first, first + best.index);
    split(first + best.index, end);
  }

  /// One after the other, the smallest first, since each that goes joins two segments.
  void drop_small_shifts() {
    while (!m_points.empty()) {
      for (std::size_t i = 0; i < m_points.size(); ++i) m_points[i].shift_ratio = shift_at(i);
      const auto smallest =
          std::min_element(m_points.begin(), m_points.end(), [](const auto& a, const auto& b) {
            return std::abs(to_log(a.shift_ratio)) < std::abs(to_log(b.shift_ratio));
          });
      if (std::abs(to_log(smallest->shift_ratio)) >= to_log(m_rules.min_ratio)) return;
      m_points.erase(smallest);
    }
  }

  double shift_at(std::size_t i) const {
    const std::size_t first = i == 0 ? 0 : m_points[i - 1].index;
    const std::size_t end = i + 1 == m_points.size() ? m_ratios.size() : m_points[i + 1].index;
    const auto at = [&](std::size_t index) { return m_ratios.begin() + static_cast<std::ptrdiff_t>(index); };
    return to_ratio(hodges_lehmann({at(first), at(m_points[i].index)}, {at(m_points[i].index), at(end)}));
  }

  const std::vector<double>& m_ratios;
  const change_point_rules& m_rules;
  std::vector<change_point> m_points;
};

}  // namespace

best_split find_best_split(const std::vector<double>& ranks, std::size_t min_segment) {
  const auto n = static_cast<double>(ranks.size());
  best_split best;
  double rank_sum = 0;
  for (std::size_t k = 1; k + min_segment <= ranks.size(); ++k) {
    rank_sum += ranks[k - 1];
    if (k < min_segment) continue;
    const auto before = static_cast<double>(k);
    const double expected = before * (n + 1) / 2;
    const double deviation = std::sqrt(before * (n - before) * (n + 1) / 12);
    const double statistic = std::abs(rank_sum - expected) / deviation;
    if (statistic > best.statistic) best = {k, statistic};
  }
  return best;
}

double critical_statistic(std::size_t length) {
  // Values rise with the length: between two entries the next one up is the safe one.
  const auto entry =
      std::lower_bound(std::begin(change_point_table), std::end(change_point_table), length,
                       [](const critical_value& value, std::size_t wanted) { return value.length < wanted; });
  if (length < std::begin(change_point_table)->length) return std::numeric_limits<double>::infinity();
  return entry == std::end(change_point_table) ? std::prev(std::end(change_point_table))->statistic
                                               : entry->statistic;
}

std::vector<change_point> find_change_points(const std::vector<double>& ratios,
                                             const change_point_rules& rules) {
  if (rules.min_segment < 4) {
    throw core::bad_input(fmt::format("segments of {} commits are too short to judge", rules.min_segment),
                          "use at least 4");
  }
  for (const double ratio : ratios) {
    if (ratio > 0 && std::isfinite(ratio)) continue;
    throw core::bad_input(fmt::format("a ratio in the history is {}; ratios are above zero", ratio),
                          "look at the history's entry: it is broken");
  }
  if (ratios.size() < rules.min_history) return {};
  return history(ratios, rules).run();
}

}  // namespace profgate::gate
