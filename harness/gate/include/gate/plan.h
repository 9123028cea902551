#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// Who runs when. Blocks of ABBA or BAAB cancel whatever drifts in a straight line; the coin keeps anything
/// periodic from favouring an arm.
namespace profgate::gate {

enum class arm { baseline, candidate };

/// Does block `index` of the plan begin with the baseline (ABBA)? Fixed by the seed alone.
bool begins_with_baseline(std::uint64_t seed, std::size_t index);

/// The first `runs_per_arm` runs of each arm, two of each a block; an odd last run is half a block. A longer
/// plan of the same seed begins with a shorter one whose run count is even.
std::vector<arm> interleaved_plan(std::uint64_t seed, std::size_t runs_per_arm);

}  // namespace profgate::gate
