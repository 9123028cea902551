#include "nsys_agreement.h"

#include <gmock/gmock.h>

#include <map>
#include <tuple>

#include "parsers/nsys_csv.h"
#include "parsers/timeline.h"

namespace profgate::test {
namespace {

using sums = std::map<std::string, std::tuple<std::int64_t, std::int64_t, std::int64_t>>;

std::filesystem::path with_ending(const std::filesystem::path& stem, const std::string& ending) {
  return stem.parent_path() / (stem.filename().string() + ending);
}

}  // namespace

nsys_recording::nsys_recording(std::filesystem::path recording_stem)
    : stem(std::move(recording_stem)),
      figures(analysis::analyze_timelines(
          {{"run", std::nullopt, parsers::read_nsys_sqlite(with_ending(stem, ".sqlite"))}},
          {"prefill", "decode_all"}, "LLM", "")) {}

std::filesystem::path nsys_recording::csv(const std::string& report) const {
  return with_ending(stem, "_" + report + ".csv");
}

void expect_same_kernels(const nsys_recording& recording) {
  sums ours;
  for (const core::kernel_record& kernel : recording.figures.kernels) {
    ours[kernel.kernel_name] = {kernel.total_ns, kernel.calls, 0};
  }
  sums theirs;
  for (const core::kernel_record& kernel : parsers::read_kernel_sum_csv(recording.csv("cuda_gpu_kern_sum"))) {
    theirs[kernel.kernel_name] = {kernel.total_ns, kernel.calls, 0};
  }
  EXPECT_GE(theirs.size(), 5U);
  EXPECT_EQ(ours, theirs);
}

void expect_same_host_time_by_range(const nsys_recording& recording) {
  sums ours;
  for (const analysis::region& region : recording.figures.regions.regions) {
    auto& [total_ns, instances, unused] = ours[region.domain + ":" + region.path.back()];
    total_ns += region.times.total_ns;
    instances += region.times.instances;
  }
  sums theirs;
  for (const parsers::range_summary& range :
       parsers::read_nvtx_pushpop_csv(recording.csv("nvtx_pushpop_sum"))) {
    theirs[range.domain + ":" + range.name] = {range.total_ns, range.instances, 0};
  }
  EXPECT_GE(theirs.size(), 2U);
  EXPECT_EQ(ours, theirs);
}

void expect_same_projections(const nsys_recording& recording) {
  sums ours;
  for (const analysis::region& region : recording.figures.regions.regions) {
    if (region.times.projected_instances == 0) continue;
    auto& [projected_ns, instances, operations] = ours[region.domain + ":" + region.path.back()];
    projected_ns += region.times.projected_ns;
    instances += region.times.projected_instances;
    operations += region.times.operations;
  }
  sums theirs;
  for (const auto& range : parsers::read_nvtx_projection_csv(recording.csv("nvtx_gpu_proj_sum"))) {
    theirs[range.domain + ":" + range.name] = {range.projected_ns, range.instances, range.operations};
  }
  EXPECT_GE(theirs.size(), 2U);
  EXPECT_EQ(ours, theirs);
  if (!std::filesystem::exists(recording.csv("nvtx_gpu_proj_trace"))) return;
  sums by_instance;
  for (const auto& range : parsers::read_nvtx_projection_csv(recording.csv("nvtx_gpu_proj_trace"))) {
    by_instance[range.domain + ":" + range.name] = {range.projected_ns, range.instances, range.operations};
  }
  EXPECT_EQ(by_instance, theirs);
}

void expect_same_kernels_in_each_range(const nsys_recording& recording) {
  sums ours;
  for (const analysis::region& region : recording.figures.regions.regions) {
    for (const analysis::region_kernel& kernel : region.kernels) {
      auto& [total_ns, calls, instances] = ours[region.domain + ":" + region.path.back() + " " +
                                                std::to_string(kernel.process_id) + " " + kernel.kernel_name];
      total_ns += kernel.total_ns;
      calls += kernel.calls;
      instances += kernel.instances;
    }
  }
  sums theirs;
  for (const auto& row : parsers::read_nvtx_kernels_csv(recording.csv("nvtx_kern_sum"))) {
    if (row.name.empty()) continue;  // launched in no range
    theirs[row.domain + ":" + row.name + " " + std::to_string(row.process_id) + " " + row.kernel_name] = {
        row.total_ns, row.kernel_instances, row.range_instances};
  }
  EXPECT_GE(theirs.size(), 10U);
  EXPECT_EQ(ours, theirs);
}

}  // namespace profgate::test
