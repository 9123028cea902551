#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/records.h"

/// The reports of `nsys stats -f csv`, by the names of their columns: what our own figures are held against,
/// and what is left of a trace whose SQLite is not there. A file that is truncated, of another encoding or
/// locale, or of another report is a bad_input with line and column.
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

/// One row of nsys's projection of ranges onto the GPU, summed by range.
struct projection_summary {
  std::string domain;  ///< empty: the default domain
  std::string name;
  std::string style;              ///< "PushPop" or "StartEnd"
  std::int64_t projected_ns = 0;  ///< from the first GPU operation's start to the last one's end, summed
  std::int64_t range_ns = 0;      ///< host time of the same instances
  std::int64_t instances = 0;
  std::int64_t operations = 0;
};

/// nvtx_gpu_proj_sum (2025.3), or nvtxgpuproj (2022.4), which has a row an instance: those are summed here.
std::vector<projection_summary> read_nvtx_projection_csv(const std::filesystem::path& file);

/// One row of nsys's kernels by range. Rows without a range are kernels that ran in none.
struct range_kernel_summary {
  std::string domain;
  std::string name;
  std::string style;
  std::int64_t process_id = 0;
  std::int64_t thread_id = 0;
  std::int64_t range_instances = 0;  ///< that launched this kernel
  std::int64_t kernel_instances = 0;
  std::int64_t total_ns = 0;
  std::int64_t min_ns = 0;
  std::int64_t max_ns = 0;
  std::string kernel_name;
};

/// nvtxkernsum (2022.4) or nvtx_kern_sum (2025.3).
std::vector<range_kernel_summary> read_nvtx_kernels_csv(const std::filesystem::path& file);

/// gpukernsum (2022.4) or cuda_gpu_kern_sum (2025.3). The report does not say on which device: that stays
/// empty.
std::vector<core::kernel_record> read_kernel_sum_csv(const std::filesystem::path& file);

}  // namespace profgate::parsers
