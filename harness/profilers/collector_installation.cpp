#include "profilers/collector_installation.h"

#include <fmt/format.h>

#include <sstream>
#include <system_error>

#include "collector/cupti_places.h"

namespace profgate::profilers {
namespace {

namespace fs = std::filesystem;

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

check check_collector(const collector_facts& facts) {
  if (!facts.is_present) {
    return {"embedded collector", health::broken,
            "libprofgate_collector.so is missing from this installation", "build or install profgate again"};
  }
  if (facts.has_gpu_part && facts.cupti_library) {
    return {"embedded collector", health::good,
            fmt::format("records NVTX ranges, and GPU activity through {}", *facts.cupti_library), ""};
  }
  const std::string why =
      facts.has_gpu_part ? facts.cupti_absent_reason : "profgate was built without CUPTI's headers";
  const std::string finding = fmt::format("records NVTX ranges only: {}", why);
  if (!facts.has_driver) return {"embedded collector", health::good, finding, ""};
  return {
      "embedded collector", health::degraded, finding,
      facts.has_gpu_part
          ? "install CUPTI (part of the CUDA Toolkit) or set PROFGATE_CUPTI_LIBRARY; nsys needs neither"
          : "configure profgate again where cupti.h is (PROFGATE_CUPTI_INCLUDE_DIR); nsys does not need it"};
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

std::vector<check> judge(const collector_facts& facts) {
  return {check_collector(facts)};
}

std::vector<check> diagnose_collector(const machine& here) {
  collector_facts facts;
  facts.is_present = fs::exists(here.collector_library);
  facts.has_gpu_part = here.collector_has_gpu_part;
  facts.has_driver = here.has_driver;
  const cupti_location cupti = find_cupti(here.environment);
  if (cupti.library) facts.cupti_library = cupti.library->string();
  facts.cupti_absent_reason = cupti.reason;
  return judge(facts);
}

std::vector<core::setting> collector_settings() {
  using namespace core::setting_rows;
  return {
      integer("collector.max_bytes", "268435456", 1e6, 1e12,
              "room that the embedded collector has for the records of one process; what does not fit is "
              "dropped and counted"),
  };
}

}  // namespace profgate::profilers
