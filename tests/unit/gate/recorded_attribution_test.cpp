// Attribution on traces that nsys recorded on a GPU: as they are, and with one kernel changed in a known way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "gate/attribution.h"
#include "parsers/timeline.h"

namespace profgate::gate {
namespace {

using analysis::host_wait;
using analysis::operation;

core::timeline recorded_timeline(const std::string& name) {
  return parsers::read_nsys_sqlite(std::string(PROFGATE_TEST_DATA "/nsight/h200-2025.3.1/qwen3-3layers/") +
                                   name + ".sqlite");
}

analysis::stage_trace only_trace(core::timeline& timeline, const std::string& stage) {
  analysis::labelled_traces labelled = analysis::label_operations(timeline, stage, {"LLM"});
  if (labelled.occurrences.size() != 1) throw std::runtime_error("the recording should hold one " + stage);
  timeline.texts.adopt(labelled.texts);  // the paths
  return labelled.occurrences.front();
}

/// Time in which any operation ran, by painting over, without the sweep under test.
std::int64_t painted_busy_ns(const analysis::stage_trace& trace) {
  std::vector<std::pair<std::int64_t, std::int64_t>> intervals;
  for (const operation& one : trace.operations) intervals.emplace_back(one.start_ns, one.end_ns);
  std::sort(intervals.begin(), intervals.end());
  std::int64_t busy_ns = 0;
  std::int64_t until_ns = trace.start_ns;
  for (const auto& [start_ns, end_ns] : intervals) {
    const std::int64_t to_ns = std::min(end_ns, trace.end_ns);
    busy_ns += std::max<std::int64_t>(0, to_ns - std::max(start_ns, until_ns));
    until_ns = std::max(until_ns, to_ns);
  }
  return busy_ns;
}

/// Everything from `at_ns` on happens later; an operation that ends there ends later.
void insert_time(analysis::stage_trace& trace, std::int64_t at_ns, std::int64_t more_ns) {
  const auto move = [&](std::int64_t& time_ns) { time_ns += time_ns >= at_ns ? more_ns : 0; };
  for (operation& one : trace.operations) {
    move(one.start_ns);
    move(one.end_ns);
  }
  for (host_wait& wait : trace.waits) {
    move(wait.start_ns);
    move(wait.end_ns);
  }
  move(trace.end_ns);
}

attribution expect_additive(const analysis::stage_trace& before, const analysis::stage_trace& after) {
  const attribution result = attribute({before}, {after});
  const auto length_ns = [](const analysis::stage_trace& trace) { return trace.end_ns - trace.start_ns; };
  EXPECT_EQ(result.difference_ns, static_cast<double>(length_ns(after) - length_ns(before)));
  EXPECT_EQ(result.busy_difference_ns, static_cast<double>(painted_busy_ns(after) - painted_busy_ns(before)));
  const double sum_ns = std::accumulate(result.causes.begin(), result.causes.end(), 0.0,
                                        [](double sum, const cause& part) { return sum + part.delta_ns; });
  EXPECT_LE(std::abs(sum_ns - result.difference_ns), static_cast<double>(result.operations));
  EXPECT_NEAR(result.residual_ns, 0, 0.01);  // far better than the 1 ns an operation that is allowed
  return result;
}

class recorded_attribution : public testing::Test {
 protected:
  core::timeline m_timeline = recorded_timeline("eager");
  analysis::stage_trace m_before = only_trace(m_timeline, "decode_all");
  analysis::stage_trace m_after = m_before;
  std::deque<std::string> m_names;  ///< that the changed operations point to

