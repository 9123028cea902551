#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/measured.h"

/// Which packages a program runs with: what differs between two environments of the same program. Only names
/// of folders and dpkg's list are read; nothing of theirs is executed.
namespace profgate::artifacts {

/// "pip torch" → "2.11.0", "dpkg libcublas-13-0" → "13.0.2.14-1". Where they could not be found out, "pip
/// packages" or "dpkg packages" says why.
using package_versions = std::map<std::string, core::measured<std::string>>;

inline constexpr const char* pip_packages = "pip packages";
inline constexpr const char* dpkg_packages = "dpkg packages";

/// Where to look; what the machine says itself, unless a test says otherwise.
struct package_places {
  std::string path_variable{};  ///< PATH
  std::filesystem::path home{};
  std::filesystem::path dpkg_status = "/var/lib/dpkg/status";
  std::filesystem::path local_prefix = "/usr/local";  ///< where Debian's Python looks besides its own

  static package_places of_this_process();
};

/// Of the Python that the command starts, where it starts one, and of CUDA's and NVIDIA's packages of the
/// system.
package_versions gather_packages(const std::vector<std::string>& command,
                                 const std::filesystem::path& working_directory,
                                 const package_places& places = package_places::of_this_process());

}  // namespace profgate::artifacts
