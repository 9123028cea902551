#include "profilers/installations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "collector/cupti_places.h"
#include "core/error.h"

namespace profgate::profilers {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t question_deadline_ms = 60'000;

tool_run ask(const command_runner& run, std::vector<std::string> argv,
             std::map<std::string, std::string> environment = {}) {
  tool_command command;
  command.argv = std::move(argv);
  command.set_environment = std::move(environment);
  command.capture_stdout = true;
  command.deadline_ms = question_deadline_ms;
  return run(command);
}

/// The path and all that it links to, step by step. Debian's nsys is a link to a link, and the importer lies
/// beside the one in the middle; at the end of the chain, where nsys looks for it, it is not.
std::vector<fs::path> link_chain(fs::path path) {
  constexpr std::size_t longest_chain = 16;
  std::vector<fs::path> chain = {path};
  std::error_code problem;
  while (fs::is_symlink(path, problem) && chain.size() < longest_chain) {
    path = (path.parent_path() / fs::read_symlink(path, problem)).lexically_normal();
    chain.push_back(path);
  }
  return chain;
}

}  // namespace

std::map<std::string, std::string> nsys_installation::reading_environment() const {
  if (!library_path) return {};
  return {{"LD_LIBRARY_PATH", *library_path}};
}

tool_location find_nsys(const tool_environment& environment) {
  return find_tool(
      environment, "nsys", "PROFGATE_NSYS",
      {{"usr/local/cuda/bin", "the CUDA toolkit"},
       {"opt/nvidia/nsight-systems/*/bin", "/opt/nvidia/nsight-systems"},
       {"usr/local/cuda*/bin", "the CUDA toolkit"},
       {"opt/nvidia/nsight-compute/*/host/target-linux-*", "the Nsight Compute installation"},
       {"usr/local/cuda*/nsight-compute-*/host/target-linux-*", "the Nsight Compute installation"},
       {"usr/lib/nsight-systems/bin", "Debian's package nsight-systems"}});
}

std::optional<fs::path> find_importer(const fs::path& nsys) {
  for (const fs::path& place : link_chain(nsys)) {
    fs::path folder = place.parent_path();
    // bin/nsys and target-linux-*/nsys lie one below the folder that has the importer's.
    for (int level = 0; level < 3 && folder.has_relative_path(); ++level, folder = folder.parent_path()) {
      for (const char* pattern : {"host-linux-*/QdstrmImporter", "linux-desktop-*/QdstrmImporter"}) {
        const std::vector<fs::path> matched = match_paths(folder, pattern);
        const auto found = std::find_if(matched.rbegin(), matched.rend(), is_executable);
        if (found != matched.rend()) return *found;
      }
    }
  }
  return std::nullopt;
}

std::string parse_tool_version(const std::string& output) {
  constexpr std::string_view marker =
      "ersion ";  // "Version 2022.3.0.0 …" (ncu), "version 2022.4.2.1-…" (nsys)
  const std::size_t at = output.find(marker);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + marker.size();
  return output.substr(begin, output.find_first_of(" \r\n", begin) - begin);
}

std::vector<std::string> parse_report_names(const std::string& help_reports) {
  // "  nvtxkernsum[:base|:mangled] -- NVTX Range Kernel Summary"
  std::vector<std::string> names;
  std::istringstream lines(help_reports);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dashes = line.find(" -- ");
    const std::size_t begin = line.find_first_not_of(' ');
    if (dashes == std::string::npos || begin == 0 || begin >= dashes) continue;
    names.push_back(line.substr(begin, std::min(line.find('[', begin), dashes) - begin));
  }
  return names;
}

std::vector<std::string> parse_missing_libraries(const std::string& loader_output) {
  // "	libssh.so => not found" from LD_TRACE_LOADED_OBJECTS, or the loader's own last words,
  // "…: error while loading shared libraries: libssh.so: cannot open shared object file: …".
  constexpr std::string_view last_words = "error while loading shared libraries: ";
  std::vector<std::string> missing;
  std::istringstream lines(loader_output);
  for (std::string line; std::getline(lines, line);) {
    std::string library;
    if (const std::size_t arrow = line.find(" => not found"); arrow != std::string::npos) {
      const std::size_t begin = line.find_first_not_of(" \t");
      library = line.substr(begin, arrow - begin);
    } else if (const std::size_t at = line.find(last_words); at != std::string::npos) {
      const std::size_t begin = at + last_words.size();
      library = line.substr(begin, line.find(':', begin) - begin);
    }
    if (!library.empty() && std::find(missing.begin(), missing.end(), library) == missing.end()) {
      missing.push_back(library);
    }
  }
  return missing;
}

