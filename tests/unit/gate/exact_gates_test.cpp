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

TEST(compare_exactly, says_what_it_could_not_compare) {
  const auto result = compare_exactly({}, structure({"a"}, 1, 1, 1), {true, true, true});
  EXPECT_THAT(result.changes, IsEmpty());
  EXPECT_THAT(result.not_compared, ElementsAre("kernels: an arm was not traced",
                                               "launches a token: an arm was not traced or decoded no tokens",
                                               "graph nodes: an arm was not traced"));
}

}  // namespace
}  // namespace profgate::gate
