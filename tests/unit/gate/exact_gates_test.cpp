#include "gate/exact_gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace profgate::gate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

stage_structure structure(std::set<std::string> kernels, std::int64_t launches, std::int64_t tokens,
                          std::int64_t graph_nodes) {
  return {std::move(kernels), launches, tokens, graph_nodes};
}

std::vector<std::string> texts(const exact_comparison& comparison) {
  std::vector<std::string> lines;
  for (const exact_change& change : comparison.changes) lines.push_back(to_text(change));
  return lines;
}

TEST(compare_exactly, finds_nothing_between_equals) {
  const auto result =
      compare_exactly(structure({"a", "b"}, 32, 16, 100), structure({"b", "a"}, 64, 32, 100), {});
  EXPECT_THAT(result.changes, IsEmpty());
  EXPECT_THAT(result.not_compared, IsEmpty());
  EXPECT_FALSE(result.fails());
}

TEST(compare_exactly, names_every_change) {
  const auto result =
      compare_exactly(structure({"a", "b"}, 32, 16, 100), structure({"a", "c"}, 37, 16, 101), {});
  EXPECT_THAT(texts(result), ElementsAre("new kernel: c", "gone kernel: b", "launches a token: 2 → 37/16",
                                         "graph nodes: 100 → 101"));
  EXPECT_FALSE(result.fails());  // reported, but nobody asked for a failure
}

TEST(compare_exactly, counts_launches_of_an_occurrence_where_no_tokens_are_known) {
  const auto result = compare_exactly(structure({"a"}, 3776, 1, 0), structure({"a"}, 4028, 1, 0), {});
  EXPECT_THAT(texts(result), ElementsAre("launches: 3776 → 4028"));
}

TEST(compare_exactly, fails_where_the_rules_ask_for_it) {
  const stage_structure before = structure({"a"}, 32, 16, 100);
  EXPECT_TRUE(compare_exactly(before, structure({"b"}, 32, 16, 100), {true, false, false}).fails());
  EXPECT_FALSE(compare_exactly(before, structure({"b"}, 32, 16, 100), {false, true, true}).fails());
  EXPECT_TRUE(compare_exactly(before, structure({"a"}, 33, 16, 100), {false, true, false}).fails());
  EXPECT_TRUE(compare_exactly(before, structure({"a"}, 32, 16, 99), {false, false, true}).fails());
}

TEST(compare_exactly, compares_graph_nodes_that_copy_where_both_were_recorded) {
  exact_rules rules;
  rules.graph_nodes_fail = true;
  const stage_structure of_an_earlier_file = structure({"a"}, 32, 16, 100);
  stage_structure before = of_an_earlier_file;
  before.graph_copies = 0;
  stage_structure after = before;
  after.graph_copies = 8;
  const exact_comparison more = compare_exactly(before, after, rules);
  EXPECT_THAT(texts(more), ElementsAre("graph nodes that copy or clear memory: 0 → 8"));
  EXPECT_TRUE(more.fails());
  EXPECT_FALSE(compare_exactly(before, after, {}).fails());
  const exact_comparison unknown = compare_exactly(of_an_earlier_file, after, rules);
  EXPECT_THAT(unknown.changes, IsEmpty()) << "kernels alone were counted then";
  EXPECT_THAT(unknown.not_compared,
              ElementsAre("graph nodes that copy or clear memory: they were not recorded of the baseline"));
  EXPECT_THAT(compare_exactly(of_an_earlier_file, before, rules).not_compared, IsEmpty())
      << "there are none to speak of";
}

core::experts_by_stage routed(std::int64_t fullest, std::int64_t tokens = 64) {
  return {{"prefill", {2, 8, tokens, {{0, 20, 16, 0}, {1, fullest, 16, 1}}}}};
}

exact_comparison routing_between(const core::experts_by_stage& baseline,
                                 const core::experts_by_stage& candidate) {
  exact_comparison result;
  compare_routing(baseline, candidate, "prefill", result);
  return result;
}

TEST(compare_routing, says_how_full_the_fullest_expert_is) {
  const exact_comparison result = routing_between(routed(29), routed(102));
  EXPECT_THAT(texts(result),
              ElementsAre("routing: rows of the fullest expert over the mean 1.81 → 6.38 in the "
                          "worst layer, 1 of 2 layers differ"));
  EXPECT_FALSE(result.changes[0].is_slight);
  EXPECT_FALSE(result.fails());
}

TEST(compare_routing, a_near_tie_that_fell_the_other_way_is_slight) {
  const exact_comparison result = routing_between(routed(29), routed(30));
  ASSERT_EQ(result.changes.size(), 1U);
  EXPECT_TRUE(result.changes[0].is_slight);
}

