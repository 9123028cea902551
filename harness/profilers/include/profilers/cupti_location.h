#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "profilers/tool_environment.h"

namespace profgate::profilers {

/// Where the embedded collector will find CUPTI inside of a traced program, or why it will not. A library
/// that the program itself brings along cannot be seen from outside.
struct cupti_location {
  std::optional<std::filesystem::path> library;
  std::string reason;  ///< where there is none
};

cupti_location find_cupti(const tool_environment& environment);

}  // namespace profgate::profilers
