#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/settings.h"
#include "profilers/tool_command.h"
#include "profilers/tool_environment.h"

/// The machine that a profiler is to work on, and what its own part of `profgate doctor` says of it. Each
/// profiler's judgement is a pure function of its facts, so that every machine's trouble can be tested on any
/// machine.
namespace profgate::profilers {

struct machine {
  tool_environment environment;
  command_runner ask;  ///< for short questions such as `nsys --version`
  std::filesystem::path collector_library;
  bool collector_has_gpu_part = false;  ///< it was built with CUPTI's headers
  bool has_driver = false;              ///< NVIDIA's kernel driver is loaded
  bool is_root = false;
};

/// What a capture works with.
struct tool_use {
  const machine& here;
  std::filesystem::path executable;  ///< empty: a part of profgate
  const core::settings& settings;
  const command_runner& run;
};

enum class health { good, missing, degraded, broken };

const char* to_text(health state);

struct check {
  std::string id;
  health state = health::good;
  std::string finding;
  std::string remedy;  ///< empty where nothing is to be done
};

struct tool_facts {
  std::string path;
  std::string version;  ///< "2022.4.2"
};

/// A tool that is there but does not even say its version.
struct tool_fault {
  std::string finding;
  std::string remedy;
};

/// "580.95.05" -> 580, "2022.4.2" -> 2022; nothing where the text does not start with a number.
std::optional<int> leading_number(const std::string& version);
bool is_older_than(const std::string& version, int oldest);

/// Of an Nsight tool the oldest version that profgate was tried against.
inline constexpr int oldest_nsight_year = 2022;

}  // namespace profgate::profilers
