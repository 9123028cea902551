#pragma once

#include <nlohmann/json_fwd.hpp>

namespace profgate::render {

/// Operators that have others inside of them (modules, layers), the largest with what is in them first: the
/// tables and pictures of own time show none of them whole. On the device, or on the host where no kernel
/// ran. Null: none has.
nlohmann::json nested_operators_of(const nlohmann::json& profile);

}  // namespace profgate::render
