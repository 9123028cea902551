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

void require_counter_access(const machine& here) {
  if (here.is_root || !are_counters_for_admins_only(here.environment).value_or(false)) return;
  throw core::not_possible(
      "the driver gives GPU counters to administrators only (RmProfilingAdminOnly), so there is no more "
      "than the timeline",
      "set NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module and reload it, or run as root");
}

namespace {

check check_ncu(const ncu_facts& facts) {
  if (facts.fault) return {"ncu", health::broken, facts.fault->finding, facts.fault->remedy};
  if (!facts.tool) {
    return {"ncu", health::missing, "Nsight Compute was not found; no kernel counters",
            "install Nsight Compute (part of the CUDA Toolkit) or set PROFGATE_NCU"};
  }
  if (is_older_than(facts.tool->version, oldest_nsight_year)) {
    return {"ncu", health::degraded,
            fmt::format("{} is version {}, older than {}", facts.tool->path, facts.tool->version,
                        oldest_nsight_year),
            "install a newer Nsight Compute"};
  }
  return {"ncu", health::good, fmt::format("{} ({})", facts.tool->version, facts.tool->path), ""};
}

check check_counters(const ncu_facts& facts) {
  if (!facts.has_driver) return {"counters", health::missing, "no GPU, no counters", ""};
  if (facts.counters_for_admin_only && !facts.running_as_root) {
    return {"counters", health::degraded,
            "the driver gives performance counters to administrators only (ERR_NVGPUCTRPERM)",
            "set NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module and reload it, or run as root; "
            "until then runs are timeline-only"};
  }
  return {"counters", health::good, "readable", ""};
}

}  // namespace

std::vector<check> judge(const ncu_facts& facts) {
  return {check_ncu(facts), check_counters(facts)};
}

std::vector<check> diagnose_ncu(const machine& here) {
  ncu_facts facts;
  facts.has_driver = here.has_driver;
  facts.counters_for_admin_only = are_counters_for_admins_only(here.environment).value_or(false);
  facts.running_as_root = here.is_root;
  const tool_location found = find_ncu(here.environment);
  if (!found.executable) return judge(facts);
  try {
    facts.tool = {found.executable->string(), ncu_version(*found.executable, here.ask)};
  } catch (const core::error& broken) {
    facts.fault = {broken.what(), broken.remedy()};
  }
  return judge(facts);
}

std::vector<core::setting> ncu_settings() {
  using namespace core::setting_rows;
  return {
      choice("ncu.target_processes", "all", {"all", "application-only"}, "which processes are profiled"),
      flag("ncu.gating_nvtx", "true",
           "count by one start for each stage, inside of its NVTX range; false: by one for all, where the "
           "timeline has launches of all of them"),
      list(
          "ncu.nvtx_include", "[]",
          "NVTX filters, each beginning with a stage's own (LLM@decode_all/); empty: the stages as they are"),
      text("ncu.set", "roofline", "section set; null: only the sections and metrics named", nullable),
      list("ncu.sections", "[SpeedOfLight]", "exact names of further sections"),
      list("ncu.metrics", "[]", "further metrics"),
      // Not range and app-range: they count a whole range in one row, while plan and parser want one a
      // kernel.
      choice("ncu.replay_mode", "kernel", {"kernel", "application"}, "what is repeated to read all counters"),
      choice("ncu.clock_control", "none", {"none", "base"},
             "none: clocks as in the timeline, so times compare"),
      choice("ncu.cache_control", "all", {"all", "none"}, "all: caches are flushed before each pass"),
      integer("ncu.launches_per_kernel", "3", 1, 100,
              "launches of a kernel that are counted, where it has them"),
      integer(
          "ncu.windows", "2", 1, 10,
          "places of a stage at which launches are counted, at most; each costs a run of the workload, so "
          "kernels that lie near each other are counted in one, in the middle of the stage"),
      integer("ncu.max_launches", "100", 1, 10000, "launches that are counted in all, at most"),
      integer("ncu.reduced_prompt_tokens", "null", 1, 1'000'000,
              "prompt length for the counters where the workload fills more than 45 % of the GPU's memory; "
              "null: never shortened",
              nullable),
  };
}

counting_conditions ncu_conditions(const core::settings& settings) {
  return {settings.text("ncu.cache_control"), settings.text("ncu.clock_control"),
          settings.text("ncu.replay_mode")};
}

}  // namespace profgate::profilers
