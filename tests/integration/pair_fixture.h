#pragma once

#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "artifacts/status.h"

/// Drives the real profgate program on pairs of a throw-away project.
namespace profgate::integration {

struct command_result {
  int exit_code = -1;                      ///< -1: it was killed
  std::string output;                      ///< both streams
  std::vector<std::string> left_behind{};  ///< "<pid> <name>" of what still lived after it
  std::string last_line() const;
};

class pair_fixture : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// Registers a pair whose workload is profgate-probe with these further words, e.g. {"--fault", "exit-3"}.
  std::filesystem::path register_probe(const std::vector<std::string>& words,
                                       const std::string& model = "probe");
  /// Registers a pair of the llm engine: `model_choice` as in conf/model.
  std::filesystem::path register_llm(const std::string& model_choice, const std::string& workload_choice,
                                     const std::vector<std::string>& overrides = {});
  /// Registers any command that takes {config}, {mode} and {result}.
  std::filesystem::path register_contract(const std::vector<std::string>& argv);
  /// Registers any command, run as written.
  std::filesystem::path register_command(const std::vector<std::string>& argv);

  /// A build folder with one registered pair; returns the manifest in it.
  std::filesystem::path build_of(const std::filesystem::path& manifest, const std::string& folder,
                                 const std::string& pair);

  /// Lets git know somebody who accepts baselines and commits: Ada, and nobody else's settings.
  void use_git_identity();

  command_result profgate(const std::vector<std::string>& words,
                          const std::function<std::optional<std::string>()>& stop_request = {}) const;
  /// Any command, in the project's folder.
  command_result run(const std::vector<std::string>& argv,
                     const std::function<std::optional<std::string>()>& stop_request = {}) const;
  /// `profgate run <settings> -- <argv>`.
  command_result run_program(const std::vector<std::string>& settings,
                             const std::vector<std::string>& argv) const;
  command_result run_pair(const std::filesystem::path& manifest,
                          const std::vector<std::string>& overrides = {}) const;

  std::filesystem::path stage2_dir() const { return m_project / "tmp" / "stage2"; }
  /// All run directories, oldest first.
  std::vector<std::filesystem::path> runs() const;
  std::filesystem::path latest_run() const;
  /// All files of comparisons (tmp/stage2/ab) that are called so.
  std::vector<std::filesystem::path> files_ending(const std::string& ending) const;
  artifacts::step_status status_of(const std::string& step) const;
  std::string text_of(const std::string& file_in_latest_run) const;

  std::filesystem::path m_project;
  std::filesystem::path m_program = PROFGATE_PROGRAM;
  std::map<std::string, std::string> m_environment;  ///< for the profgate that runs
};

/// A small file system of its own, so that it can be filled or made read-only. Needs root.
class mounted_tmpfs {
 public:
  mounted_tmpfs(std::filesystem::path where, const std::string& options);
  ~mounted_tmpfs();
  mounted_tmpfs(const mounted_tmpfs&) = delete;
  mounted_tmpfs& operator=(const mounted_tmpfs&) = delete;
  bool is_mounted() const { return m_is_mounted; }
  void make_read_only();

 private:
  std::filesystem::path m_where;
  bool m_is_mounted = false;
};

}  // namespace profgate::integration
