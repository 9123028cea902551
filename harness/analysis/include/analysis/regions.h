#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/kernel_patterns.h"
#include "core/records.h"

/// Time by NVTX range, as `nsys stats` tells it: host time (nvtx_pushpop_sum), the same range projected onto
/// the GPU (nvtx_gpu_proj_sum) and the kernels launched inside (nvtx_kern_sum). What was launched inside a
/// nested range counts for all ranges around it.
namespace profgate::analysis {

/// Host time and projection of a region, of one process or of all.
struct region_times {
  std::int64_t instances = 0;
  std::int64_t total_ns = 0;  ///< host time inside, nested ranges included
  std::int64_t self_ns = 0;   ///< without the ranges nested inside
  /// From the start of the first GPU operation launched inside an instance to the end of the last, summed.
  std::int64_t projected_ns = 0;
  std::int64_t projected_instances = 0;  ///< those that launched anything
  std::int64_t operations = 0;           ///< launches, copies and memsets; a graph's launch is one
};

struct region_process {
  std::uint32_t process_id = 0;
  region_times times;
};

/// One kernel inside a region, in one process on one device.
struct region_kernel {
  std::string kernel_name;
  std::uint32_t process_id = 0;
  int device = 0;
  std::int64_t total_ns = 0;
  std::int64_t calls = 0;
  std::int64_t instances = 0;  ///< instances of the region that launched it
};

struct region {
  std::string capture;
  std::string domain;             ///< empty: the default domain
  std::vector<std::string> path;  ///< outermost range first, its own name last
  region_times times;             ///< all processes and threads together
  std::vector<region_process> processes;
  std::vector<region_kernel> kernels;  ///< that the filter takes; largest total first
  std::int64_t kernel_ns = 0;          ///< sum over `kernels`
  std::int64_t kernel_calls = 0;
};

struct region_list {
  std::vector<region> regions;  ///< a parent stands before what it encloses; siblings largest first
  std::size_t omitted = 0;      ///< regions beyond the largest, which are listed
};

/// Push/pop ranges of every domain that were closed. Start/end ranges enclose launches only by chance and are
/// left out.
region_list find_regions(const core::timeline& timeline, const std::string& capture,
                         const kernel_filter& filter);

}  // namespace profgate::analysis
