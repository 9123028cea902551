#include <gmock/gmock.h>

#include <cstdint>

#include "runs/process_samples.h"
#include "runs/run_settings.h"

namespace profgate::runs {
namespace {

using ::testing::ElementsAre;

void add_stage(core::timeline& timeline, const char* name, std::int64_t start_ns) {
  core::range_record range;
  range.name = name;
  range.domain = "LLM";
  range.start_ns = start_ns;
  range.end_ns = start_ns + 1;
  timeline.ranges.push_back(range);
}

TEST(add_token_times, tells_texts_apart) {
  core::timeline timeline;
  add_stage(timeline, "prefill", 0);
  for (const std::int64_t start_ns : {100, 110, 120}) add_stage(timeline, "decode_step", start_ns);
  add_stage(timeline, "prefill", 200);
  for (const std::int64_t start_ns : {250, 270}) add_stage(timeline, "decode_step", start_ns);
  process_samples samples;
  add_token_times(timeline, samples);
  EXPECT_THAT(samples.first_token_ns, ElementsAre(100, 50));
  EXPECT_THAT(samples.further_token_ns, ElementsAre(10, 10, 20));
  EXPECT_THAT(samples.further_tokens, ElementsAre(2, 1));
}

TEST(add_token_times, begins_a_text_with_the_first_chunk_of_its_prompt) {
  core::timeline timeline;
  for (const std::int64_t start_ns : {0, 100, 200, 400}) add_stage(timeline, "prefill", start_ns);
  for (const std::int64_t start_ns : {100, 200}) add_stage(timeline, "prefill_chunk", start_ns);
  add_stage(timeline, "decode_step", 300);
  add_stage(timeline, "decode_step", 450);
  process_samples samples;
  add_token_times(timeline, samples);
  EXPECT_THAT(samples.first_token_ns, ElementsAre(300, 50));
}

TEST(add_token_times, knows_what_ran_right_before_a_prefill) {
  core::timeline timeline;
  add_stage(timeline, "forward", 0);
  add_stage(timeline, "forward", 10);
  add_stage(timeline, "prefill", 20);
  add_stage(timeline, "decode_step", 30);
  add_stage(timeline, "prefill", 40);
  add_stage(timeline, "decode_step", 50);
  process_samples samples;
  add_token_times(timeline, samples);
  EXPECT_THAT(samples.before_prefill_ns, ElementsAre(2, 0));
}

TEST(sample_ranges, counts_the_steps_of_each_text) {
  config::request wanted;
  wanted.conf_dirs = {PROFGATE_CONF};
  wanted.runner = "program";
  wanted.command_line_overrides = {"workload.adapter=pytorch",
                                   "workload.stages=[prefill, decode_all, forward]"};
  core::timeline timeline;
  add_stage(timeline, "prefill", 0);  // of a warm-up that decodes nothing
  add_stage(timeline, "prefill", 50);
  for (const std::int64_t start_ns : {100, 110, 120}) add_stage(timeline, "decode_step", start_ns);
  add_stage(timeline, "prefill", 200);
  add_stage(timeline, "decode_step", 250);
  const range_samples samples = sample_ranges(timeline, config::compose(wanted));
  EXPECT_THAT(samples.stages_ns.at("decode_all"), ElementsAre(21, 1));
  EXPECT_THAT(samples.decode_steps, ElementsAre(3, 1));
}

}  // namespace
}  // namespace profgate::runs
