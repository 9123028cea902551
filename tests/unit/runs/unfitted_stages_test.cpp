#include "runs/unfitted_stages.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "runs/process_samples.h"

namespace profgate::runs {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

config::resolved program_of(const std::string& stages) {
  config::request wanted;
  wanted.conf_dirs = {PROFGATE_CONF};
  wanted.runner = "program";
  wanted.command_line_overrides = {"workload.stages=" + stages};
  return config::compose(wanted);
}

struct closed_range {
  std::string name;
  bool is_closed = true;
};

seen_stages seen_by(const config::resolved& config, const std::vector<closed_range>& opened) {
  core::timeline timeline;
  std::int64_t now_ns = 0;
  for (const closed_range& one : opened) {
    core::range_record range;
    range.name = timeline.texts.keep(one.name);
    range.start_ns = now_ns;
    now_ns += 10;
    if (one.is_closed) range.end_ns = now_ns;
    timeline.ranges.push_back(range);
  }
  const range_samples samples = sample_ranges(timeline, config);
  seen_stages seen = samples.seen_if_unfitted;
  for (const auto& [stage, durations_ns] : samples.stages_ns) seen.timed.insert(stage);
  return seen;
}

std::string refusal(const std::string& stages, const std::vector<closed_range>& opened,
                    core::exit_code code) {
  const config::resolved config = program_of(stages);
  try {
    notes_of_unfitted_stages(config, seen_by(config, opened));
  } catch (const core::error& refused) {
    EXPECT_EQ(refused.code(), code);
    return refused.what();
  }
  return "it was taken";
}

TEST(unfitted_stages, are_refused_with_their_expression_their_place_and_what_there_is) {
  EXPECT_EQ(
      refusal(R"([{name: decode, range: 'nope_\d+'}])", {{"decode"}, {"step_1"}, {"step_2"}, {"load"}},
              core::exit_code::bad_input),
      R"(command line: no NVTX range fits 'nope_\d+' of stage 'decode'; there are decode, load, step_\d+)");
  EXPECT_THAT(refusal("[{name: a, range: 'x.*', domain: LLM}]", {{"xy"}}, core::exit_code::bad_input),
              HasSubstr("no NVTX range in the domain 'LLM' fits 'x.*' of stage 'a'; there are xy"));
  EXPECT_THAT(refusal("[process, {name: a, range: 'x.*'}]", {{"y"}}, core::exit_code::bad_input),
              HasSubstr("fits 'x.*'"))
      << "a process is always there";
}

TEST(unfitted_stages, of_a_recipe_are_told_where_it_says_what_the_program_needs) {
  config::request wanted;
  wanted.conf_dirs = {PROFGATE_CONF};
  wanted.runner = "program";
  wanted.command_line_overrides = {"workload=vllm"};
  const config::resolved recipe = config::compose(wanted);
  try {
    notes_of_unfitted_stages(recipe, seen_by(recipe, {{"load"}}));
    FAIL() << "it was taken";
  } catch (const core::error& refused) {
    EXPECT_THAT(refused.what(), HasSubstr("conf/workload/vllm.yaml"));
    EXPECT_THAT(refused.remedy(), HasSubstr("at the head of that file"));
  }
}

TEST(unfitted_stages, of_programs_without_ranges_that_end_fail_as_plain_names_do) {
  EXPECT_THAT(refusal("[{name: a, range: 'x.*'}]", {}, core::exit_code::failed),
              HasSubstr("no range at all"));
  EXPECT_THAT(refusal("[{name: a, range: 'x.*'}]", {{"xy", false}}, core::exit_code::failed),
              HasSubstr("'x.*' of stage 'a' were opened but never closed"));
}

TEST(unfitted_stages, beside_others_are_a_note_each) {
  const config::resolved config =
      program_of("[{name: a, range: 'x.*'}, {name: b, range: 'y.*'}, {name: c, range: 'z.*'}]");
  EXPECT_THAT(notes_of_unfitted_stages(config, seen_by(config, {{"y1"}})),
              ElementsAre(AllOf(HasSubstr("'x.*' of stage 'a'")), AllOf(HasSubstr("'z.*' of stage 'c'"))));
  EXPECT_THAT(notes_of_unfitted_stages(config, seen_by(config, {{"y1"}, {"x1"}, {"z1"}})), IsEmpty());
}

TEST(unfitted_stages, are_no_plain_names_which_the_trace_is_asked_for) {
  const config::resolved config = program_of("[decode]");
  EXPECT_THAT(notes_of_unfitted_stages(config, seen_by(config, {{"step"}})), IsEmpty());
}

TEST(unfitted_stages, are_not_those_whose_times_the_program_tells) {
  const config::resolved config =
      program_of("[{name: a, range: 'x.*'}]")
          .with("workload.figures",
                std::vector<config::record>{{{"name", "a"}, {"unit", "s"}, {"file", "f"}, {"path", "p"}}},
                "here");
  EXPECT_THAT(notes_of_unfitted_stages(config, seen_by(config, {{"step"}})), IsEmpty());
}

TEST(stage_in_words, has_the_expression) {
  const config::resolved config = program_of(R"([load, {name: decode, range: 'step_\d+'}])");
  EXPECT_EQ(stage_in_words(config, "decode"), R"(stage 'decode' (range 'step_\d+'))");
  EXPECT_EQ(stage_in_words(config, "load"), "stage 'load'");
}

}  // namespace
}  // namespace profgate::runs
