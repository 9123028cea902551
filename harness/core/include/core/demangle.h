#pragma once

#include <string>

namespace profgate::core {

/// The name as the source has it; one that is not mangled stays as it is.
std::string demangle(const std::string& name);

}  // namespace profgate::core