std::optional<std::string> package_of_library(const std::string& library) {
  static const std::map<std::string, std::string> packages = {
      {"libdw.so.1", "libdw1"},
      {"libelf.so.1", "libelf1"},
      {"libbz2.so.1.0", "libbz2-1.0"},
      {"libssh.so", "libssh-4"},
      {"libssh.so.4", "libssh-4"},
      {"libGL.so.1", "libgl1"},
      {"libglib-2.0.so.0", "libglib2.0-0"},
      {"libdbus-1.so.3", "libdbus-1-3"},
  };
  const auto found = packages.find(library);
  if (found == packages.end()) return std::nullopt;
  return found->second;
}

std::string missing_library_remedy(const std::vector<std::string>& libraries) {
  std::vector<std::string> packages;
  for (const std::string& library : libraries) {
    const auto package = package_of_library(library);
    if (package && std::find(packages.begin(), packages.end(), *package) == packages.end()) {
      packages.push_back(*package);
    }
  }
  const std::string by_path =
      fmt::format("set PROFGATE_NSYS_LIBRARY_PATH to a folder that holds {}", fmt::join(libraries, ", "));
  return packages.empty() ? by_path
                          : fmt::format("apt-get install {}, or {}", fmt::join(packages, " "), by_path);
}

nsys_installation inspect_nsys(const fs::path& executable, const tool_environment& environment,
                               const command_runner& run) {
  nsys_installation nsys;
  nsys.executable = executable;
  const tool_run version = ask(run, {executable.string(), "--version"});
  nsys.version = parse_tool_version(version.captured_stdout);
  if (!version.is_good() || nsys.version.empty()) {
    throw core::step_failure(
        fmt::format("{} --version does not work: {}", executable.string(), version.description),
        "install Nsight Systems again, or set PROFGATE_NSYS to one that works (or to 'none')");
  }
  nsys.reports =
      parse_report_names(ask(run, {executable.string(), "stats", "--help-reports"}).captured_stdout);
  const tool_run help = ask(run, {executable.string(), "profile", "--help"});
  nsys.knows_cuda_graph_trace = help.captured_stdout.find("--cuda-graph-trace") != std::string::npos;

  if (const auto extra = environment.variable("PROFGATE_NSYS_LIBRARY_PATH")) {
    const auto inherited = environment.variable("LD_LIBRARY_PATH");
    nsys.library_path = inherited ? fmt::format("{}:{}", *extra, *inherited) : *extra;
  }
  nsys.importer = find_importer(executable);
  if (nsys.importer) {
    std::map<std::string, std::string> trace = nsys.reading_environment();
    trace.emplace("LD_TRACE_LOADED_OBJECTS", "1");
    const tool_run traced = ask(run, {nsys.importer->string()}, trace);
    nsys.missing_libraries = parse_missing_libraries(traced.captured_stdout);
  }
  return nsys;
}

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

namespace {

/// Patterns in the order in which the collector looks, relative to the file system's root.
std::vector<std::string> patterns_of(const tool_environment& environment) {
  std::vector<std::string> patterns;
  const auto add_toolkit = [&](const std::string& toolkit) {
    for (const char* folder : collector::cupti_toolkit_folders) {
      for (const char* name : collector::cupti_names) {
        patterns.push_back(fmt::format("{}/{}/{}", toolkit, folder, name));
      }
    }
  };
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto toolkit = environment.variable(variable)) add_toolkit(*toolkit);
  }
  for (const char* name : collector::cupti_names) {
    std::istringstream folders(environment.variable("LD_LIBRARY_PATH").value_or(""));
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (!folder.empty()) patterns.push_back(fmt::format("{}/{}", folder, name));
    }
    for (const char* folder : {"/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/local/lib"}) {
      patterns.push_back(fmt::format("{}/{}", folder, name));
    }
  }
  for (const char* toolkit : collector::cupti_toolkits) add_toolkit(toolkit);
  for (const char* pattern : collector::cupti_tool_patterns) patterns.emplace_back(pattern);
  return patterns;
}

}  // namespace

cupti_location find_cupti(const tool_environment& environment) {
  if (const auto asked = environment.variable(collector::cupti_variable)) {
    if (*asked == "none") return {std::nullopt, fmt::format("hidden by {}=none", collector::cupti_variable)};
    std::error_code problem;
    if (fs::exists(*asked, problem)) return {fs::path(*asked), ""};
    return {std::nullopt, fmt::format("{}={} does not exist", collector::cupti_variable, *asked)};
  }
  for (const std::string& pattern : patterns_of(environment)) {
    const std::vector<fs::path> matched = match_paths(environment.root, pattern);
    if (!matched.empty()) return {matched.back(), ""};
  }
  return {
      std::nullopt,
      "no libcupti.so.13 or .12 in CUDA_HOME, LD_LIBRARY_PATH, /usr/local/cuda or beside the Nsight tools"};
}

}  // namespace profgate::profilers
