#include "analysis/texts.h"

#include <gmock/gmock.h>

#include "analysis/bare_run.h"
#include "nanoseconds.h"

namespace profgate::analysis {
namespace {

TEST(leave_out_warm_up, takes_first_samples_that_are_far_longer_out_of_stages_and_first_tokens) {
  bare_facts facts;
  facts.stages = {"prefill", "decode_all"};
  facts.process_wall_ns = {9000 * ms};
  facts.stage_samples_ns = {
      {"prefill", {3130 * ms, 15 * ms}},
      {"decode_all", {2220 * ms, 300 * ms, 22 * ms, 20 * ms, 21 * ms, 20 * ms, 20 * ms}}};
  facts.first_token_ns = {3130 * ms, 15 * ms};
  facts.further_token_ns = {2000 * ms, 3 * ms, 200 * ms, 4 * ms, 5 * ms, 5 * ms, 5 * ms,
                            5 * ms,    5 * ms, 5 * ms,   5 * ms, 5 * ms, 5 * ms, 5 * ms};  // two a text
  leave_out_warm_up(facts);
  EXPECT_THAT(facts.first_token_ns, ::testing::ElementsAre(15 * ms));
  EXPECT_EQ(facts.further_token_ns, std::vector<std::int64_t>(10, 5 * ms));
  const bare_figures figures = analyze_bare(facts);
  EXPECT_DOUBLE_EQ(figures.stages[0].time_ns->median, 15e6);
  EXPECT_DOUBLE_EQ(warm_up_ns(figures.stages[0]), 3130e6);
  EXPECT_EQ(figures.stages[1].time_ns->samples.size(), 5U);
  EXPECT_DOUBLE_EQ(warm_up_ns(figures.stages[1]), 2520e6);
}

TEST(leave_out_warm_up, of_several_processes_takes_that_of_each) {
  bare_facts facts;
  facts.stages = {"prefill", "decode_all"};
  facts.process_wall_ns = {9000 * ms};
  facts.stage_samples_ns = {{"prefill", {164 * ms, 10 * ms, 150 * ms, 11 * ms, 10 * ms, 12 * ms}},
                            {"decode_all", {20 * ms, 21 * ms, 100 * ms, 20 * ms, 20 * ms, 20 * ms}}};
  facts.stage_processes = {{"prefill", {0, 0, 1, 0, 1, 1}}, {"decode_all", {0, 0, 1, 0, 1, 1}}};
  facts.first_token_ns = {170 * ms, 10 * ms, 11 * ms, 160 * ms, 10 * ms, 12 * ms};  // by process
  facts.further_token_ns = {20 * ms, 21 * ms, 22 * ms, 99 * ms, 23 * ms, 24 * ms};
  leave_out_warm_up(facts);
  EXPECT_THAT(facts.first_token_ns, ::testing::ElementsAre(10 * ms, 11 * ms, 10 * ms, 12 * ms));
  EXPECT_THAT(facts.further_token_ns, ::testing::ElementsAre(20 * ms, 21 * ms, 22 * ms, 23 * ms, 24 * ms));
  EXPECT_THAT(facts.stage_samples_ns["prefill"], ::testing::ElementsAre(10 * ms, 11 * ms, 10 * ms, 12 * ms));
  EXPECT_THAT(facts.stage_processes["prefill"], ::testing::ElementsAre(0, 0, 1, 1));
  const bare_figures figures = analyze_bare(facts);
  EXPECT_EQ(figures.stages[0].warm_up_ns.size(), 2U);
  EXPECT_DOUBLE_EQ(warm_up_ns(figures.stages[0]), 164e6) << "they do so at the same time";
  EXPECT_DOUBLE_EQ(warm_up_ns(figures.stages[1]), 100e6);
}

TEST(leave_out_warm_up, takes_the_tokens_of_the_texts_that_it_leaves_out) {
  bare_facts facts;
  facts.stages = {"decode_all"};
  facts.process_wall_ns = {9000 * ms};
  facts.stage_samples_ns = {{"decode_all", {900 * ms, 20 * ms, 10 * ms}}};
  facts.further_token_ns = {800 * ms, 4 * ms, 4 * ms, 4 * ms, 2 * ms, 2 * ms};
  facts.further_tokens = {1, 3, 2};
  leave_out_warm_up(facts);
  EXPECT_THAT(facts.further_token_ns, ::testing::ElementsAre(4 * ms, 4 * ms, 4 * ms, 2 * ms, 2 * ms));
  EXPECT_THAT(analyze_bare(facts).tokens_per_s->samples, ::testing::ElementsAre(250, 500)) << "one a text";
  facts.further_tokens = {1000};  // not those
  facts.stage_samples_ns.clear();
  EXPECT_EQ(analyze_bare(facts).tokens_per_s->samples.size(), 1U);
}

TEST(leave_out_warm_up, leaves_a_stage_that_ran_once_or_steadily) {
  bare_facts facts;
  facts.stage_samples_ns = {{"prefill", {3130 * ms}}, {"decode_all", {25 * ms, 20 * ms, 20 * ms}}};
  leave_out_warm_up(facts);
  EXPECT_TRUE(facts.warm_up_ns.empty());
}

TEST(leave_out_other_lengths, keeps_the_texts_of_the_length_that_most_have) {
  bare_facts facts;
  facts.stages = {"decode_all"};
  facts.process_wall_ns = {9000 * ms};
  facts.stage_samples_ns = {{"decode_all", {5 * ms, 20 * ms, 40 * ms, 42 * ms, 44 * ms}}};
  facts.decode_steps = {1, 2, 4, 4, 4};
  facts.further_token_ns = {9 * ms,  10 * ms, 10 * ms, 10 * ms, 11 * ms,
                            11 * ms, 11 * ms, 12 * ms, 12 * ms, 12 * ms};
  facts.further_tokens = {1, 3, 3, 3};
  facts.seen_tokens = {{"batch", 1}, {"prompt", 8}, {"decode", 4}};
  leave_out_other_lengths(facts);
  EXPECT_EQ(facts.other_lengths, "2 of its 5 texts have 1 to 2 decode steps, the others 4");
  EXPECT_THAT(facts.further_tokens, ::testing::ElementsAre(3, 3, 3));
  const bare_figures figures = analyze_bare(facts);
  EXPECT_EQ(figures.stages[0].other_lengths, facts.other_lengths);
  EXPECT_THAT(figures.stages[0].time_ns->samples, ::testing::ElementsAre(40e6, 42e6, 44e6));
  EXPECT_LT(*figures.stages[0].time_ns->cv, 0.05) << "the short texts are no noise";
  EXPECT_THAT(*figures.tpot_by_token_ns, ::testing::SizeIs(3));
  EXPECT_DOUBLE_EQ(figures.tpot_ns->mean, 11e6);
}

TEST(leave_out_other_lengths, knows_the_gpus_times_of_all_steps) {
  bare_facts facts;
  facts.stage_samples_ns = {{"decode_all", {10 * ms, 20 * ms, 20 * ms}}};
  facts.decode_steps = {1, 2, 2};
  facts.further_token_ns = {10 * ms, 11 * ms, 9 * ms, 8 * ms, 12 * ms};
  leave_out_other_lengths(facts);
  EXPECT_THAT(facts.further_token_ns, ::testing::ElementsAre(11 * ms, 9 * ms, 8 * ms, 12 * ms));
  EXPECT_EQ(facts.other_lengths, "1 of its 3 texts has 1 decode step, the others 2");
}

TEST(leave_out_other_lengths, leaves_texts_of_which_no_length_has_a_majority) {
  bare_facts facts;
  facts.stage_samples_ns = {{"decode_all", {10 * ms, 20 * ms}}};
  facts.decode_steps = {1, 2};
  leave_out_other_lengths(facts);
  facts.stage_samples_ns = {{"decode_all", {10 * ms, 20 * ms, 20 * ms}}};  // of which nobody told two
  leave_out_other_lengths(facts);
  EXPECT_EQ(facts.other_lengths, "");
}

/// Their tokens' times come by process, their decodings in the order of time.
TEST(leave_out_other_lengths, of_several_processes_takes_the_tokens_of_their_own_texts) {
  bare_facts facts;
  facts.stage_samples_ns = {{"decode_all", {21 * ms, 5 * ms, 22 * ms, 23 * ms}}};
  facts.stage_processes = {{"decode_all", {1, 0, 0, 1}}};
  facts.decode_steps = {3, 1, 3, 3};
  facts.further_token_ns = {7 * ms, 8 * ms, 10 * ms, 11 * ms, 12 * ms, 13 * ms};  // of a step: none
  facts.further_tokens = {2, 2, 2};
  leave_out_other_lengths(facts);
  EXPECT_THAT(facts.stage_samples_ns["decode_all"], ::testing::ElementsAre(21 * ms, 22 * ms, 23 * ms));
  EXPECT_THAT(facts.stage_processes["decode_all"], ::testing::ElementsAre(1, 0, 1));
  EXPECT_THAT(facts.further_tokens, ::testing::ElementsAre(2, 2, 2));
  facts.decode_steps = {3, 2, 3};  // of process 1, 0, 1
  facts.further_token_ns = {7 * ms, 10 * ms, 11 * ms, 12 * ms, 13 * ms};
  facts.further_tokens = {1, 2, 2};
  leave_out_other_lengths(facts);
  EXPECT_THAT(facts.further_token_ns, ::testing::ElementsAre(10 * ms, 11 * ms, 12 * ms, 13 * ms));
}

}  // namespace
}  // namespace profgate::analysis