TEST(compare_routing, says_nothing_of_equals_and_of_what_one_does_not_tell) {
  EXPECT_THAT(routing_between(routed(29), routed(29)).changes, IsEmpty());
  EXPECT_THAT(routing_between(routed(29), {}).changes, IsEmpty());
  const exact_comparison other = routing_between(routed(29), routed(29, 128));
  EXPECT_THAT(other.changes, IsEmpty());
  EXPECT_THAT(other.not_compared,
              ElementsAre("routing: the baseline routed 64 tokens in 2 layers, the candidate 128 in 2"));
}

stage_structure with_kernel(const launch_configuration& configuration, std::int64_t launches,
                            const std::string& code = "1f") {
  stage_structure result = structure({"split"}, 32, 16, 100);
  result.operations = {{"split", "attn.core", {{configuration, launches}}, 0, code}};
  return result;
}

TEST(compare_exactly, says_how_a_kernel_is_launched_otherwise) {
  const launch_configuration wide{{16, 8, 1}, {128, 1, 1}, 64, 4096};
  launch_configuration narrow = wide;
  narrow.grid = {8, 8, 1};
  exact_rules rules;
  rules.launch_configuration_fails = true;
  const auto other_grid = compare_exactly(with_kernel(wide, 28), with_kernel(narrow, 28), rules);
  EXPECT_THAT(texts(other_grid), ElementsAre("split in attn.core: grid (16, 8, 1) → (8, 8, 1)"));
  EXPECT_TRUE(other_grid.fails());
  EXPECT_THAT(compare_exactly(with_kernel(wide, 28), with_kernel(wide, 28), rules).changes, IsEmpty());
  narrow.registers_per_thread = 128;
  narrow.shared_bytes = 0;
  EXPECT_THAT(texts(compare_exactly(with_kernel(wide, 28), with_kernel(narrow, 28), {})),
              ElementsAre("split in attn.core: grid (16, 8, 1) → (8, 8, 1); registers 64 → 128; shared bytes "
                          "4096 → 0"));
}

TEST(compare_exactly, tells_launches_of_one_kernel_its_code_and_copied_bytes_apart) {
  const launch_configuration same{{16, 8, 1}, {128, 1, 1}, 64, 0};
  EXPECT_THAT(texts(compare_exactly(with_kernel(same, 28), with_kernel(same, 56, "2f"), {})),
              ElementsAre("split in attn.core: launches 28 → 56", "split in attn.core: other machine code"));
  EXPECT_THAT(texts(compare_exactly(with_kernel(same, 28, ""), with_kernel(same, 28), {})), IsEmpty());
  stage_structure little = structure({"split"}, 32, 16, 100);
  little.operations = {{"copy device to host", "sample", {{{}, 1}}, 4, ""}};
  stage_structure much = little;
  much.operations[0].bytes = 4096;
  EXPECT_THAT(texts(compare_exactly(little, much, {})),
              ElementsAre("copy device to host in sample: bytes 4 → 4096"));
}

TEST(compare_exactly, tells_a_known_kernel_in_another_operator_from_one_that_has_moved) {
  const launch_configuration same{{16, 8, 1}, {128, 1, 1}, 64, 0};
  const stage_structure before = with_kernel(same, 28);
  stage_structure more = before;
  more.operations.push_back({"split", "mlp", {{same, 4}}, 0, ""});
  EXPECT_THAT(texts(compare_exactly(before, more, {})), ElementsAre("split in mlp: launches 0 → 4"));
  EXPECT_THAT(texts(compare_exactly(more, before, {})), ElementsAre("split in mlp: launches 4 → 0"));
  stage_structure moved = before;
  moved.operations[0].path = "mlp";
  EXPECT_THAT(texts(compare_exactly(before, moved, {})), ElementsAre("split in mlp: moved from attn.core"));
  moved.operations[0].path = "";
  EXPECT_THAT(texts(compare_exactly(before, moved, {})), IsEmpty()) << "its range may not have been seen";
  moved.operations = {{"split", "mlp", {{same, 56}}, 0, ""}};
  EXPECT_THAT(texts(compare_exactly(before, moved, {})),
              ElementsAre("split in mlp: launches 0 → 56", "split in attn.core: launches 28 → 0"));
  stage_structure partly = before;
  partly.operations = {{"split", "attn.core", {{same, 27}}, 0, "1f"}, {"split", "mlp", {{same, 1}}, 0, ""}};
  EXPECT_THAT(texts(compare_exactly(before, partly, {})),
              ElementsAre("split in attn.core: launches 28 → 27", "split in mlp: launches 0 → 1"));
}

