#pragma once

#include <nlohmann/json_fwd.hpp>

#include "artifacts/owner.h"
#include "core/json.h"

namespace profgate::artifacts {

nlohmann::ordered_json owner_to_json(const process_owner& owner);

process_owner owner_from_json(const core::json_cursor& object);

}  // namespace profgate::artifacts
