#pragma once

#include <nlohmann/json_fwd.hpp>

namespace profgate::render {

/// Adds what a profile.json of the same version lacks that an earlier profgate wrote, as null with a reason:
/// reports are made again of any.
void put_later_fields(nlohmann::json& document);

}  // namespace profgate::render
