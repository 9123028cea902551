#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/records.h"
#include "profilers/capture.h"

namespace profgate::profilers {

struct embedded_run {
  tool_run run;
  std::vector<std::filesystem::path> files;  ///< <stem>.<pid>.timeline, one a process that used NVTX or CUDA
};

enum class collected {
  everything,
  inside_capture_ranges,  ///< what happens inside of the request's ranges
  ranges_only,            ///< of the whole run, and nothing of the GPU
};

embedded_run run_under_collector(const capture_request& request, const std::string& stem, collected collect,
                                 const command_runner& run);

/// "decode_all@LLM,prefill@LLM"
std::string capture_range_list(const std::vector<range_name>& ranges);

}  // namespace profgate::profilers
