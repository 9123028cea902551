#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/records.h"
#include "profilers/capture.h"

namespace profgate::profilers {

enum class range_state { closed, open, absent };

range_state find_range(const core::timeline& timeline, const range_name& wanted);

/// The error for a range that the workload, which ran to a good end, never opened. `seen`: what it did open.
[[noreturn]] void fail_absent_range(const range_name& wanted, const core::timeline& seen);

/// Of `opened`, those that the timeline has none of.
std::vector<range_name> absent_ranges(const core::timeline& timeline, const std::vector<range_name>& opened);

/// Throws unless every range of the request is in the timeline and closed.
void require_ranges(const core::timeline& timeline, const std::vector<range_name>& wanted);

/// Throws where the run did not end well: not started, out of time, interrupted, a signal, an exit code.
/// `what` names it: "the workload".
void require_good_run(const tool_run& run, const std::string& what, const std::filesystem::path& log_file);

/// A run directory that cannot be written, in words.
[[noreturn]] void fail_on_files(const std::filesystem::filesystem_error& problem);

}  // namespace profgate::profilers
