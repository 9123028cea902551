#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace profgate::cli {

/// How a pair was compiled, for the provenance; nothing of a program that no project registers.
struct build_facts {
  std::optional<std::string> type;
  std::optional<std::string> compiler;  ///< with its version
  std::optional<std::string> flags;
};

/// One registered pair, as profgate_add_workload() wrote it to <build>/profgate/pairs/<pair>.json.
struct pair_manifest {
  std::filesystem::path file;  ///< it was read from
  std::string pair;            ///< "<model>.<config>"
  std::string model;
  std::string config;
  std::string device;                       ///< "cpu" or "cuda"
  std::optional<std::string> engine;        ///< "llm"; nothing for a plain command
  std::optional<std::string> model_choice;  ///< "llm/llama-tiny"; nothing for a plain command
  std::string workload_choice;
  std::vector<std::string> command;  ///< may hold {config} {mode} {result}
  bool command_has_placeholders = false;
  std::filesystem::path working_directory;
  std::filesystem::path project_dir;
  std::vector<std::filesystem::path> conf_dirs;
  std::vector<std::string> overrides;
  build_facts build;
  bool is_being_saved = false;  ///< of a typed command: --save makes a registered pair of it
};

/// Of a build folder that was copied or moved, alone or with its project, paths lead into the copy.
pair_manifest read_pair_manifest(const std::filesystem::path& file);

/// `file`, or its copy in the build folder that this process was started in: CTest's tests name files of the
/// folder that was configured, also in a copy of it.
std::filesystem::path manifest_here(const std::filesystem::path& file);

/// Build folders that have registered pairs, in `folder` and its build/, sorted. A copy that was put aside is
/// none, unless all are.
std::vector<std::filesystem::path> build_dirs_below(const std::filesystem::path& folder);

/// The build folder a person means: `given`, else the one this program lies in, else the only one of
/// build_dirs_below() the current folder.
std::filesystem::path find_build_dir(const std::optional<std::filesystem::path>& given);

/// bad_input where it is a setting or a program, which stand elsewhere on the command line.
void require_pair_name(const std::string& name);

/// The build folder that a manifest lies in.
std::filesystem::path build_dir_of(const pair_manifest& manifest);

/// All pairs registered in a build folder, sorted by name.
std::vector<pair_manifest> registered_pairs(const std::filesystem::path& build_dir);

/// The one called `name`; otherwise bad_input that proposes the nearest.
pair_manifest find_pair(const std::filesystem::path& build_dir, const std::string& name);

}  // namespace profgate::cli
