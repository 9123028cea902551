#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"
#include "core/settings.h"
#include "profilers/capture.h"
#include "profilers/capture_counters.h"
#include "profilers/machine.h"

/// The profilers that profgate knows, as rows of two tables. Steps, the reading of runs, the doctor, the
/// settings and the list of a run's files all go by them: a new profiler is its own files and one row.
namespace profgate::profilers {

/// Files of a run that a profiler leaves, relative to the run directory; the last component may hold one '*'.
struct artifact_row {
  std::string_view path;
  std::string_view title;
  bool is_required = false;  ///< where the profiler's step ended well
};

/// What timelines and counters have in common.
struct profiler {
  std::string_view name;   ///< in settings, in status.json and of a timeline that it recorded
  std::string_view title;  ///< in a sentence: "the embedded collector"
  /// Where it is, or why there is none. Null: a part of profgate, always there.
  tool_location (*find)(const tool_environment& environment) = nullptr;
  std::string_view remedy{};  ///< where it is not found
  /// What it says of itself, for the provenance; step_failure where it does not. Null: a part of profgate.
  std::string (*version)(const std::filesystem::path& executable, const command_runner& ask) = nullptr;
  std::vector<check> (*diagnose)(const machine& here) = nullptr;  ///< its part of the doctor
  std::vector<core::setting> (*settings)() = nullptr;             ///< null: it has none of its own
  std::vector<artifact_row> artifacts{};  ///< in the order in which a person reads them
};

struct timeline_backend {
  profiler tool;
  capture_result (*capture)(const capture_request& request, const tool_use& use) = nullptr;
  /// Told by a file's content. Null: whatever is nobody else's, since the reader says best what is wrong.
  bool (*is_own_file)(const std::filesystem::path& file) = nullptr;
  core::timeline (*read)(const std::filesystem::path& file) = nullptr;
  std::string_view timelines{};      ///< the files to read: "nsys/run*.sqlite"
  bool has_one_file_a_gate = false;  ///< run.prefill.sqlite; else the files are the processes of one capture
};

/// How launches were counted, in the tool's own words; empty: it has no such thing.
struct counting_conditions {
  std::string cache_control{};
  std::string clock_control{};
  std::string replay_mode{};
};

struct counter_backend {
  profiler tool;
  /// not_possible where the machine does not let it count.
  void (*require_access)(const machine& here) = nullptr;
  counters_result (*capture)(const counters_request& request, const tool_use& use) = nullptr;
  std::vector<core::kernel_counters> (*read)(const std::filesystem::path& file) = nullptr;
  std::string_view counters{};      ///< the files to read: "ncu/counters*.csv"
  std::string_view all_counters{};  ///< to read where there are none of those: "ncu/raw*.csv"
  counting_conditions (*conditions)(const core::settings& settings) = nullptr;
};

/// In the order in which timeline=auto prefers them.
const std::vector<timeline_backend>& timeline_backends();
/// The first that is there counts.
const std::vector<counter_backend>& counter_backends();
/// All of both.
std::vector<const profiler*> all_profilers();

/// One timeline from the files of one capture (a process or a stage each), told apart by their content. All
/// must come from the same tool. Their clocks differ: only ranges of one process may be compared.
core::timeline read_timelines(const std::vector<std::filesystem::path>& files);

}  // namespace profgate::profilers