const launch_configuration wide{{16, 8, 1}, {128, 1, 1}, 64, 0};
const launch_configuration narrow{{8, 8, 1}, {128, 1, 1}, 64, 0};

/// One operation of each build; launch configurations fail.
exact_comparison between(const operation_facts& before, const operation_facts& after) {
  exact_rules rules;
  rules.launch_configuration_fails = true;
  stage_structure was = structure({before.name}, 32, 16, 100);
  stage_structure is = structure({after.name}, 32, 16, 100);
  was.operations = {before};
  is.operations = {after};
  return compare_exactly(was, is, rules);
}

TEST(compare_exactly, follows_a_kernel_to_another_operator) {
  const exact_comparison moved =
      between({"split", "attn.core", {{wide, 28}}, 0, "1f"}, {"split", "attn.rope", {{narrow, 28}}, 0, "2e"});
  EXPECT_THAT(texts(moved), ElementsAre("split in attn.rope: moved from attn.core",
                                        "split in attn.rope: grid (16, 8, 1) → (8, 8, 1)",
                                        "split in attn.rope: other machine code"));
  EXPECT_TRUE(moved.fails());
  EXPECT_FALSE(
      between({"split", "attn.core", {{wide, 28}}, 0, ""}, {"split", "attn.rope", {{wide, 28}}, 0, ""})
          .fails())
      << "that it has moved is told, and fails nothing";
}

TEST(compare_exactly, follows_a_kernel_with_another_template_argument) {
  const exact_comparison other = between({"split<8>", "attn.core", {{wide, 28}}, 0, ""},
                                         {"split<4>", "attn.core", {{narrow, 28}}, 0, ""});
  EXPECT_THAT(texts(other), ElementsAre("new kernel: split<4>", "gone kernel: split<8>",
                                        "split<4>, which was split<8>, in attn.core: grid (16, 8, 1) → "
                                        "(8, 8, 1)"));
  EXPECT_TRUE(other.fails());
  EXPECT_FALSE(
      between({"split<8>", "attn.core", {{wide, 28}}, 0, ""}, {"split<4>", "attn.core", {{wide, 28}}, 0, ""})
          .fails());
}

TEST(compare_exactly, follows_a_renamed_kernel_that_is_alone_in_its_operator) {
  const operation_facts before{"split", "attn.core", {{wide, 28}}, 0, "1f"};
  const exact_comparison renamed = between(before, {"divide", "attn.core", {{wide, 28}}, 0, "2e"});
  EXPECT_THAT(texts(renamed), ElementsAre("new kernel: divide", "gone kernel: split"));
  EXPECT_FALSE(renamed.fails());
  EXPECT_THAT(texts(between(before, {"divide", "attn.core", {{narrow, 28}}, 0, "1f"})),
              ElementsAre("new kernel: divide", "gone kernel: split",
                          "divide, which was split, in attn.core: grid (16, 8, 1) → (8, 8, 1)"));
  EXPECT_FALSE(between(before, {"divide", "attn.core", {{narrow, 14}}, 0, ""}).fails())
      << "another number of launches is of another kernel";
}

TEST(compare_exactly, does_not_take_kernels_for_each_other_that_have_only_the_operator_in_common) {
  stage_structure before = structure({"a_split", "b_merge"}, 32, 16, 100);
  before.operations = {{"a_split", "attn.core", {{wide, 28}}, 0, ""},
                       {"b_merge", "attn.core", {{narrow, 28}}, 0, ""}};
  stage_structure after = structure({"x_merge", "y_split"}, 32, 16, 100);
  after.operations = {{"x_merge", "attn.core", {{narrow, 28}}, 0, ""},
                      {"y_split", "attn.core", {{wide, 28}}, 0, ""}};
  exact_rules rules;
  rules.launch_configuration_fails = true;
  EXPECT_FALSE(compare_exactly(before, after, rules).fails());
  const exact_comparison chosen =
      between({"nvjet_sm90_tst_64x8_64x16_2x1_v_bz_NNT", "mlp.down", {{wide, 28}}, 0, ""},
              {"nvjet_sm90_tst_128x8_64x12_1x1_h_bz_NNT", "mlp.down", {{narrow, 28}}, 0, ""});
  EXPECT_EQ(chosen.changes.size(), 2U) << "a library that chose another kernel launches that otherwise";
  EXPECT_FALSE(chosen.fails());
}

