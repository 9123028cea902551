#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "profilers/nsys_commands.h"

/// Argument lists for ncu: pure functions of their arguments. Options are those of 2022.3 to 2025.3.
namespace profgate::profilers {

struct ncu_options {
  std::string target_processes = "all";
  std::string set{};  ///< empty: none
  std::vector<std::string> sections{};
  std::vector<std::string> metrics{};
  std::string replay_mode = "kernel";
  std::string clock_control = "none";  ///< ncu's own default locks the clocks to their base
  std::string cache_control = "all";
  bool between_profiler_calls = false;  ///< count only from cudaProfilerStart to cudaProfilerStop
};

enum class kernel_name_base { mangled, demangled };

/// Which launches one run of ncu counts.
struct ncu_filter {
  std::vector<std::string> nvtx_include{};  ///< any of them must match; empty: no filter
  std::vector<std::string> kernel_names{};  ///< exact; empty: every kernel
  /// A name as the linker knows it is the same for every tool. Demangled names ncu simplifies before it
  /// compares (namespaces and casts go), so that is switched off where they must do.
  kernel_name_base base = kernel_name_base::mangled;
  std::int64_t skip = 0;   ///< of the launches that match everything above
  std::int64_t count = 0;  ///< 0: no limit
};

/// ncu's push/pop filter for one range, "LLM@decode_all/", its special characters escaped. bad_input for a
/// backslash, which ncu cannot be told.
std::string ncu_range_filter(const range_name& range);

/// "^(a|b)$": matches these names and no other, whatever characters they hold.
std::string ncu_kernel_regex(const std::vector<std::string>& names);

/// The profiled run; leaves <output_base>.ncu-rep.
std::vector<std::string> ncu_profile_command(const std::filesystem::path& executable,
                                             const ncu_options& options, const ncu_filter& filter,
                                             const std::filesystem::path& output_base,
                                             const std::vector<std::string>& workload);

/// The whole raw page as CSV on standard output, names as nsys writes them.
std::vector<std::string> ncu_raw_page_command(const std::filesystem::path& executable,
                                              const std::filesystem::path& report);

/// Of the raw page only these metrics, with names as the linker knows them.
std::vector<std::string> ncu_columns_command(const std::filesystem::path& executable,
                                             const std::filesystem::path& report,
                                             const std::vector<std::string>& metrics);

}  // namespace profgate::profilers
