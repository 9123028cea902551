#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "parsers/adapter_report.h"
#include "runs/process_samples.h"

/// What an adapter timed on the GPU, in the place of what the host timed.
namespace profgate::runs {

/// Of the stages among `stages_ns` whose ranges are the adapter's, where some process told such times; in the
/// order of the stages' rules. `process_ids` by the numbers in `stage_processes`.
std::vector<std::pair<std::string, parsers::device_times>> device_times_of_stages(
    const config::resolved& config, const std::vector<parsers::adapter_report>& reports,
    const std::map<std::string, std::vector<std::int64_t>>& stages_ns,
    const parsers::process_numbers& stage_processes, const std::vector<std::uint32_t>& process_ids);

/// The samples of a stage in the order of `times`: one process after the other.
void take_device_times(const std::string& stage, parsers::device_times times, process_samples& samples);

}  // namespace profgate::runs
