#pragma once

#include "analysis/telemetry.h"
#include "json_object.h"

namespace profgate::analysis {

/// A stage's `telemetry`, the same in profile.json and in stage1/metrics.json.
json telemetry_json(const telemetry_figures& figures);

}  // namespace profgate::analysis
