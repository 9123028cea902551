#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "profilers/machine.h"
#include "workload/adapter.h"

/// What whoever wants builds measured has to say.
namespace profgate::ab {

/// A build that can be run: the pair's program, and the settings it gets.
struct arm_build {
  config::resolved config;           ///< the pair's own settings; gate_config() makes of them what is run
  std::string name{};                ///< for people: "main (1a2b3c4)", "build/dev"
  std::vector<std::string> command;  ///< may hold {config} {mode} {result}
  bool command_has_placeholders = false;
  bool is_of_engine = false;  ///< profgate's own, of which the settings say all that it computes
  std::filesystem::path working_directory{};
  std::string commit{};  ///< whole; empty outside git
  bool is_dirty = false;
  std::map<std::string, std::string> versions{};  ///< "compiler" → "GNU 12.2.0", …; the driver's is added
  bool is_typed = false;                          ///< beside another command, with which it is to be compared
};

/// Where and for whom.
struct surroundings {
  std::string pair{};
  std::string model{};
  std::filesystem::path folder{};  ///< <stage2_dir>/ab/<pair>: each comparison makes a folder in it
  std::filesystem::path collector_library{};
  std::filesystem::path process_noter{};  ///< stands before a server (workload/server.h)
  profilers::machine machine{};           ///< where ncu is looked for
  workload::adapter_files pytorch_adapter{};
  std::string profgate_version{};
  std::function<void(const std::string& line)> say{};          ///< one line an event; may be empty
  std::function<void(const std::string& what)> now_running{};  ///< what goes on right now; may be empty
  std::function<void()> refresh{};  ///< called a few times a second while something runs; may be empty
};

struct request {
  surroundings where;
  arm_build baseline;
  arm_build candidate;
  std::string look_deeper{};  ///< a command for the judgement
};

}  // namespace profgate::ab
