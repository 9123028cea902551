#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "profilers/tool_command.h"
#include "profilers/tool_environment.h"

namespace profgate::profilers {

/// PROFGATE_NCU, PATH, the CUDA toolkit, /opt/nvidia, Debian's folder.
tool_location find_ncu(const tool_environment& environment);

/// What `ncu --version` says; step_failure if it does not run.
std::string ncu_version(const std::filesystem::path& executable, const command_runner& run);

/// `ncu --list-sections`, the argument list.
std::vector<std::string> ncu_list_sections_command(const std::filesystem::path& executable);

/// Whether the driver keeps GPU counters to administrators (RmProfilingAdminOnly). Nothing: no driver says.
std::optional<bool> are_counters_for_admins_only(const tool_environment& environment);

}  // namespace profgate::profilers
