#include "runs/process_samples.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "config/config.h"

namespace profgate::runs {
namespace {

using ::testing::ElementsAre;

/// Of processes 8 and 9 each ran a step twice, at the same time.
range_samples ranges_of_two_processes() {
  config::request wanted;
  wanted.conf_dirs = {PROFGATE_CONF};
  wanted.runner = "program";
  wanted.command_line_overrides = {"workload.stages=[step]"};
  core::timeline timeline;
  for (const std::uint32_t process : {9U, 8U}) {
    for (const std::int64_t start_ns : {100, 200}) {
      core::range_record range;
      range.name = "step";
      range.process_id = process;
      range.start_ns = start_ns + process;
      range.end_ns = start_ns + 50;
      timeline.ranges.push_back(range);
    }
  }
  return sample_ranges(timeline, config::compose(wanted));
}

TEST(process_samples, know_which_process_ran_a_stage) {
  const range_samples ranges = ranges_of_two_processes();
  EXPECT_THAT(ranges.stages_ns.at("step"), ElementsAre(42, 41, 42, 41));
  EXPECT_THAT(ranges.stage_processes.at("step"), ElementsAre(0, 1, 0, 1));
  process_samples samples;
  samples.wall_ns = {1000, 1000};
  add_stages(ranges, samples);
  add_stages(ranges, samples);  // another run's
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("process_samples." + std::to_string(getpid()) + ".json");
  write_process_samples(file, samples);
  const process_samples read = read_process_samples(file);
  std::filesystem::remove(file);
  EXPECT_THAT(read.stages_ns.at("step"), ElementsAre(42, 41, 42, 41, 42, 41, 42, 41));
  EXPECT_THAT(read.stage_processes.at("step"), ElementsAre(0, 1, 0, 1, 2, 3, 2, 3));
}

TEST(process_samples, tell_no_processes_where_each_run_had_one) {
  range_samples ranges;
  ranges.stages_ns = {{"step", {5, 6}}, {"told", {7}}};
  ranges.stage_processes = {{"step", {0, 0}}, {"told", {0}}};
  process_samples samples;
  samples.wall_ns = {1000};
  samples.stage_sources = {{"told", "out.json"}};
  add_stages(ranges, samples);
  EXPECT_FALSE(samples.stages_ns.contains("told")) << "by the program itself";
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("process_samples." + std::to_string(getpid()) + ".json");
  write_process_samples(file, samples);
  EXPECT_TRUE(read_process_samples(file).stage_processes.empty());
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace profgate::runs
