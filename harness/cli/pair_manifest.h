#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace profgate::cli {

/// How a pair was compiled, for the provenance.
struct build_facts {
  std::string type;
  std::string compiler;
  std::string compiler_version;
  std::string flags;
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
};

pair_manifest read_pair_manifest(const std::filesystem::path& file);

/// The build folder a person means: `given`, else the one this program lies in, else the only one below the
/// current folder that has registered pairs.
std::filesystem::path find_build_dir(const std::optional<std::filesystem::path>& given);

/// The build folder that a manifest lies in.
std::filesystem::path build_dir_of(const pair_manifest& manifest);

/// All pairs registered in a build folder, sorted by name.
std::vector<pair_manifest> registered_pairs(const std::filesystem::path& build_dir);

/// The one called `name`; otherwise bad_input that proposes the nearest.
pair_manifest find_pair(const std::filesystem::path& build_dir, const std::string& name);

}  // namespace profgate::cli
