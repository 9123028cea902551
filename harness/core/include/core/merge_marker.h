#pragma once

#include <string_view>

namespace profgate::core {

/// Whether a line of a file that people merge was left by git: "<<<<<<< HEAD", "=======", …
bool is_merge_marker(std::string_view line);

}  // namespace profgate::core
