#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/records.h"

namespace profgate::parsers {

/// One row of nsys's push/pop summary.
struct range_summary {
  std::string domain;  ///< empty: the default domain
  std::string name;
  std::int64_t total_ns = 0;
  std::int64_t instances = 0;
  double mean_ns = 0;
  double median_ns = 0;
  std::int64_t min_ns = 0;
  std::int64_t max_ns = 0;
  double stddev_ns = 0;
};

/// nvtxppsum (2022.4) or nvtx_pushpop_sum (2025.3). A file of 0 bytes is nsys's way to say "no data".
std::vector<range_summary> read_nvtx_pushpop_csv(const std::filesystem::path& file);

/// gpukernsum (2022.4) or cuda_gpu_kern_sum (2025.3). The report does not say on which device: that stays
/// empty.
std::vector<core::kernel_record> read_kernel_sum_csv(const std::filesystem::path& file);

}  // namespace profgate::parsers
