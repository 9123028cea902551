#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "core/error.h"
#include "profilers/nsys_installation.h"

namespace profgate::profilers {
namespace {

namespace fs = std::filesystem;

check check_nsys(const nsys_facts& facts) {
  if (facts.fault) return {"nsys", health::broken, facts.fault->finding, facts.fault->remedy};
  if (!facts.tool) {
    return {"nsys", health::missing, "Nsight Systems was not found; the embedded collector takes its place",
            "install Nsight Systems (Debian: nsight-systems, components contrib and non-free) or set "
            "PROFGATE_NSYS"};
  }
  if (is_older_than(facts.tool->version, oldest_nsight_year)) {
    return {"nsys", health::degraded,
            fmt::format("{} is version {}, older than {}", facts.tool->path, facts.tool->version,
                        oldest_nsight_year),
            "install a newer Nsight Systems, or set timeline=embedded"};
  }
  return {"nsys", health::good, fmt::format("{} ({})", facts.tool->version, facts.tool->path), ""};
}

check check_importer(const nsys_facts& facts) {
  if (facts.fault)
    return {"nsys importer", health::missing, "not looked for: nsys itself does not work", "see nsys"};
  if (!facts.tool) return {"nsys importer", health::missing, "not needed without nsys", ""};
  if (!facts.importer) {
    return {"nsys importer", health::broken,
            "nsys has no QdstrmImporter: it could trace but not write a report",
            "install the host part of Nsight Systems, or set timeline=embedded"};
  }
  if (!facts.missing_libraries.empty()) {
    return {"nsys importer", health::broken,
            fmt::format("{} cannot load: it misses {}", *facts.importer,
                        fmt::join(facts.missing_libraries, ", ")),
            "install the library (libdw.so.1 is in libdw1), or put it into a folder and name that folder in "
            "PROFGATE_NSYS_LIBRARY_PATH"};
  }
  return {"nsys importer", health::good, *facts.importer, ""};
}

check check_nsys_agents(const nsys_facts& facts) {
  if (facts.leftover_agents.empty()) return {"nsys agents", health::good, "none left over", ""};
  return {"nsys agents", health::broken,
          fmt::format("left over from a killed nsys: {}; new runs fail with 'Agent launcher failed'",
                      fmt::join(facts.leftover_agents, "; ")),
          "end these processes and remove /dev/shm/*NSys-*"};
}

/// The words of /proc/<pid>/cmdline, which are separated by NUL; empty where the process is gone.
std::string command_line(const fs::path& process) {
  std::ifstream file(process / "cmdline");
  std::string text = (std::ostringstream() << file.rdbuf()).str();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

bool is_number(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::vector<std::string> leftover_nsys_agents(const fs::path& proc) {
  std::vector<std::string> agents;
  bool nsys_at_work = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(proc)) {
    const std::string pid = entry.path().filename().string();
    if (!is_number(pid)) continue;
    const std::string command = command_line(entry.path());
    const bool is_nsys = command.find("nsys") != std::string::npos;
    if (is_nsys && command.find("--start-agent") != std::string::npos)
      agents.push_back(fmt::format("{} {}", pid, command));
    if (is_nsys && command.find(" profile ") != std::string::npos) nsys_at_work = true;
  }
  // An agent beside a running `nsys profile` is that one's.
  if (nsys_at_work) agents.clear();
  return agents;
}

std::vector<check> judge(const nsys_facts& facts) {
  return {check_nsys(facts), check_importer(facts), check_nsys_agents(facts)};
}

std::vector<check> diagnose_nsys(const machine& here) {
  nsys_facts facts;
  facts.leftover_agents = leftover_nsys_agents("/proc");
  const tool_location found = find_nsys(here.environment);
  if (!found.executable) return judge(facts);
  try {
    const nsys_installation installed = inspect_nsys(*found.executable, here.environment, here.ask);
    facts.tool = {found.executable->string(), installed.version};
    if (installed.importer) facts.importer = installed.importer->string();
    facts.missing_libraries = installed.missing_libraries;
  } catch (const core::error& broken) {
    facts.fault = {broken.what(), broken.remedy()};
  }
  return judge(facts);
}

std::vector<core::setting> nsys_settings() {
  using namespace core::setting_rows;
  return {
      list("nsys.trace", "[cuda, nvtx, osrt]", "what nsys traces"),
      choice("nsys.sample", "none", {"none", "cpu", "process-tree", "system-wide"}, "CPU sampling"),
      choice("nsys.cpuctxsw", "none", {"none", "process-tree", "system-wide"}, "context switch tracing"),
      flag("nsys.gating_nvtx", "true", "capture only inside NVTX stage ranges"),
      text("nsys.gate_range", "decode_all", "the stage whose capture is the run's main trace"),
      integer("nsys.delay_s", "null", 0, 86400,
              "record only after so many seconds, such as a server's start; null: at once", nullable),
      integer("nsys.duration_s", "null", 1, 86400, "record for so many seconds; null: to the end", nullable),
      choice("nsys.cuda_graph_trace", "node", {"node", "graph"},
             "node: every kernel of a CUDA graph is seen"),
      text("nsys.pytorch", "null",
           "nsys's own ranges of PyTorch's functions, by its option --pytorch (autograd-nvtx, "
           "functions-trace, …) "
           "where it has one; they are in the default domain: operators of stages of any domain; null: none",
           nullable),
      flag("nsys.trace_forks", "false",
           "see children that fork and go on without exec, too; nsys warns that this may crash or hang them"),
  };
}

}  // namespace profgate::profilers
