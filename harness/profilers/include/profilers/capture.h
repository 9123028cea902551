#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/file_lock.h"
#include "core/records.h"
#include "profilers/machine.h"
#include "profilers/nsys_commands.h"
#include "profilers/nsys_installation.h"
#include "profilers/tool_command.h"

namespace profgate::profilers {

/// One workload to be recorded on a timeline.
struct capture_request {
  std::vector<std::string> workload;  ///< its argument list
  std::map<std::string, std::string> set_environment;
  std::vector<std::string> unset_environment;
  std::filesystem::path output_folder;  ///< <run>/nsys; must exist
  std::filesystem::path log_file;
  std::int64_t deadline_ms = 0;  ///< for each run of the workload; 0: none

  /// Ranges that the timeline must hold, closed. With is_gated only what happens inside of them is recorded;
  /// nsys can wait for one range only, so it runs the workload once for each, the embedded collector once in
  /// all.
  std::vector<range_name> ranges;
  bool is_gated = true;
  /// Of `ranges` those that the unprofiled run opened: where an ungated trace has none of one, the tool did
  /// not see the process that opens it (capture_result::unseen).
  std::vector<range_name> opened_unprofiled{};
  std::optional<range_name> around_all;  ///< a range around all of them: nsys waits for it, and runs once

  /// Of observe_ranges alone: ranges at whose ends the device is waited for; their name may be "*".
  std::vector<range_name> synchronised{};

  /// libprofgate_collector.so; for nsys only to find out why a range never opened (may be empty).
  std::filesystem::path collector_library;
  std::uint64_t collector_max_bytes = std::uint64_t{256} << 20;
  bool leaves_processes =
      false;               ///< the unprofiled run left some behind: the recording does not wait for them
  bool is_server = false;  ///< it may die by the signal that stops it: the recording ends before that
  nsys_options nsys;
  std::filesystem::path lock_file = core::shared_lock_file("nsys");
  std::int64_t max_lock_wait_ms = 30 * 60 * 1000;
  std::function<void(const std::string& line)> say;  ///< a word to the person who waits; may be empty
};

/// The workload ran to a good end and opened ranges, but never the wanted one: its name is wrong.
class absent_range : public core::bad_input {
 public:
  absent_range(const std::string& what_is_wrong, std::string remedy, range_name wanted,
               std::optional<std::string> meant = std::nullopt)
      : core::bad_input(what_is_wrong, std::move(remedy)),
        m_wanted(std::move(wanted)),
        m_meant(std::move(meant)) {}
  const range_name& wanted() const { return m_wanted; }
  const std::optional<std::string>& meant() const { return m_meant; }  ///< a range in its domain

 private:
  range_name m_wanted;
  std::optional<std::string> m_meant;
};

struct capture_result {
  std::string tool;  ///< "nsys" or "embedded"
  std::string version;
  std::string capture_ranges;                         ///< "decode_all@LLM,prefill@LLM"; empty: everything
  std::vector<std::filesystem::path> files;           ///< all that is to be kept
  std::vector<std::filesystem::path> timeline_files;  ///< of these, what read_timelines takes
  std::vector<std::vector<std::string>> commands;     ///< every argument list that ran
  std::vector<range_name> unseen;  ///< of capture_request::opened_unprofiled, absent in the trace
  std::vector<std::string> notes;
  std::vector<std::string> quiet_notes;  ///< for the record; no news to the person who waits
};

/// Leaves run.nsys-rep, run.sqlite and run_<report>.csv for the first range (or all, ungated), the same with
/// run.<range> for each further one. step_failure when nsys or the workload fails, absent_range
/// when other ranges were opened; what was recorded stays.
capture_result capture_with_nsys(const capture_request& request, const nsys_installation& nsys,
                                 const command_runner& run);
/// The same as the settings nsys.* have it.
capture_result capture_with_nsys(const capture_request& request, const tool_use& use);

/// Runs the workload with nothing but the collector's clock around its ranges, which costs some ten
/// nanoseconds a range: for programs that do not time themselves, and to find out why a range never opened.
/// Leaves no file; empty where the program opened none.
core::timeline observe_ranges(const capture_request& request, const command_runner& run);

/// What the ranges' times hold beside the program's own: the waits for the device at the ends of
/// capture_request::synchronised, and what it takes to record a range.
struct device_waits {
  bool are_done = false;             ///< at some of them at least
  std::vector<std::string> notes{};  ///< at which not, and why
  double range_cost_ns = 0;          ///< of processes the largest; 0: nobody tried
};
core::timeline observe_ranges(const capture_request& request, const command_runner& run, device_waits& waits);

/// Leaves embedded.timeline, or embedded.<pid>.timeline for each process where several use NVTX.
capture_result capture_embedded(const capture_request& request, const command_runner& run);
/// The same as the settings collector.* have it.
capture_result capture_embedded(const capture_request& request, const tool_use& use);

}  // namespace profgate::profilers
