#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/records.h"
#include "profilers/machine.h"
#include "profilers/ncu_commands.h"
#include "profilers/tool_command.h"

namespace profgate::profilers {

/// One run of the workload under ncu.
struct counter_session {
  std::string name;  ///< empty for the first: run.ncu-rep, raw.csv; else run-<name>.ncu-rep, raw-<name>.csv
  std::string what;  ///< for people: "decode_all"
  ncu_filter filter{};
};

struct counters_request {
  std::filesystem::path executable;   ///< ncu
  std::vector<std::string> workload;  ///< its argument list
  std::map<std::string, std::string> set_environment{};
  std::filesystem::path output_folder;  ///< <run>/ncu; must exist
  std::filesystem::path log_file;
  std::int64_t deadline_ms = 0;  ///< for each run of the workload; 0: none
  ncu_options ncu{};
  std::vector<counter_session> sessions{};
  std::vector<std::string> columns{};  ///< metrics that the analysis reads
};

struct counters_result {
  std::vector<std::filesystem::path> files{};  ///< all that is to be kept
  std::vector<core::kernel_counters> launches{};
  std::vector<std::string> notes{};
};

/// Leaves run.ncu-rep, raw.csv (the whole raw page) and counters.csv (`columns`, with mangled names) for each
/// session, and sections.txt. What ncu really does is told apart, mostly by its words, since its exit code is
/// often 0:
/// - counters denied: not_possible; the timeline stays what there is;
/// - an unknown section: bad_input;
/// - the workload's own failure, a crash, a timeout: step_failure;
/// - no launch matched: a note, or step_failure where that is so for every session;
/// - a metric that the chip lacks: a note.
counters_result capture_counters(const counters_request& request, const command_runner& run);
/// The same as the settings ncu.* have it.
counters_result capture_counters(const counters_request& request, const tool_use& use);

}  // namespace profgate::profilers
