#include <gmock/gmock.h>

#include "conf_folder.h"

namespace profgate::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string split_failure(const std::string& text) {
  try {
    split_overrides(text);
  } catch (const core::bad_input& refused) {
    return std::string(refused.what()) + " | " + refused.remedy();
  }
  return "nothing was refused";
}

TEST(split_overrides, at_white_space) {
  EXPECT_THAT(split_overrides(""), IsEmpty());
  EXPECT_THAT(split_overrides("  \n "), IsEmpty());
  EXPECT_THAT(split_overrides(" a=1  b.c=2\n"), ElementsAre("a=1", "b.c=2"));
}

TEST(split_overrides, keeps_quotes_and_brackets_together) {
  EXPECT_THAT(split_overrides("n='two words' l=[a, 'b c'] x=1"),
              ElementsAre("n='two words'", "l=[a, 'b c']", "x=1"));
  EXPECT_THAT(split_overrides("'n=two words' \"m=three more words\""),
              ElementsAre("n=two words", "m=three more words"));
  EXPECT_THAT(split_overrides("n=\"a \\\" b\" m='it''s so'"), ElementsAre("n=\"a \\\" b\"", "m='it''s so'"));
}

TEST(split_overrides, refuses_what_is_not_closed) {
  EXPECT_EQ(split_failure("a=1 n='two words"),
            "PROFGATE_OVERRIDES: a quote is not closed in: n='two words | close it with '");
  EXPECT_EQ(split_failure("l=[a, b"),
            "PROFGATE_OVERRIDES: a bracket is not closed in: l=[a, b | close it with ]");
}

class overrides : public conf_folder {
 protected:
  failure refusal_of(const std::string& item) {
    m_request.command_line_overrides = {item};
    return compose_failure();
  }
};

TEST_F(overrides, are_typed_like_files) {
  m_request.environment_overrides = split_overrides(
      "workload.name='two words' ncu.metrics=[a, b] ncu.set=null workload.cuda_graphs=false "
      "hardware.peak_tflops.float32=6.5e1 model.name='null' ncu.sections=[]");
  const resolved composed = compose(m_request);
  EXPECT_EQ(composed.text("workload.name"), "two words");
  EXPECT_THAT(composed.list("ncu.metrics"), ElementsAre("a", "b"));
  EXPECT_TRUE(composed.is_null("ncu.set"));
  EXPECT_FALSE(composed.boolean("workload.cuda_graphs"));
  EXPECT_EQ(composed.number("hardware.peak_tflops.float32"), 65.0);
  EXPECT_EQ(composed.text("model.name"), "null");
  EXPECT_THAT(composed.list("ncu.sections"), IsEmpty());
}

TEST_F(overrides, refuse_an_item_without_equals_or_value) {
  failure refused = refusal_of("run.mode");
  EXPECT_EQ(refused.what, "command line: the override 'run.mode' has no '='");
  EXPECT_EQ(refused.remedy, "write group=choice or section.key=value");
  EXPECT_EQ(refusal_of("=deep").what, "command line: the override '=deep' has no '='");
  refused = refusal_of("run.mode=");
  EXPECT_EQ(refused.what, "command line: the override 'run.mode=' has no value");
  EXPECT_EQ(refused.remedy, "write run.mode=null to unset it");
}

TEST_F(overrides, name_their_source_in_place_of_a_line) {
  const failure refused = refusal_of("workload.promt_tokens=3");
  EXPECT_EQ(refused.what, "command line: unknown key or group 'workload.promt_tokens'");
  EXPECT_THAT(refused.remedy, StartsWith("did you mean 'workload.prompt_tokens'?"));
  m_request.command_line_overrides.clear();
  m_request.environment_overrides = {"run.mode=depp"};
  EXPECT_EQ(compose_failure().what, "PROFGATE_OVERRIDES: 'run.mode' cannot be 'depp'");
  m_request.environment_overrides.clear();
  m_request.pair_overrides = {"run.top_n_kernels=x"};
  EXPECT_EQ(compose_failure().what, "profgate_add_workload: 'run.top_n_kernels' cannot be 'x'");
}

TEST_F(overrides, propose_the_nearest_group) {
  EXPECT_THAT(refusal_of("profiling/nsy=gated").remedy, StartsWith("did you mean 'profiling/nsys'?"));
}

TEST_F(overrides, refuse_a_section_and_a_broken_value) {
  EXPECT_EQ(refusal_of("nsys=gated").what, "command line: 'nsys' is a section, not a value");
  EXPECT_EQ(refusal_of("nsys=gated").remedy, "set a key below it: nsys.<key>=…");
  EXPECT_THAT(refusal_of("ncu.metrics=[a").remedy, HasSubstr("close every bracket"));
  EXPECT_THAT(refusal_of("ncu.metrics=[a]]").what, StartsWith("command line: not valid YAML: "));
  EXPECT_THAT(refusal_of("ncu.metrics=[a]]").remedy, HasSubstr("in quotes"));
  EXPECT_THAT(refusal_of(R"(ncu.metrics=["a\|b"])").remedy,
              HasSubstr("between double quotes write a backslash twice, or take single quotes"));
  EXPECT_EQ(refusal_of("workload.name=a: b").what, "command line: 'workload.name' cannot be a map");
  EXPECT_THAT(refusal_of("workload.name=*x").what, HasSubstr("anchor is not defined"));
}

}  // namespace
}  // namespace profgate::config
