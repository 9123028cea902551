#include "profilers/ncu_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/escape.h"

namespace profgate::profilers {
namespace {

/// Quantifiers of ncu's NVTX filters, those of its regular expressions among them.
constexpr std::string_view filter_specials = "@,[]/*+^$.|?(){}";

std::string escape_for_filter(const std::string& name) {
  if (name.find('\\') != std::string::npos) {
    throw core::bad_input(
        fmt::format("the NVTX name '{}' has a backslash, which ncu's filters cannot express", name),
        "rename the range or domain, or set run.mode and ncu.nvtx_include so that it is not needed");
  }
  // A dot has no meaning outside of ncu's regular expressions, and operators are full of them.
  std::string out;
  for (const char c : name) {
    if (c != '.' && filter_specials.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// A report is read as it is, whatever a configuration file of the user says.
std::vector<std::string> import_command(const std::filesystem::path& executable,
                                        const std::filesystem::path& report) {
  return {executable.string(), "--config-file", "off", "--import", report.string(), "--csv", "--page", "raw",
          "--print-units",     "base"};
}

void append(std::vector<std::string>& argv, std::initializer_list<std::string> words) {
  argv.insert(argv.end(), words);
}

}  // namespace

std::string ncu_range_filter(const range_name& range) {
  const std::string domain = range.domain.empty() ? "" : escape_for_filter(range.domain) + "@";
  return domain + escape_for_filter(range.range) + "/";
}

std::string ncu_kernel_regex(const std::vector<std::string>& names) {
  std::vector<std::string> escaped;
  escaped.reserve(names.size());
  for (const std::string& name : names) escaped.push_back(core::escape_regex(name));
  return fmt::format("^({})$", fmt::join(escaped, "|"));
}

std::vector<std::string> ncu_profile_command(const std::filesystem::path& executable,
                                             const ncu_options& options, const ncu_filter& filter,
                                             const std::filesystem::path& output_base,
                                             const std::vector<std::string>& workload) {
  std::vector<std::string> argv = {executable.string(),  "--config-file",          "off",
                                   "--target-processes", options.target_processes, "--replay-mode",
                                   options.replay_mode,  "--clock-control",        options.clock_control,
                                   "--cache-control",    options.cache_control,    "--nvtx"};
  if (options.between_profiler_calls) append(argv, {"--profile-from-start", "off"});
  for (const std::string& expression : filter.nvtx_include) append(argv, {"--nvtx-include", expression});
  if (!filter.kernel_names.empty()) {
    if (filter.base == kernel_name_base::mangled) {
      append(argv, {"--kernel-name-base", "mangled"});
    } else {
      append(argv, {"--rename-kernels", "off", "--kernel-name-base", "demangled"});
    }
    append(argv, {"--kernel-name", "regex:" + ncu_kernel_regex(filter.kernel_names)});
  }
  if (filter.skip > 0) append(argv, {"--launch-skip", std::to_string(filter.skip)});
  if (filter.count > 0) append(argv, {"--launch-count", std::to_string(filter.count)});
  if (!options.set.empty()) append(argv, {"--set", options.set});
  for (const std::string& section : options.sections) append(argv, {"--section", section});
  if (!options.metrics.empty())
    append(argv, {"--metrics", fmt::format("{}", fmt::join(options.metrics, ","))});
  append(argv, {"--force-overwrite", "--export", output_base.string()});
  argv.insert(argv.end(), workload.begin(), workload.end());
  return argv;
}

std::vector<std::string> ncu_raw_page_command(const std::filesystem::path& executable,
                                              const std::filesystem::path& report) {
  std::vector<std::string> argv = import_command(executable, report);
  append(argv, {"--rename-kernels", "off"});
  return argv;
}

std::vector<std::string> ncu_columns_command(const std::filesystem::path& executable,
                                             const std::filesystem::path& report,
                                             const std::vector<std::string>& metrics) {
  std::vector<std::string> argv = import_command(executable, report);
  append(argv, {"--print-kernel-base", "mangled", "--metrics", fmt::format("{}", fmt::join(metrics, ","))});
  return argv;
}

}  // namespace profgate::profilers
