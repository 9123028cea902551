#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profilers/machine.h"

namespace profgate::profilers {

/// One nsys on this machine, and what it can do.
struct nsys_installation {
  std::filesystem::path executable;
  std::string version;                  ///< "2022.4.2.1-df9881f"
  std::vector<std::string> reports;     ///< names that `nsys stats -r` knows
  bool knows_cuda_graph_trace = false;  ///< --cuda-graph-trace exists
  bool knows_pytorch = false;           ///< --pytorch exists
  std::optional<std::filesystem::path> importer;
  std::vector<std::string> missing_libraries;  ///< that the importer cannot load; empty: it works
  std::optional<std::string> library_path;     ///< PROFGATE_NSYS_LIBRARY_PATH before what was inherited
  std::string inherited_library_path;          ///< LD_LIBRARY_PATH of whoever started us

  /// LD_LIBRARY_PATH for nsys itself; `nsys profile` gives the workload back what was inherited.
  std::map<std::string, std::string> library_environment() const;
};

/// PROFGATE_NSYS, PATH, the CUDA toolkit, /opt/nvidia, inside of Nsight Compute, Debian's folder.
tool_location find_nsys(const tool_environment& environment);

/// Asks the tool itself. step_failure where it does not even say its version: it is there, but broken.
nsys_installation inspect_nsys(const std::filesystem::path& executable, const tool_environment& environment,
                               const command_runner& run);

/// The importer that belongs to this nsys. NVIDIA keeps it in host-linux-* beside target-linux-*, Nsight
/// Compute in host/linux-desktop-*, Debian where nsys itself does not look.
std::optional<std::filesystem::path> find_importer(const std::filesystem::path& nsys);

/// "libdw.so.1" → "libdw1": the Debian or Ubuntu package that has it, where we know one.
std::optional<std::string> package_of_library(const std::string& library);

/// "install libdw1", or what else to do about libraries that the importer misses.
std::string missing_library_remedy(const std::vector<std::string>& libraries);

// The pure parts of inspect_nsys.
std::string parse_tool_version(const std::string& output);
std::vector<std::string> parse_report_names(const std::string& help_reports);
std::vector<std::string> parse_missing_libraries(const std::string& loader_output);

/// inspect_nsys's version alone.
std::string nsys_version(const std::filesystem::path& executable, const command_runner& ask);

/// What the doctor wants to know.
struct nsys_facts {
  std::optional<tool_facts> tool{};
  std::optional<tool_fault> fault{};
  std::optional<std::string> importer{};         ///< nothing: not found anywhere
  std::vector<std::string> missing_libraries{};  ///< that the importer's loader could not find
  std::vector<std::string> leftover_agents{};    ///< "pid command" of agents that no nsys owns any more
};

std::vector<check> judge(const nsys_facts& facts);
std::vector<check> diagnose_nsys(const machine& here);

/// "<pid> <command>" of nsys agents that no living nsys started: what a killed nsys leaves, and what makes
/// every later one fail. `proc` is /proc, or a folder like it.
std::vector<std::string> leftover_nsys_agents(const std::filesystem::path& proc);

std::vector<core::setting> nsys_settings();

}  // namespace profgate::profilers
