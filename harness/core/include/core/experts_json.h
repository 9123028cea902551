#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/experts.h"
#include "core/json.h"

/// As a workload's result, a run and a run set hold it.
namespace profgate::core {

experts_by_stage read_experts(const json_cursor& stages);
nlohmann::json experts_json(const experts_by_stage& stages);

}  // namespace profgate::core
