#pragma once

#include "core/records.h"
#include "embedded_file.h"

namespace profgate::parsers {

/// Adds the GPU's kernels and copies and the host's calls, each in the order of its start. Of a gated
/// recording only what was launched inside of the gate; a kernel whose call is not in the recording counts
/// by its own start and has the thread 0. Of two calls, one inside the other (the runtime calls the driver),
/// only the outer stays, as in nsys.
void add_activity(const embedded_file& file, core::timeline& timeline);

}  // namespace profgate::parsers
