#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "judgement_cases.h"
#include "render/verdict_json.h"

namespace profgate::render {
namespace {

using ::testing::HasSubstr;

std::string verdict_complaint(const std::string& text) {
  try {
    read_verdict(text, "verdict.json");
    return "";
  } catch (const core::bad_input& error) {
    return error.what();
  }
}

/// The text with its first `from` replaced.
std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::invalid_argument("there is no " + from);
  return text.replace(at, from.size(), to);
}

TEST(verdict_json, is_read_back_as_it_was_written) {
  for (const judgement_case& entry : judgement_cases()) {
    const std::string text = verdict_json(entry.whole);
    EXPECT_EQ(verdict_json(read_verdict(text, "verdict.json")), text) << entry.name;
  }
}

TEST(verdict_json, keeps_what_programs_decide_by) {
  const gate::judgement whole = made_up_judgement("regressed");
  const gate::judgement again = read_verdict(verdict_json(whole), "verdict.json");
  EXPECT_EQ(again.overall, gate::verdict::regressed);
  EXPECT_EQ(again.code, core::exit_code::judged_bad);
  ASSERT_EQ(again.stages.size(), 2U);
  EXPECT_EQ(again.stages[1].numbers->slowdown_ratio, whole.stages[1].numbers->slowdown_ratio);
  EXPECT_EQ(again.stages[1].numbers->lower_99_ratio, whole.stages[1].numbers->lower_99_ratio);
  ASSERT_EQ(again.stages[1].attributed->causes.size(), whole.stages[1].attributed->causes.size());
  EXPECT_EQ(again.stages[1].attributed->causes[2].baseline_name,
            whole.stages[1].attributed->causes[2].baseline_name);
  EXPECT_EQ(again.stages[1].attributed->causes[2].match, gate::matched_by::launch_order);
  EXPECT_EQ(again.stages[0].attribution_reason, whole.stages[0].attribution_reason);
  EXPECT_EQ(again.stages[1].uncounted_because, "ncu was not found");
  EXPECT_EQ(again.stages[0].uncounted_because, "");
  EXPECT_FALSE(again.stages[0].detectable_ratio);
}

TEST(verdict_json, says_what_a_kernel_was_called_only_where_that_is_something_else) {
  gate::judgement whole = made_up_judgement("regressed");
  EXPECT_THAT(verdict_json(whole), ::testing::Not(HasSubstr("baseline_subject")));
  gate::exact_change change{
      gate::exact_kind::moved, "split<4>", "attn.core", "attn.rope", false, "attn.rope"};
  change.baseline_subject = "split<8>";
  whole.stages[1].exact.changes = {change};
  const std::string text = verdict_json(whole);
  EXPECT_THAT(text, HasSubstr("split<4>, which was split<8>, in attn.rope: moved from attn.core"));
  const gate::judgement again = read_verdict(text, "verdict.json");
  EXPECT_EQ(again.stages[1].exact.changes[0].baseline_subject, "split<8>");
  EXPECT_EQ(verdict_json(again), text);
}

TEST(read_verdict, takes_one_that_an_earlier_profgate_wrote_without_packages) {
  std::string text = verdict_json(made_up_judgement("regressed"));
  text = changed(text, "\"packages\"", "\"other\"");
  text = changed(text, "\"unknown_packages\"", "\"others\"");
  EXPECT_EQ(read_verdict(text, "verdict.json").overall, gate::verdict::regressed);
}

TEST(read_verdict, names_the_place_of_a_fault) {
  const std::string good = verdict_json(made_up_judgement("regressed"));
  EXPECT_EQ(verdict_complaint(good), "");
  EXPECT_THAT(verdict_complaint("{"),
              HasSubstr("verdict.json:1: not valid JSON at column 1: the file ends in the middle"));
  EXPECT_THAT(verdict_complaint("[]"), HasSubstr("the document must be an object, but is array"));
  EXPECT_THAT(verdict_complaint(changed(good, "\"1.1\"", "\"2.0\"")),
              HasSubstr("schema_version is 2.0, and this program reads 1.1"));
  EXPECT_THAT(verdict_complaint(changed(good, "\"regressed\"", "\"fine\"")),
              HasSubstr("verdict is 'fine', which means nothing here"));
  EXPECT_THAT(verdict_complaint(changed(good, "\"exit_code\": 1", "\"exit_code\": 5")),
              HasSubstr("exit_code is 5, which no gate returns"));
  EXPECT_THAT(verdict_complaint(changed(good, "\"interleaved\"", "\"sideways\"")),
              HasSubstr("mode is 'sideways', which means nothing here"));
  EXPECT_THAT(verdict_complaint(changed(good, "\"slowdown_ratio\"", "\"slowdown\"")),
              HasSubstr("stages[0].numbers lacks the required key 'slowdown_ratio'"));
  EXPECT_THAT(verdict_complaint(changed(good, "\"delta_ns\": ", "\"delta_ns\": \"x\", \"y\": ")),
              HasSubstr("stages[1].attribution.causes[0].delta_ns must be a number, but is string"));
}

}  // namespace
}  // namespace profgate::render
