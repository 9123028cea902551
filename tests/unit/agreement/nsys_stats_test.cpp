#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <string>
#include <tuple>

#include "analysis/timeline_analysis.h"
#include "parsers/nsys_csv.h"
#include "parsers/timeline.h"

/// The same recordings, summed by `nsys stats` and by us: every time to the nanosecond, every count.
namespace profgate::test {
namespace {

const std::filesystem::path recorded = std::filesystem::path(PROFGATE_TEST_DATA) / "nsight/h200-2025.3.1";

class nsys_stats : public ::testing::TestWithParam<std::string> {
 protected:
  static std::filesystem::path csv(const std::string& report) {
    return recorded / (GetParam() + "_" + report + ".csv");
  }
  core::timeline m_timeline = parsers::read_nsys_sqlite(recorded / (GetParam() + ".sqlite"));
  analysis::timeline_figures m_figures =
      analysis::analyze_timelines({{"run", std::nullopt, m_timeline}}, {"prefill", "decode_all"}, "LLM", "");
};

using sums = std::map<std::string, std::tuple<std::int64_t, std::int64_t, std::int64_t>>;

TEST_P(nsys_stats, has_the_same_kernels) {
  sums ours;
  for (const core::kernel_record& kernel : m_figures.kernels) {
    ours[kernel.kernel_name] = {kernel.total_ns, kernel.calls, 0};
  }
  sums theirs;
  for (const core::kernel_record& kernel : parsers::read_kernel_sum_csv(csv("cuda_gpu_kern_sum"))) {
    theirs[kernel.kernel_name] = {kernel.total_ns, kernel.calls, 0};
  }
  EXPECT_GE(theirs.size(), 8U);
  EXPECT_EQ(ours, theirs);
}

TEST_P(nsys_stats, has_the_same_host_time_by_range) {
  sums ours;
  for (const analysis::region& region : m_figures.regions.regions) {
    auto& [total_ns, instances, unused] = ours[region.domain + ":" + region.path.back()];
    total_ns += region.times.total_ns;
    instances += region.times.instances;
  }
  sums theirs;
  for (const parsers::range_summary& range : parsers::read_nvtx_pushpop_csv(csv("nvtx_pushpop_sum"))) {
    theirs[range.domain + ":" + range.name] = {range.total_ns, range.instances, 0};
  }
  EXPECT_GE(theirs.size(), 2U);
  EXPECT_EQ(ours, theirs);
}

TEST_P(nsys_stats, projects_ranges_onto_the_gpu_alike) {
  sums ours;
  for (const analysis::region& region : m_figures.regions.regions) {
    if (region.times.projected_instances == 0) continue;
    auto& [projected_ns, instances, operations] = ours[region.domain + ":" + region.path.back()];
    projected_ns += region.times.projected_ns;
    instances += region.times.projected_instances;
    operations += region.times.operations;
  }
  sums theirs;
  for (const auto& range : parsers::read_nvtx_projection_csv(csv("nvtx_gpu_proj_sum"))) {
    theirs[range.domain + ":" + range.name] = {range.projected_ns, range.instances, range.operations};
  }
  EXPECT_GE(theirs.size(), 2U);
  EXPECT_EQ(ours, theirs);
  if (!std::filesystem::exists(csv("nvtx_gpu_proj_trace"))) return;
  sums by_instance;
  for (const auto& range : parsers::read_nvtx_projection_csv(csv("nvtx_gpu_proj_trace"))) {
    by_instance[range.domain + ":" + range.name] = {range.projected_ns, range.instances, range.operations};
  }
  EXPECT_EQ(by_instance, theirs);
}

TEST_P(nsys_stats, finds_the_same_kernels_in_each_range) {
  sums ours;
  for (const analysis::region& region : m_figures.regions.regions) {
    for (const analysis::region_kernel& kernel : region.kernels) {
      auto& [total_ns, calls, instances] = ours[region.domain + ":" + region.path.back() + " " +
                                                std::to_string(kernel.process_id) + " " + kernel.kernel_name];
      total_ns += kernel.total_ns;
      calls += kernel.calls;
      instances += kernel.instances;
    }
  }
  sums theirs;
  for (const auto& row : parsers::read_nvtx_kernels_csv(csv("nvtx_kern_sum"))) {
    if (row.name.empty()) continue;  // launched in no range
    theirs[row.domain + ":" + row.name + " " + std::to_string(row.process_id) + " " + row.kernel_name] = {
        row.total_ns, row.kernel_instances, row.range_instances};
  }
  EXPECT_GE(theirs.size(), 16U);
  EXPECT_EQ(ours, theirs);
}

INSTANTIATE_TEST_SUITE_P(recordings, nsys_stats,
                         ::testing::Values("qwen3-3layers/eager", "qwen3-3layers/graph",
                                           "qwen3-0.6b.decode-b1/run", "qwen3-0.6b.decode-b1/run.prefill"));

}  // namespace
}  // namespace profgate::test
