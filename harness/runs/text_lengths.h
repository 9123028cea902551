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

/// "two models decode in turns: …"; empty: they do not.
std::string models_in_turns(const std::vector<parsers::adapter_report>& reports);

/// "the forward of Tower and Projector before each prefill, 37.1 ms", where more than half of the texts have
/// one; `before_ns`: of each text how long they took, and where that is not known no times.
std::string forwards_before(const std::vector<parsers::adapter_report>& reports,
                            const std::vector<std::int64_t>& before_ns, bool is_time_known);

}  // namespace profgate::runs
