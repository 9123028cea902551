#include "self_test_outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace profgate::cli {
namespace {

using core::exit_code;
using ::testing::HasSubstr;

gate::cause new_kernel(const std::string& name, const std::string& path, double delta_ns) {
  gate::cause one;
  one.kind = gate::cause_kind::new_operation;
  one.name = one.short_name = name;
  one.path = path;
  one.delta_ns = one.traced_delta_ns = delta_ns;
  return one;
}

gate::stage_judgement regressed_by(std::vector<gate::cause> causes) {
  gate::stage_judgement stage;
  stage.which = gate::verdict::regressed;
  stage.attributed.emplace();
  stage.attributed->difference_ns = 1e6;
  stage.attributed->causes = std::move(causes);
  return stage;
}

TEST(self_test, passes_where_what_was_planted_is_named_first) {
  for (const gate::cause& planted :
       {new_kernel("planted_delay_kernel(long)", "", 9e5), new_kernel("spin", "decode_step/planted", 9e5),
        new_kernel("planted", "decode_step", 9e5)}) {
    const self_test_outcome ends =
        outcome_of_planted(regressed_by({planted, new_kernel("gemv", "mlp", 1e5)}), 0.1);
    EXPECT_EQ(ends.code, exit_code::good);
    EXPECT_EQ(ends.sentence,
              "an unchanged build passes, a planted slowdown of 10.0 % fails and is named first");
  }
}

TEST(self_test, fails_where_another_cause_is_named_first_or_none) {
  const self_test_outcome other = outcome_of_planted(
      regressed_by({new_kernel("gemv", "mlp", 9e5), new_kernel("planted", "decode_step", 1e5)}), 0.1);
  EXPECT_EQ(other.code, exit_code::judged_bad);
  EXPECT_THAT(other.sentence, HasSubstr("the cause named first is another: +900 µs: gemv in mlp is new"));
  const self_test_outcome opposite =
      outcome_of_planted(regressed_by({new_kernel("planted", "decode_step", -9e5)}), 0.1);
  EXPECT_EQ(opposite.code, exit_code::judged_bad);
  EXPECT_THAT(opposite.sentence, HasSubstr("the traces name no cause"));
}

TEST(self_test, is_inconclusive_where_nothing_was_traced) {
  gate::stage_judgement untraced;
  untraced.which = gate::verdict::regressed;
  untraced.attribution_reason = "nsys was not found";
  const self_test_outcome ends = outcome_of_planted(untraced, 0.1);
  EXPECT_EQ(ends.code, exit_code::not_possible);
  EXPECT_EQ(ends.sentence, "a planted slowdown of 10.0 % fails, but no cause was named: nsys was not found");
}

TEST(self_test, says_what_was_judged_of_a_slowdown_that_was_not_found) {
  gate::stage_judgement stage;
  stage.which = gate::verdict::inconclusive;
  stage.reason = "noise";
  EXPECT_EQ(outcome_of_planted(stage, 0.1).code, exit_code::not_possible);
  stage.which = gate::verdict::unchanged;
  EXPECT_EQ(outcome_of_planted(stage, 0.1).code, exit_code::judged_bad);
  EXPECT_EQ(outcome_of_planted(stage, 0.1).sentence, "a planted slowdown of 10.0 % was judged unchanged");
}

}  // namespace
}  // namespace profgate::cli
