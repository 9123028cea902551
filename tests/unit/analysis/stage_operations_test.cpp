#include "analysis/stage_operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "stage_sums.h"
#include "timeline_builder.h"

namespace profgate::analysis {
namespace {

using ::testing::ElementsAre;

/// Three kernels, 400 ns apart, each asked for as it begins; the waits of several threads overlap.
TEST(sum_up, gives_each_gap_to_the_first_wait_in_it) {
  std::mt19937 random(1);
  const auto number = [&](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random);
  };
  const std::vector<std::string> calls = {"a", "b", "c", "d", "e", "f"};
  for (int trial = 0; trial < 300; ++trial) {
    stage_trace trace{0, 1600};
    for (std::int64_t at_ns = 400; at_ns < 1600; at_ns += 400) {
      operation& kernel = trace.operations.emplace_back();
      kernel.name = "k";
      kernel.start_ns = kernel.launched_ns = at_ns;
      kernel.end_ns = at_ns + 100;
    }
    std::vector<std::int64_t> starts_ns;
    for (std::size_t i = 0; i < calls.size(); ++i)
      starts_ns.push_back(60 * number(0, 25) + static_cast<std::int64_t>(i));
    for (std::size_t i = 0; i < calls.size(); ++i)
      trace.waits.push_back({starts_ns[i], starts_ns[i] + number(1, i == 0 ? 2000 : 300), calls[i]});
    std::map<std::string, std::int64_t> expected;
    for (std::int64_t gap_ns = 0; gap_ns < 1600; gap_ns += gap_ns == 0 ? 500 : 400) {
      const std::int64_t end_ns = gap_ns == 0 ? 400 : gap_ns + 300;
      const host_wait* first = nullptr;
      std::int64_t waited_ns = 0;
      for (std::int64_t at_ns = gap_ns; at_ns < end_ns; ++at_ns)
        waited_ns += std::any_of(trace.waits.begin(), trace.waits.end(), [&](const host_wait& wait) {
          return wait.start_ns <= at_ns && at_ns < wait.end_ns;
        });
      for (const host_wait& wait : trace.waits) {
        if (wait.end_ns <= gap_ns || wait.start_ns >= end_ns) continue;
        if (first == nullptr || wait.start_ns < first->start_ns) first = &wait;
      }
      if (first == nullptr) continue;
      // The last gap is a wait's as a whole.
      expected[std::string(first->call)] += end_ns == 1600 ? end_ns - gap_ns : waited_ns;
    }
    const stage_operations summed = sum_up({trace});
    std::map<std::string, std::int64_t> found;
    for (const idle_place& waited : summed.times->places)
      if (waited.cause == idle_cause::synchronisation) found[waited.call] += waited.idle_ns;
    ASSERT_EQ(found, expected) << trial;
  }
}

TEST(sum_up, tells_the_latency_of_a_launch_from_the_wait_of_a_kernel_that_was_asked_for) {
  stage_trace trace{0, 10'000};
  const auto launch = [&](std::int64_t launched_ns, std::int64_t start_ns, std::int64_t end_ns,
                          std::uint32_t stream) {
    operation& kernel = trace.operations.emplace_back();
    kernel.name = "k";
    kernel.host_range = "attn";
    kernel.launched_ns = launched_ns;
    kernel.start_ns = start_ns;
    kernel.end_ns = end_ns;
    kernel.stream = stream;
  };
  launch(300, 1000, 2000, 7);   // the device had run dry: 700 of latency
  launch(400, 2500, 4000, 7);   // asked for long before: 500 are its own
  launch(500, 3500, 5000, 7);   // begins before the one ahead of it ends
  launch(600, 4500, 6000, 8);   // nothing is ahead of it in its stream
  launch(8000, 8200, 9000, 8);  // 200 of latency
  const stage_operations summed = sum_up({trace});
  const operation_sum& sum = summed.operations.at(0);
  EXPECT_EQ(sum.waiting_ns, 700 + 500 + 200);
  EXPECT_EQ(sum.latency_ns, 700 + 200);
  EXPECT_EQ(sum.early_launches, 1);
  std::int64_t launches_ns = 0;
  for (const idle_place& waited : summed.times->places)
    if (waited.cause == idle_cause::launch && waited.host_range == "attn") launches_ns += waited.idle_ns;
  EXPECT_EQ(launches_ns, 900) << "and where the host asked for them";
}

stage_trace occurrence_of(std::uint32_t process_id, std::size_t operations, std::int64_t duration_ns) {
  stage_trace trace{0, duration_ns};
  trace.process_id = process_id;
  for (std::size_t i = 0; i < operations; ++i) {
    operation& kernel = trace.operations.emplace_back();
    kernel.name = "k";
    kernel.end_ns = 10;
  }
  return trace;
}

TEST(typical_of, looks_at_each_process_by_itself) {
  // Rank 1 runs two operations a step, rank 2 three: together neither is what most do.
  const std::vector<stage_trace> ranks = {occurrence_of(2, 9, 5000), occurrence_of(1, 9, 4000),
                                          occurrence_of(2, 3, 300),  occurrence_of(1, 2, 200),
                                          occurrence_of(1, 2, 210),  occurrence_of(2, 3, 310)};
  EXPECT_THAT(typical_of(ranks), ElementsAre(&ranks[3], &ranks[2]));
  EXPECT_EQ(sum_up(ranks).times->occurrences, 2);
  EXPECT_EQ(sum_up(ranks).operations.at(0).launches, 2 + 3);
}

/// attn calls itself, and the inner call launches.
TEST(stage_sums, count_an_operator_that_calls_itself_once) {
  const traced_stage prefill = *analyze_one(timeline_builder()
                                                .range("prefill", 0, 100)
                                                .range("attn", 10, 90)
                                                .range("norm", 20, 80)
                                                .range("attn", 30, 70)
                                                .range("attn", 92, 96)
                                                .kernel("outer", 15, 15, 20)
                                                .kernel("inner", 40, 40, 60)
                                                .build())
                                    .stages[0];
  const operator_figures& attn = *find_operator(prefill, "attn");
  EXPECT_EQ(attn.record.total_ns, 80 + 4);
  EXPECT_EQ(attn.record.calls, 2);
  EXPECT_EQ(*attn.self_ns, 20 + 40 + 4) << "all but norm's own";
  EXPECT_EQ(attn.record.cuda_ns, 5 + 20);
  EXPECT_EQ(*attn.cuda_self_ns, 5 + 20) << "its inner call launched the second";
  EXPECT_EQ(*attn.cuda_whole_exclusive_ns, 25);
  EXPECT_LE(*attn.cuda_share_ratio, 1.0);
  const operator_figures& norm = *find_operator(prefill, "norm");
  EXPECT_EQ(norm.record.total_ns, 60);
  EXPECT_EQ(norm.record.cuda_ns, 20);
  EXPECT_EQ(prefill.uncovered_ns, 16);
}

TEST(analyze_timelines, sums_the_copies_of_an_operator_and_of_those_inside_of_it) {
  const traced_stage prefill = *analyze_one(timeline_builder()
                                                .range("prefill", 0, 100)
                                                .range("vision", 5, 60)
                                                .range("vision", 8, 40)
                                                .range("sam", 10, 30)
                                                .kernel("k", 12, 20, 25)
                                                .copy(15, 26, 33, 0)
                                                .copy(41, 42, 44, 0)
                                                .range("attn", 70, 90)
                                                .kernel("k", 72, 75, 80)
                                                .copy(95, 96, 99, 0)
                                                .build())
                                    .stages[0];
  EXPECT_EQ(*find_operator(prefill, "vision")->copies_ns, 7 + 2);
  EXPECT_EQ(*find_operator(prefill, "sam")->copies_ns, 7);
  EXPECT_EQ(*find_operator(prefill, "attn")->copies_ns, 0);
}

TEST(stage_sums, count_a_replayed_operator_that_calls_itself_once) {
  core::timeline timeline = timeline_builder().kernel("k", 5, 10, 30).build();
  stage_sums sums;
  sums.add_kernel(timeline.kernels.at(0), {}, 20, {"attn", "norm", "attn"}, 0);
  sums.add_kernel(timeline.kernels.at(0), {}, 20, {"attn", "norm", "attn"}, 2);
  const operator_sums& attn = sums.operators.at("attn");
  EXPECT_EQ(attn.cuda_ns, 40);
  EXPECT_EQ(attn.cuda_self_ns, 40);
  EXPECT_EQ(attn.cuda_whole_exclusive_ns, 40);
  EXPECT_EQ(attn.replayed_calls, 1) << "the second goes on in the first's";
  EXPECT_EQ(sums.operators.at("norm").replayed_calls, 1);
}

}  // namespace
}  // namespace profgate::analysis
