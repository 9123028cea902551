#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What `profgate doctor` finds out and what it makes of it. The judgement is a pure function of the facts,
/// so that every machine's trouble can be tested on any machine.
namespace profgate::cli {

struct tool_facts {
  std::string path;
  std::string version;  ///< "2022.4.2"
};

/// A tool that is there but does not even say its version.
struct tool_fault {
  std::string finding;
  std::string remedy;
};

struct importer_facts {
  std::optional<std::string> path;             ///< nothing: not found anywhere
  std::vector<std::string> missing_libraries;  ///< what the loader could not find
};

struct machine_facts {
  std::optional<std::string> driver_version;       ///< of the NVIDIA kernel driver
  std::optional<std::string> driver_cuda_version;  ///< the newest CUDA that it supports: "12.8"
  std::optional<std::string> engine_cuda_version;  ///< CUDA that the llm engine was built with; nothing: none
  std::optional<std::string> nvml_error;           ///< why NVML could not be used, although there is a driver
  std::vector<std::string> gpu_names;
  std::optional<tool_facts> nsys;
  std::optional<tool_fault> nsys_fault;
  importer_facts nsys_importer;
  std::vector<std::string> leftover_nsys_agents;  ///< "pid command" of agents that no nsys owns any more
  std::optional<tool_facts> ncu;
  std::optional<tool_fault> ncu_fault;
  bool counters_for_admin_only = false;
  bool running_as_root = false;
  bool collector_present = false;
  bool collector_has_gpu_part = false;       ///< it was built with CUPTI's headers
  std::optional<std::string> cupti_library;  ///< that the collector would load
  std::string cupti_absent_reason;
  std::string runs_dir;
  std::optional<std::uint64_t> free_bytes;
  std::uint64_t needed_bytes = 0;
};

enum class health { good, missing, degraded, broken };

struct check {
  std::string id;
  health state;
  std::string finding;
  std::string remedy;  ///< empty where nothing is to be done
};

std::vector<check> diagnose(const machine_facts& facts);

/// True where something is broken, as opposed to merely absent.
bool anything_broken(const std::vector<check>& checks);

const char* to_text(health state);

}  // namespace profgate::cli
