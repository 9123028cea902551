#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/facts.h"
#include "artifacts/status.h"

/// Which files make up a run's bundle: their names, what they are, which of them must be there.
namespace profgate::runs {

/// The timeline of one traced run of the workload.
struct timeline_file {
  std::string name;                 ///< relative to the run directory
  std::optional<std::string> gate;  ///< the stages it was gated on ("decode_all, prefill"); nothing: whole
  std::vector<std::filesystem::path> paths;
};

/// Of the first profiler that left any. `gates`: the stages that were captured, that of the first capture
/// first; none where the captures are whole runs.
std::vector<timeline_file> timeline_files(const std::filesystem::path& run_dir,
                                          const std::vector<std::string>& gates);

/// The stage that a profiler's file was gated on, by its name: "run.prefill.sqlite" is of prefill,
/// "run.sqlite" of the first gate.
std::optional<std::string> gate_of_timeline(const std::filesystem::path& path,
                                            const std::vector<std::string>& gates);

/// Result JSONs that the traced runs wrote.
std::vector<std::filesystem::path> profiled_results(const std::filesystem::path& run_dir);

/// Files by a pattern of the profilers' tables, "ncu/counters*.csv", sorted.
std::vector<std::filesystem::path> files_like(const std::filesystem::path& run_dir, std::string_view pattern);

/// Every file of the bundle that exists, but for the reports themselves, in the order in which a person reads
/// them.
std::vector<analysis::artifact_facts> list_artifacts(const std::filesystem::path& run_dir);

/// A step's end; nothing: it has not run.
using status_lookup = std::function<const std::optional<artifacts::step_status>&(const std::string& step)>;

/// Files that the steps which ended well should have left and did not.
std::vector<std::string> missing_artifacts(const std::filesystem::path& run_dir,
                                           const status_lookup& status_of);

/// Retention compresses the files of old runs; who reads a timeline wants plain ones. Those that are
/// compressed are unpacked into a folder that goes with this object.
class plain_files {
 public:
  explicit plain_files(const std::vector<std::filesystem::path>& paths);
  ~plain_files();
  plain_files(const plain_files&) = delete;
  plain_files& operator=(const plain_files&) = delete;

  const std::vector<std::filesystem::path>& paths() const { return m_paths; }

 private:
  std::vector<std::filesystem::path> m_paths;
  std::filesystem::path m_folder;  ///< empty: nothing had to be unpacked
};

}  // namespace profgate::runs
