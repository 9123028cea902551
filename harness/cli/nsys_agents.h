#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace profgate::cli {

/// "<pid> <command>" of nsys agents that no living nsys started: what a killed nsys leaves, and what makes
/// every later one fail. `proc` is /proc, or a folder like it.
std::vector<std::string> leftover_nsys_agents(const std::filesystem::path& proc = "/proc");

}  // namespace profgate::cli
