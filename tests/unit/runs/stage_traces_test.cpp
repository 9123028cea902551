#include "runs/stage_traces.h"

#include <gmock/gmock.h>

#include "core/stage_names.h"
#include "runs/run_settings.h"

namespace profgate::runs {
namespace {

config::resolved settings_of_program(const std::vector<std::string>& settings) {
  config::request wanted;
  wanted.conf_dirs = {PROFGATE_CONF};
  wanted.runner = "program";
  wanted.command_line_overrides = settings;
  return config::compose(wanted);
}

/// How many ranges never end, of two that a gate recorded, one of which ended the recording.
std::size_t open_ranges(const std::vector<std::string>& settings, recorded_by who) {
  core::timeline timeline =
      profilers::read_timelines({PROFGATE_TEST_DATA "/nsight/cpu-2022.4.2/gated.sqlite"});
  name_stages(timeline, settings_of_program(settings), who);
  std::size_t open = 0;
  for (const core::range_record& range : timeline.ranges)
    if (range.name != core::whole_process_stage && !range.end_ns) ++open;
  return open;
}

TEST(name_stages, a_range_that_ends_with_the_recording_was_never_closed_unless_it_may_have_ended_it) {
  EXPECT_EQ(open_ranges({}, recorded_by::these_settings), 1U);
  EXPECT_EQ(open_ranges({}, recorded_by::somebody), 0U);
  EXPECT_EQ(
      open_ranges({"nsys.gating_nvtx=true", "workload.stages=[decode_all]"}, recorded_by::these_settings),
      0U);
}

TEST(recorded_part, is_told_as_the_settings_have_it) {
  EXPECT_EQ(recorded_part_of(settings_of_program({})), "");
  EXPECT_EQ(recorded_part_of(settings_of_program({"nsys.delay_s=1", "nsys.duration_s=2"})),
            "from 1 s, for 2 s");
  EXPECT_EQ(recorded_part_of(settings_of_program({"nsys.duration_s=2"})), "for 2 s");
  EXPECT_EQ(recorded_part_of(settings_of_program({"workload.calls_profiler_api=true"})),
            "between cudaProfilerStart and cudaProfilerStop");
}

}  // namespace
}  // namespace profgate::runs
