#pragma once

#include <filesystem>

namespace profgate::cli {

/// What nsys and ncu recorded of one program.
inline const std::filesystem::path recordings =
    std::filesystem::path(PROFGATE_TEST_DATA) / "nsight" / "h200-2025.3.1";

}  // namespace profgate::cli
