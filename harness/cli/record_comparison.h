#pragma once

#include "ab/comparison.h"

namespace profgate::cli {

/// Beside the runs of a comparison: what was said of it, and both arms as run sets, from which baselines are
/// accepted and histories fed.
void record_comparison(const ab::comparison_result& result);

}  // namespace profgate::cli
