#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"
#include "gate/attribution.h"
#include "gate/exact_gates.h"

/// From a traced process to what the gate compares.
namespace profgate::gate {

/// Where a kernel belongs, for callers that know better than the ranges around its launch: under a replayed
/// graph those are the graph's. Empty: by those ranges. The text must live as long as the traces are used.
using path_lookup = std::function<std::string_view(const core::kernel_execution&)>;

/// One trace an occurrence of the stage, in the order of time, with the kernels and copies that its process
/// ran during it. Texts lie in the timeline's pool, to which joined paths are added. Where no lookup knows
/// it, a kernel's path is made of the push/pop ranges of the domain inside the stage that were open when it
/// was launched.
std::vector<stage_trace> traces_of(core::timeline& timeline, std::string_view domain, std::string_view stage,
                                   const path_lookup& path_of = {});

/// Of the stage's first occurrence; empty where kernels were not seen. `tokens`: how many that occurrence
/// decoded.
stage_structure structure_of(const core::timeline& timeline, std::string_view domain, std::string_view stage,
                             std::int64_t tokens);

}  // namespace profgate::gate