TEST(compare_exactly, says_where_launches_of_known_configurations_are_shared_out_otherwise) {
  const exact_comparison shifted = between({"split", "attn.core", {{wide, 440}, {narrow, 8}}, 0, ""},
                                           {"split", "attn.core", {{wide, 8}, {narrow, 440}}, 0, ""});
  EXPECT_THAT(texts(shifted),
              ElementsAre("split in attn.core: 440 of 448 launches with grid (16, 8, 1) → 8"));
  EXPECT_TRUE(shifted.fails());
  EXPECT_THAT(texts(between({"split", "attn.core", {{wide, 440}, {narrow, 8}}, 0, ""},
                            {"split", "attn.core", {{wide, 880}, {narrow, 16}}, 0, ""})),
              ElementsAre("split in attn.core: launches 448 → 896"));
}

TEST(compare_exactly, finds_copies_that_only_one_makes_and_waits_that_are_more) {
  const launch_configuration same{{16, 8, 1}, {128, 1, 1}, 64, 0};
  const stage_structure without = with_kernel(same, 28);
  stage_structure with = without;
  with.operations.insert(with.operations.begin(), {"copy device to host", "sample", {{{}, 64}}, 512, ""});
  EXPECT_THAT(texts(compare_exactly(without, with, {})),
              ElementsAre("copy device to host in sample: 0 → 64 times"));
  EXPECT_THAT(texts(compare_exactly(with, without, {})),
              ElementsAre("copy device to host in sample: 64 → 0 times"));
  with.synchronisations = {{"cudaStreamSynchronize", 64}};
  EXPECT_EQ(compare_exactly(without, with, {}).changes.size(), 1U) << "nobody counted them in the other";
  stage_structure never_waits = without;
  never_waits.synchronisations.emplace();
  EXPECT_THAT(
      texts(compare_exactly(never_waits, with, {})),
      ElementsAre("copy device to host in sample: 0 → 64 times", "cudaStreamSynchronize: calls 0 → 64"));
}

TEST(compare_exactly, counts_configurations_where_one_has_more) {
  stage_structure one = with_kernel({{1, 1, 1}, {32, 1, 1}, 8, 0}, 2);
  stage_structure two = one;
  two.operations[0].launches[{{2, 1, 1}, {32, 1, 1}, 8, 0}] = 0;
  EXPECT_THAT(texts(compare_exactly(one, two, {})),
              ElementsAre("split in attn.core: launch configurations 1 → 2"));
}

TEST(compare_exactly, says_what_it_could_not_compare) {
  const auto result = compare_exactly({}, structure({"a"}, 1, 1, 1), {true, true, true});
  EXPECT_THAT(result.changes, IsEmpty());
  EXPECT_THAT(result.not_compared,
              ElementsAre("kernels, launches and graph nodes: in the baseline: its trace tells of none"));

  stage_structure uncounted = structure({"a"}, 1, 1, 1);
  uncounted.launches.reset();
  uncounted.graph_nodes.reset();
  EXPECT_THAT(compare_exactly(structure({"a"}, 1, 1, 1), uncounted, {}).not_compared,
              ElementsAre("launches: the candidate's trace does not tell which calls launched",
                          "graph nodes: they were not recorded of the candidate"));
  EXPECT_THAT(compare_exactly(structure({"a"}, 1, 0, 1), structure({"a"}, 1, 1, 1), {}).not_compared,
              ElementsAre("launches a token: the baseline decoded none"));
}

TEST(compare_exactly, on_a_cpu_says_that_there_are_no_kernels_and_not_that_nothing_was_traced) {
  stage_structure traced;
  traced.tokens = 1;
  traced.kernels_absent_reason = "the pair runs on the CPU: there are no kernels";
  EXPECT_THAT(
      compare_exactly(traced, traced, {}).not_compared,
      ElementsAre("kernels, launches and graph nodes: the pair runs on the CPU: there are no kernels"));
  stage_structure of_an_earlier_file;
  of_an_earlier_file.calls[{"mlp", ""}] = 4;
  EXPECT_THAT(compare_exactly(of_an_earlier_file, of_an_earlier_file, {}).not_compared,
              ElementsAre("kernels, launches and graph nodes: it ran on the CPU, which has no kernels"));
  EXPECT_THAT(
      compare_exactly(of_an_earlier_file, traced, {}).not_compared,
      ElementsAre("kernels, launches and graph nodes: in the baseline: it ran on the CPU, which has no "
                  "kernels; in the candidate: the pair runs on the CPU: there are no kernels"));
}

}  // namespace
}  // namespace profgate::gate
