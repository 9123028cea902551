#include "relabel.h"

#include <functional>
#include <random>
#include <utility>

namespace profgate::gate {
namespace {

/// The standard's shuffle differs between libraries; the same seed shall give the same trials everywhere.
void shuffle(std::vector<double>& values, std::mt19937_64& random) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[((random() >> 32U) * i) >> 32U]);
  }
}

relabelling repeat(std::size_t trials, const decision_rules& rules, const std::function<arm_pair()>& deal) {
  relabelling result;
  result.trials = trials;
  for (std::size_t trial = 0; trial < trials; ++trial) {
    result.verdicts[*decide(deal(), rules, true).final_verdict] += 1;
  }
  return result;
}

}  // namespace

std::size_t relabelling::count(verdict which) const {
  const auto found = verdicts.find(which);
  return found == verdicts.end() ? 0 : found->second;
}

relabelling relabel(const std::vector<double>& runs_ns, const decision_rules& rules, std::uint64_t seed,
                    std::size_t trials) {
  std::mt19937_64 random(seed);
  std::vector<double> pool = runs_ns;
  return repeat(trials, rules, [&] {
    shuffle(pool, random);
    const auto middle = pool.begin() + static_cast<std::ptrdiff_t>(pool.size() / 2);
    return arm_pair{{pool.begin(), middle}, {middle, pool.end()}};
  });
}

relabelling reorder(const arm_pair& runs, const decision_rules& rules, std::uint64_t seed,
                    std::size_t trials) {
  std::mt19937_64 random(seed);
  arm_pair dealt = runs;
  return repeat(trials, rules, [&] {
    shuffle(dealt.baseline_ns, random);
    shuffle(dealt.candidate_ns, random);
    return dealt;
  });
}

}  // namespace profgate::gate
