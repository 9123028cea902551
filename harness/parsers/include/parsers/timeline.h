#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/records.h"

namespace profgate::parsers {

/// What the embedded collector left. A file that is not whole, or whose numbers contradict each other:
/// bad_input.
core::timeline read_embedded_timeline(const std::filesystem::path& file);
/// By how the file begins.
bool is_embedded_timeline(const std::filesystem::path& file);

/// What a recording of the embedded collector says about itself; the timeline's dropped_records sums it up.
struct embedded_facts {
  std::uint64_t dropped_ranges = 0;
  std::uint64_t dropped_activities = 0;   ///< kernels, copies and calls
  std::uint64_t dropped_code_hashes = 0;  ///< not among the timeline's dropped records: its figures are whole
  bool is_activity_whole = true;          ///< false: the process died before CUPTI had delivered everything
  std::uint32_t cupti_version = 0;        ///< CUPTI's own number; 0: none was loaded
  double range_cost_ns = 0;               ///< what it took to record one, tried by itself; 0: nobody tried

  /// Where the device was to be waited for at the ends of some ranges: at how many of them it was, and at how
  /// many it was not, by reason.
  std::uint64_t synchronised_ends = 0;
  std::map<std::string, std::uint64_t> unsynchronised_ends{};
  std::string sync_problem{};  ///< why it was not at any
};
/// Both in one reading: the file may have hundreds of megabytes.
core::timeline read_embedded_timeline(const std::filesystem::path& file, embedded_facts& facts);

/// nsys's own SQLite export (2022.4 to 2025.3). The file is opened read-only and never changed. A range that
/// nsys closed only because the program died has no end; a kernel whose launch came before the recording has
/// the thread 0.
core::timeline read_nsys_sqlite(const std::filesystem::path& file);

/// A call that raised did a part of its work: it is called by what its last range says, as no stage is. All
/// that is read here is so already.
void rename_raised_calls(core::timeline& timeline);

/// Adds to a timeline what another file of the same capture holds; bad_input where another tool recorded it.
void append_timeline(core::timeline& all, core::timeline more, const std::filesystem::path& file_of_more);

/// Once all files of a capture are in it: work of processes that call several GPUs by one number gets numbers
/// that tell them apart.
void tell_gpus_apart(core::timeline& timeline);

}  // namespace profgate::parsers
