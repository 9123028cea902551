#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace profgate::render {

/// Operators that have others inside of them (modules, layers), the largest with what is in them first: the
/// tables and pictures of own time show none of them whole. On the device, or on the host where no kernel
/// ran. Null: none has.
nlohmann::json nested_operators_of(const nlohmann::json& profile);

/// "Of the kernels and copies of prefill in the trace: vision.sam 45.9 %, vision.clip 21.4 %.", of a model
/// with a vision encoder whose parts have ranges; else empty.
std::string parts_of_vision(const nlohmann::json& profile);

}  // namespace profgate::render
