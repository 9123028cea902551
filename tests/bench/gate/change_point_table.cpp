// Makes harness/gate/change_point_table.h: bench_change_point_table > harness/gate/change_point_table.h
// For each length of a history: shuffled ranks, the largest standardised rank sum over all splits that leave
// 4 on each side, and the smallest value that at most one in 1,000 of the shuffles reach. The seed is fixed
// and the generator the standard's own, so the table is the same on every machine.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "gate/change_points.h"

namespace {

constexpr double alpha = 0.001;

double critical_value(std::size_t length, std::size_t trials) {
  std::mt19937_64 random(20'240'601 + length);
  std::vector<double> ranks(length);
  std::iota(ranks.begin(), ranks.end(), 1.0);
  std::vector<double> statistics(trials);
  for (double& statistic : statistics) {
    for (std::size_t i = length - 1; i > 0; --i) {
      // the high bits times the range: as good as unbiased for such small ranges
      std::swap(ranks[i], ranks[((random() >> 32U) * (i + 1)) >> 32U]);
    }
    statistic = profgate::gate::find_best_split(ranks, 4).statistic;
  }
  std::sort(statistics.begin(), statistics.end());
  // Ranks are whole numbers, so values come in steps: a step counts only if all of it is rare enough. A
  // billionth lower than the step, so that no rounding hides it.
  const auto most = static_cast<std::size_t>(alpha * static_cast<double>(trials));
  const double too_common = statistics[trials - most - 1];
  const auto rare = std::upper_bound(statistics.begin(), statistics.end(), too_common + 1e-9);
  return rare == statistics.end() ? 0 : *rare - 1e-9;
}

}  // namespace

int main() {
  fmt::print(
      "#pragma once\n\n#include <cstddef>\n\n"
      "/// Made by tests/bench/gate/change_point_table.cpp; do not edit. By length of a history: the "
      "standardised\n"
      "/// rank sum that chance reaches at some split in at most one of 1,000 histories. Shorter ones have "
      "no\n"
      "/// split so rare.\n"
      "namespace profgate::gate {{\n\nstruct critical_value {{\n  std::size_t length;\n  double "
      "statistic;\n}};\n\n"
      "// clang-format off\ninline constexpr critical_value change_point_table[] = {{\n");
  std::vector<std::size_t> lengths;
  for (std::size_t n = 8; n < 64; ++n) lengths.push_back(n);
  for (std::size_t n = 64; n < 128; n += 8) lengths.push_back(n);
  for (std::size_t n = 128; n <= 4096; n += n / 4) lengths.push_back(n);
  for (const std::size_t length : lengths) {
    const double statistic = critical_value(length, length <= 128 ? 1'000'000 : 200'000);
    if (statistic > 0) fmt::print("    {{{}, {:.9f}}},\n", length, statistic);
  }
  fmt::print("}};\n// clang-format on\n\n}}  // namespace profgate::gate\n");
}
