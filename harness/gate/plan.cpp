#include "gate/plan.h"

namespace profgate::gate {

bool begins_with_baseline(std::uint64_t seed, std::size_t index) {
  // splitmix64: one well mixed number for each (seed, index), the same on every machine
  std::uint64_t z = seed + 0x9e3779b97f4a7c15ULL * (static_cast<std::uint64_t>(index) + 1);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return ((z ^ (z >> 31U)) & 1U) == 0;
}

std::vector<arm> interleaved_plan(std::uint64_t seed, std::size_t runs_per_arm) {
  std::vector<arm> plan;
  plan.reserve(2 * runs_per_arm);
  for (std::size_t block = 0; 2 * block < runs_per_arm; ++block) {
    const bool baseline_first = begins_with_baseline(seed, block);
    const arm outer = baseline_first ? arm::baseline : arm::candidate;
    const arm inner = baseline_first ? arm::candidate : arm::baseline;
    plan.insert(plan.end(), {outer, inner});
    if (2 * block + 1 < runs_per_arm) plan.insert(plan.end(), {inner, outer});
  }
  return plan;
}

}  // namespace profgate::gate
