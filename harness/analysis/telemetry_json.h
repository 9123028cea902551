#pragma once

#include "analysis/json_object.h"
#include "analysis/telemetry.h"

namespace profgate::analysis {

/// A stage's `telemetry`, the same in profile.json and in stage1/metrics.json.
json telemetry_json(const telemetry_figures& figures);

}  // namespace profgate::analysis
