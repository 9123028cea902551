#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"

/// What ncu counted. Its own output is CSV (`--import x.ncu-rep --csv --page raw --print-units base` under
/// LC_ALL=C); up to 2025.3 it writes no JSON.
///
/// - Lines that ncu or the program printed before the header, and ncu's own `==…==` lines anywhere, are left
///   out.
/// - Values are converted to base units (ns, byte, hz; 1 Kbyte = 1000 byte). A metric in a unit that is not
///   known here is left out: absent, never misread.
/// - A number with a separator of thousands, or one that may have one ("1.980"), is refused: bad_input with
///   line and column.
/// - A metric that another version calls differently appears under its name of 2025.3 (ncu_metric_names.h).
namespace profgate::parsers {

/// The page `raw` (a units row, one row a launch) or `details` (one row a metric, under its label or its
/// name): told apart by their columns.
std::vector<core::kernel_counters> parse_ncu_csv(std::string_view text, const std::string& file);

/// The same of a file.
std::vector<core::kernel_counters> read_ncu_counters(const std::filesystem::path& file);

}  // namespace profgate::parsers
