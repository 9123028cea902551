#pragma once

#include <functional>

#include "gate/attribution.h"

namespace profgate::gate {

/// Of the difference: what is smaller explains nothing else.
inline constexpr double trifle_ratio = 0.15;

/// Parts that are one thing become one cause: what they cost is added up, and nothing is counted twice.
///
/// - Kernels that nothing was done to, and that cost less while one that changed costs more: what runs beside
///   it ends later, so their own time lies beside it. It belongs to what changed.
/// - Kernels that no longer overlap with the one ahead of them, as something new is there.
/// - The wait for launches of a device that ran dry since the host came late.
/// - The first kernel of a stage whose device waited longer: a tracer has a graph's first kernel begin with
///   the launch and end once the graph runs (an H200: 250 µs in place of 4 after each synchronisation). It
///   waits with its device.
void join_causes(attribution& result);

/// Kernels that nothing was done to, of operators that wait for `first`, which is one of the causes: what
/// they cost more follows from it.
void join_waiting(cause& first, attribution& result);

/// The first kernel of a stage, where it lasts far longer and is no slower than before when it runs alone: a
/// tracer has it begin with the launch of its graph, so it is the launch that takes longer.
void call_first_kernel_a_launch(const std::function<bool(const cause&)>& is_no_slower_alone,
                                attribution& result);

/// Kernels that nothing was done to and that are no slower than before where they run alone: what they cost
/// more follows from what did change, if it is launched next to them or next but one.
void join_unchanged_alone(const std::function<bool(const cause&)>& is_no_slower_alone, attribution& result);

}  // namespace profgate::gate
