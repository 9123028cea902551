#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "artifacts/gpu_facts.h"
#include "artifacts/host_facts.h"
#include "artifacts/inputs.h"
#include "artifacts/packages.h"
#include "core/measured.h"

namespace profgate::artifacts {

/// Asks git about a folder: process::git_output.
using git_runner = std::function<std::optional<std::string>(const std::filesystem::path& dir,
                                                            const std::vector<std::string>& words)>;

struct git_facts {
  core::measured<std::string> commit;
  core::measured<std::string> branch;
  core::measured<bool> dirty;  ///< tracked files were changed; logs, builds and baselines are no code
  core::measured<std::int64_t> changed_files_count;
};

/// What is checked out in `project_dir`. `baselines_dir`: as gate.baselines_dir has it; one that was just
/// accepted changes nothing of what is measured.
git_facts gather_git_facts(const std::filesystem::path& project_dir,
                           const std::filesystem::path& baselines_dir, const git_runner& git);

/// How the harness and the workloads were built; CMake knows.
struct build_facts {
  std::string profgate_version;
  core::measured<std::string> compiler;
  core::measured<std::string> build_type;
  core::measured<std::string> flags;
};

/// Everything that could explain why two runs differ (R7).
struct provenance {
  std::string run_id;
  std::string created_utc;
  host_facts host;
  gpu_facts gpu_at_start;
  git_facts git;
  build_facts build;
  std::map<std::string, core::measured<std::string>> tool_versions;     ///< "nsys" → "2022.4.2"
  std::map<std::string, core::measured<std::string>> library_versions;  ///< "cuda_runtime", "cublas", …
  package_versions packages{};                                          ///< that the program runs with
  std::string config_sha256;                                            ///< of config.yaml's text
  std::vector<input_file> inputs;
  std::vector<std::vector<std::string>> argv;      ///< redacted here, on writing
  std::map<std::string, std::string> environment;  ///< from allowed_environment
};

/// The text of env.json. Whatever is null has its reason in the same object, under "not_measured".
std::string env_json(const provenance& facts);

/// What is known only when the run has come to its end.
struct late_facts {
  gpu_facts gpu_at_end;
  std::vector<std::vector<std::string>> argv;           ///< of the commands run since
  std::map<std::string, std::string> library_versions;  ///< as the workload named them
};

/// The same document with them.
std::string with_late_facts(const std::string& env_json_text, const late_facts& late);

}  // namespace profgate::artifacts
