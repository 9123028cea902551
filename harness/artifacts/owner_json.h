#pragma once

#include <nlohmann/json_fwd.hpp>

#include "artifacts/owner.h"

namespace profgate::artifacts {

nlohmann::ordered_json owner_to_json(const process_owner& owner);

/// Throws nlohmann::json::exception where a field is missing or of another type.
process_owner owner_from_json(const nlohmann::json& object);

}  // namespace profgate::artifacts
