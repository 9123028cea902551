#pragma once

#include <filesystem>
#include <string>

#include "core/records.h"

namespace profgate::parsers {

/// The result JSON that a workload writes. Only schema_version and samples_ns are required; what is absent
/// or null stays empty.
core::workload_result read_workload_result(const std::filesystem::path& file);

/// The same from text; `origin` stands in the errors.
core::workload_result parse_workload_result(const std::string& text, const std::string& origin);

}  // namespace profgate::parsers
