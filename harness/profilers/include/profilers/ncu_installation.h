#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "profilers/backends.h"

namespace profgate::profilers {

/// PROFGATE_NCU, PATH, the CUDA toolkit, /opt/nvidia, Debian's folder.
tool_location find_ncu(const tool_environment& environment);

/// What `ncu --version` says; step_failure if it does not run.
std::string ncu_version(const std::filesystem::path& executable, const command_runner& run);

/// `ncu --list-sections`, the argument list.
std::vector<std::string> ncu_list_sections_command(const std::filesystem::path& executable);

/// Whether the driver keeps GPU counters to administrators (RmProfilingAdminOnly). Nothing: no driver says.
std::optional<bool> are_counters_for_admins_only(const tool_environment& environment);

/// not_possible where they are, and this is no administrator.
void require_counter_access(const machine& here);

/// What the doctor wants to know.
struct ncu_facts {
  std::optional<tool_facts> tool{};
  std::optional<tool_fault> fault{};
  bool has_driver = false;
  bool counters_for_admin_only = false;
  bool running_as_root = false;
};

std::vector<check> judge(const ncu_facts& facts);
std::vector<check> diagnose_ncu(const machine& here);

std::vector<core::setting> ncu_settings();
counting_conditions ncu_conditions(const core::settings& settings);

}  // namespace profgate::profilers