  std::string_view keep(std::string name) { return m_names.emplace_back(std::move(name)); }
  operation& first_named(std::string_view part) {
    for (operation& one : m_after.operations) {
      if (one.name.find(part) != std::string_view::npos) return one;
    }
    throw std::runtime_error("the recording has no " + std::string(part));
  }
};

TEST_F(recorded_attribution, of_eager_launches_against_a_graph_adds_up) {
  core::timeline graph = recorded_timeline("graph");
  const attribution result = expect_additive(m_before, only_trace(graph, "decode_all"));
  EXPECT_GT(result.operations, 100U);
}

TEST_F(recorded_attribution, of_renamed_kernels_is_nothing) {
  for (operation& one : m_after.operations) one.name = keep(std::string(one.name) + " [clone .kd]");
  EXPECT_TRUE(expect_additive(m_before, m_after).causes.empty());
}

TEST_F(recorded_attribution, of_a_slower_kernel_names_it_first) {
  for (std::size_t i = 0; i < m_after.operations.size(); ++i) {
    if (m_after.operations[i].name.find("split_attention") == std::string_view::npos) continue;
    insert_time(m_after, m_after.operations[i].end_ns, 777);
  }
  const attribution result = expect_additive(m_before, m_after);
  EXPECT_NE(result.causes.front().name.find("split_attention"), std::string::npos);
  EXPECT_EQ(result.causes.front().kind, cause_kind::duration);
}

TEST_F(recorded_attribution, of_split_kernels_adds_up) {
  const std::vector<operation> all = m_after.operations;
  m_after.operations.clear();
  for (const operation& one : all) {
    operation first = one;
    operation second = one;
    if (one.name.find("rms_norm") != std::string_view::npos ||
        one.name.find("attention") != std::string_view::npos) {
      first.end_ns = second.start_ns = (one.start_ns + one.end_ns) / 2;
      second.name = "second_half_kernel";
      m_after.operations.push_back(second);
    }
    m_after.operations.push_back(first);
  }
  const attribution result = expect_additive(m_before, m_after);
  const bool has_new = std::any_of(result.causes.begin(), result.causes.end(), [](const cause& part) {
    return part.kind == cause_kind::new_operation && part.name == "second_half_kernel";
  });
  EXPECT_TRUE(has_new);
  // the other way round the same kernels were fused
  const attribution fused = expect_additive(m_after, m_before);
  EXPECT_EQ(fused.causes.size(), result.causes.size());
}

TEST_F(recorded_attribution, of_kernels_moved_to_another_stream_adds_up) {
  for (std::size_t i = 1; i < m_after.operations.size(); i += 2) {
    operation& one = m_after.operations[i];
    one.stream += 1;
    one.start_ns -= 4321;  // over its predecessor
    one.end_ns -= 4321;
  }
  const attribution result = expect_additive(m_before, m_after);
  EXPECT_EQ(result.difference_ns, 0);
  EXPECT_FALSE(result.causes.empty());
}

TEST_F(recorded_attribution, of_an_own_kernel_replaced_by_the_librarys_adds_up) {
  const operation replaced = first_named("::gemv<");
  std::int64_t added_ns = 0;
  for (std::size_t i = 0; i < m_after.operations.size(); ++i) {
    if (m_after.operations[i].name != replaced.name || m_after.operations[i].path != replaced.path) continue;
    m_after.operations[i].name = "nvjet_sm90_tst_64x8_64x16_1x1_h_bz_TNT";
    insert_time(m_after, m_after.operations[i].end_ns, 250);
    added_ns += 250;
  }
  const attribution result = expect_additive(m_before, m_after);
  EXPECT_EQ(result.difference_ns, static_cast<double>(added_ns));
  EXPECT_EQ(result.causes.front().name, "nvjet_sm90_tst_64x8_64x16_1x1_h_bz_TNT");
  EXPECT_EQ(result.causes.front().baseline_name, replaced.name);
  // Kernels here start before their predecessor ends, so some of the time is shared with a successor.
  EXPECT_GT(result.causes.front().delta_ns, static_cast<double>(added_ns) / 2);
}

TEST_F(recorded_attribution, of_an_injected_kernel_names_it_first) {
  // where the device was idle: a kernel injected there shares its time with no other
  std::sort(m_after.operations.begin(), m_after.operations.end(),
            [](const operation& a, const operation& b) { return a.start_ns < b.start_ns; });
  std::size_t place = 1;
  std::int64_t busy_until_ns = m_after.operations[0].end_ns;
  while (m_after.operations.at(place).start_ns <= busy_until_ns) {
    busy_until_ns = std::max(busy_until_ns, m_after.operations[place++].end_ns);
  }
  operation injected = m_after.operations[place];
  const std::int64_t at_ns = injected.start_ns;
  insert_time(m_after, at_ns, 50'000);
  injected.name = "spin_kernel";
  injected.start_ns = at_ns;
  injected.end_ns = at_ns + 50'000;
  m_after.operations.push_back(injected);
  const attribution result = expect_additive(m_before, m_after);
  EXPECT_EQ(result.causes.front().kind, cause_kind::new_operation);
  EXPECT_EQ(result.causes.front().name, "spin_kernel");
  EXPECT_NEAR(result.causes.front().delta_ns, 50'000, 5000) << "with the gap that it took over";
}

}  // namespace
}  // namespace profgate::gate
