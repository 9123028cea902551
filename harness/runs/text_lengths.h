#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parsers/adapter_report.h"

namespace profgate::runs {

/// "4 texts of 16 to 200 prompt tokens and 11 to 63 decode steps"; empty where more than half of them have
/// one length of each, so that the median text is one of those. `decode_steps`: of each text.
std::string lengths_that_differ(const std::vector<parsers::adapter_report>& reports,
                                const std::vector<std::int64_t>& decode_steps);

}  // namespace profgate::runs
