#include "profilers/ncu_installation.h"

#include <fmt/format.h>

#include <fstream>

#include "core/error.h"
#include "profilers/nsys_installation.h"

namespace profgate::profilers {

tool_location find_ncu(const tool_environment& environment) {
  return find_tool(environment, "ncu", "PROFGATE_NCU",
                   {{"usr/local/cuda/bin", "the CUDA toolkit"},
                    {"opt/nvidia/nsight-compute/*", "/opt/nvidia/nsight-compute"},
                    {"usr/local/cuda*/bin", "the CUDA toolkit"},
                    {"usr/lib/nsight-compute", "Debian's package nsight-compute"}});
}

std::string ncu_version(const std::filesystem::path& executable, const command_runner& run) {
  tool_command command;
  command.argv = {executable.string(), "--version"};
  command.capture_stdout = true;
  command.deadline_ms = 60'000;
  const tool_run done = run(command);
  std::string version = parse_tool_version(done.captured_stdout);
  if (!done.is_good() || version.empty()) {
    throw core::step_failure(
        fmt::format("{} --version does not work: {}", executable.string(), done.description),
        "install Nsight Compute again, or set PROFGATE_NCU to one that works (or to 'none')");
  }
  return version;
}

std::vector<std::string> ncu_list_sections_command(const std::filesystem::path& executable) {
  return {executable.string(), "--list-sections"};
}

std::optional<bool> are_counters_for_admins_only(const tool_environment& environment) {
  std::ifstream parameters(environment.root / "proc/driver/nvidia/params");
  for (std::string line; std::getline(parameters, line);) {
    if (line.rfind("RmProfilingAdminOnly:", 0) == 0) return line.find('1') != std::string::npos;
  }
  return std::nullopt;
}

}  // namespace profgate::profilers
