#pragma once

#include <nlohmann/json_fwd.hpp>

#include "llm/telemetry.h"

namespace profgate::llm {

/// The result's `telemetry` and `telemetry_reason`, as workloads/README.md describes them.
void put_telemetry(const telemetry_report& report, nlohmann::ordered_json& document);

}  // namespace profgate::llm
