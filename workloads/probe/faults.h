#pragma once

#include "options.h"

namespace profgate::probe {

/// Called with decode_all open: does what the fault asks for there, which may be not to return.
void misbehave_in_range(const options& chosen);

/// Called before any range opens.
void misbehave_at_start(const options& chosen);

}  // namespace profgate::probe
