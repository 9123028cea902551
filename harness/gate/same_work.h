#pragma once

#include "gate/judgement.h"

namespace profgate::gate {

/// Whether a stage that is slower did the same work as before, so that only circumstances can have slowed it
/// down. Of the code that is a claim, so whatever is not known refuses it: both traces tell machine code and
/// launch configuration of every kernel, nothing exact differs, and the leading cause is a kernel that takes
/// longer itself.
///
/// No trace tells launch attributes or a graph's edges, and through them code changes what runs beside and
/// before a kernel. So it must not be told of one that is no slower alone under ncu, that costs more only
/// because it waits, or that costs more without lasting longer: it has lost what it overlapped with.
bool is_the_same_work(const run_set& baseline, const run_set& candidate, const stage_judgement& stage);

}  // namespace profgate::gate
