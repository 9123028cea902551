#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "arm_sums.h"
#include "gate/matching.h"

/// The layers of a model are one operator ("model.layers.*.mlp"), so that a slower kernel is one cause and
/// not thirty. Where it is slower in one of them, or in a few, the cause says in which.
namespace profgate::gate {

/// "model.layers.*" of a group under "request/model.layers.*/model.layers.*.mlp": of the innermost range that
/// is one of a layer, as the number that operations have is that range's. On a CPU ranges are the operations.
/// Empty: its layers are not known. Lies in the group.
std::string_view layer_list_of(const operation_group& group);

/// "model.layers.2 of 4: 31.20 → 43.90 µs a launch". Empty where the difference is not that of a few layers,
/// or nobody knows the layers of all launches of both sides, as in run sets of older versions.
std::string odd_layers_text(const std::vector<operation_group>& before,
                            const std::vector<operation_group>& after, const arm_sums& baseline,
                            const arm_sums& candidate);

}  // namespace profgate::gate
