#include "profilers/nsys_installation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

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

std::map<std::string, std::string> nsys_installation::library_environment() const {
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
  nsys.version = nsys_version(executable, run);
  nsys.reports =
      parse_report_names(ask(run, {executable.string(), "stats", "--help-reports"}).captured_stdout);
  const tool_run help = ask(run, {executable.string(), "profile", "--help"});
  nsys.knows_cuda_graph_trace = help.captured_stdout.find("--cuda-graph-trace") != std::string::npos;
  nsys.knows_pytorch = help.captured_stdout.find("--pytorch") != std::string::npos;

  if (const auto extra = environment.variable("PROFGATE_NSYS_LIBRARY_PATH")) {
    nsys.inherited_library_path = environment.variable("LD_LIBRARY_PATH").value_or("");
    nsys.library_path = fs::absolute(*extra).string();  // readers run in another folder
    if (!nsys.inherited_library_path.empty()) *nsys.library_path += ":" + nsys.inherited_library_path;
  }
  nsys.importer = find_importer(executable);
  if (nsys.importer) {
    std::map<std::string, std::string> trace = nsys.library_environment();
    trace.emplace("LD_TRACE_LOADED_OBJECTS", "1");
    const tool_run traced = ask(run, {nsys.importer->string()}, trace);
    nsys.missing_libraries = parse_missing_libraries(traced.captured_stdout);
  }
  return nsys;
}

std::string nsys_version(const fs::path& executable, const command_runner& ask_tool) {
  tool_run answer = ask(ask_tool, {executable.string(), "--version"});
  std::string version = parse_tool_version(answer.captured_stdout);
  if (answer.is_good() && !version.empty()) return version;
  throw core::step_failure(
      fmt::format("{} --version does not work: {}", executable.string(), answer.description),
      "install Nsight Systems again, or set PROFGATE_NSYS to one that works (or to 'none')");
}

}  // namespace profgate::profilers
