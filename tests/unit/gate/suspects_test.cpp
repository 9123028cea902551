#include "gate/suspects.h"

#include <gmock/gmock.h>

#include "gate/judge.h"
#include "made_runs.h"

namespace profgate::gate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

struct made_kernel {
  std::string name;
  std::string path;
  std::int64_t total_ns;
  std::string category = "gemv";
};

/// Traces of one process whose decode_all consists of these kernels.
void trace(run_set& runs, const std::vector<made_kernel>& kernels) {
  analysis::stage_operations stage;
  std::int64_t at_ns = 0;
  for (const made_kernel& kernel : kernels) {
    stage.operations.push_back({kernel.name, kernel.path, kernel.category, 16, kernel.total_ns,
                                kernel.total_ns * analysis::units_per_ns, at_ns});
    at_ns += kernel.total_ns;
  }
  stage.times = {{1, at_ns, {}}};
  runs.traces = {{{"decode_all", stage}}};
}

class suspects_test : public ::testing::Test {
 protected:
  judgement judged() const { return judge_stored(m_before, m_now, {}, {}, today); }
  suspects found() const { return suspects_of(judged(), m_before, m_now); }
  cause first_cause() const {
    for (const stage_judgement& stage : judged().stages) {
      if (stage.attributed) return stage.attributed->causes.at(0);
    }
    ADD_FAILURE() << "nothing regressed";
    return {};
  }

  run_set m_before = made_runs(9e6);
  run_set m_now = made_later(12e6);
};

TEST_F(suspects_test, are_the_three_kernels_that_cost_most_more) {
  trace(m_before, {{"a", "qkv", 2'000'000},
                   {"b", "out", 2'000'000},
                   {"c", "up", 2'000'000},
                   {"d", "down", 2'000'000},
                   {"e", "norm", 1'000'000}});
  trace(m_now, {{"a", "qkv", 2'300'000},
                {"b", "out", 3'500'000},
                {"c", "up", 2'800'000},
                {"d", "down", 2'600'000},
                {"e", "norm", 800'000}});
  const std::vector<suspect> three = {
      {"decode_all", "b", "out"}, {"decode_all", "c", "up"}, {"decode_all", "d", "down"}};
  EXPECT_EQ(found().candidate, three);
  EXPECT_EQ(found().baseline, three);
}

TEST_F(suspects_test, each_arm_has_its_own_kernel_of_those_that_replaced_others) {
  trace(m_before, {{"gemv", "qkv", 9'000'000}});
  trace(m_now, {{"reduce", "qkv", 4'000'000, "other"}, {"splitk", "qkv", 8'000'000, "gemm"}});
  EXPECT_THAT(found().baseline, ElementsAre(suspect{"decode_all", "gemv", "qkv"}));
  EXPECT_THAT(found().candidate, ElementsAre(suspect{"decode_all", "splitk", "qkv"}))
      << "the longest of the new ones";
}

TEST_F(suspects_test, counters_of_one_of_several_are_not_told_as_those_of_all) {
  trace(m_before, {{"gemv", "qkv", 9'000'000}});
  trace(m_now, {{"reduce", "qkv", 4'000'000, "other"}, {"splitk", "qkv", 8'000'000, "gemm"}});
  m_before.counters = {{"decode_all", "gemv", "qkv", 3, 9200, 2.00e6}};
  m_now.counters = {{"decode_all", "splitk", "qkv", 3, 9250, 1.00e6}};
  EXPECT_THAT(first_cause().evidence, ElementsAre("the largest kernel of each: DRAM 2.00 → 1.00 MB"))
      << "neither as fast as before nor with half of the bytes: both kernels took its place";
  m_now.counters[0] = {"decode_all", "splitk", "qkv", 3, 18400, 2.00e6};
  EXPECT_THAT(first_cause().evidence, ElementsAre("the largest kernel of each: alone 9.2 → 18.4 µs"));
}

TEST_F(suspects_test, a_new_kernel_has_no_counterpart_and_copies_are_no_kernels) {
  trace(m_before, {{"gemv", "qkv", 9'000'000}, {"copy host to device", "", 1000, "copy"}});
  trace(m_now, {{"gemv", "qkv", 9'000'000},
                {"delay", "wait", 1'000'000},
                {"copy host to device", "", 2'001'000, "copy"}});
  EXPECT_THAT(found().baseline, IsEmpty());
  EXPECT_THAT(found().candidate, ElementsAre(suspect{"decode_all", "delay", "wait"}));
  m_now.counters = {{"decode_all", "delay", "wait", 3, 9200, 2.01e6}};
  const judgement with_counters = judged();
  for (const stage_judgement& stage : with_counters.stages) {
    if (!stage.attributed) continue;
    for (const cause& story : stage.attributed->causes) {
      if (story.name != "delay") continue;
      EXPECT_THAT(story.evidence, ElementsAre("alone 9.20 µs", "DRAM 2.01 MB"));
    }
  }
}

TEST_F(suspects_test, there_are_none_where_nothing_regressed) {
  m_now = made_later(9e6);
  trace(m_before, {{"a", "qkv", 2'000'000}});
  trace(m_now, {{"a", "qkv", 3'000'000}});
  EXPECT_THAT(found().candidate, IsEmpty());
}

TEST_F(suspects_test, counters_stand_beside_the_cause_and_twice_the_bytes_are_work) {
  trace(m_before, {{"a", "qkv", 9'000'000}});
  trace(m_now, {{"a", "qkv", 12'000'000}});
  m_before.counters = {{"decode_all", "a", "out", 3, 1, 1},
                       {"decode_all", "a", "qkv", 3, 9200, 1.00e6, 0.41, 1.20e6, 0.48, 64}};
  m_now.counters = {{"decode_all", "a", "qkv", 3, 11300, 2.01e6, 0.40, 1.21e6, 0.31, 64}};
  const cause story = first_cause();
  EXPECT_THAT(story.evidence,
              ElementsAre("alone 9.2 → 11.3 µs", "DRAM 1.00 → 2.01 MB", "occupancy 48 → 31 %"));
  EXPECT_THAT(story.changes, ElementsAre("work"));
  m_now.counters[0].dram_bytes = 1.5e6;
  EXPECT_THAT(first_cause().changes, IsEmpty());
  m_before.counters[1].dram_bytes = 4e3;
  m_now.counters[0].dram_bytes = 9e3;
  EXPECT_THAT(first_cause().changes, IsEmpty()) << "a trifle";
  m_now.counters.clear();
  EXPECT_THAT(first_cause().evidence, IsEmpty());
}

TEST_F(suspects_test, what_is_the_same_is_said_too_where_both_were_counted) {
  trace(m_before, {{"a", "qkv", 9'000'000}});
  trace(m_now, {{"a", "qkv", 12'000'000}});
  m_before.counters = {{"decode_all", "a", "qkv", 3, 9200, 1.00e6}};
  m_now.counters = {{"decode_all", "a", "qkv", 3, 11300, 1.02e6}};
  const auto set_code = [](run_set& runs, const char* code) {
    runs.structure["decode_all"].operations = {{"a", "qkv", {}, 0, code}};
  };
  EXPECT_THAT(first_cause().evidence, ElementsAre("alone 9.2 → 11.3 µs", "bytes unchanged"));
  set_code(m_before, "c0de");
  EXPECT_THAT(first_cause().evidence, Contains("bytes unchanged")) << "nobody knows the other's code";
  set_code(m_now, "c0de");
  EXPECT_THAT(first_cause().evidence, Contains("bytes and code unchanged"));
  m_now.counters[0].dram_bytes = 1.5e6;
  EXPECT_THAT(first_cause().evidence, Contains("code unchanged"));
  set_code(m_now, "other");
  EXPECT_THAT(first_cause().evidence, Not(Contains(::testing::HasSubstr("unchanged"))));
}

TEST_F(suspects_test, what_is_as_fast_as_before_alone_follows_from_what_changed) {
  trace(m_before, {{"a", "qkv", 8'000'000}, {"b", "out", 1'000'000}});
  trace(m_now, {{"a", "qkv", 8'400'000}, {"b", "out", 1'000'000}, {"new", "out", 2'600'000}});
  const auto causes = [&] {
    std::vector<std::string> names;
    for (const stage_judgement& stage : judged().stages)
      if (stage.attributed)
        for (const cause& story : stage.attributed->causes) names.push_back(story.name);
    return names;
  };
  EXPECT_THAT(causes(), ElementsAre("new", "a")) << "nobody knows what it would be alone";
  m_before.counters = {{"decode_all", "a", "qkv", 3, 9200}};
  m_now.counters = {{"decode_all", "a", "qkv", 3, 9300}};
  EXPECT_THAT(causes(), ElementsAre("new"));
  EXPECT_NEAR(first_cause().delta_ns, 3e6, 1e4) << "nothing is lost";
  EXPECT_THAT(first_cause().evidence, Contains("with the 400 µs by which qkv cost more beside it"));
  m_now.counters[0].duration_ns = 8500;
  EXPECT_THAT(causes(), ElementsAre("new")) << "the new one has some of its work: alone it is faster";
  m_now.counters[0].duration_ns = 9900;
  EXPECT_THAT(causes(), ElementsAre("new", "a")) << "it is slower by itself";
}

TEST_F(suspects_test, what_is_no_slower_alone_may_lose_more_than_the_kernel_before_it_takes) {
  trace(m_before, {{"a", "qkv", 9'000'000}});
  m_before.counters = {{"decode_all", "a", "qkv", 3, 9200}};
  m_now.counters = {{"decode_all", "a", "qkv", 3, 9200}};
  trace(m_now, {{"a", "qkv", 10'700'000}, {"new", "out", 1'300'000}});
  EXPECT_EQ(first_cause().name, "new");
  EXPECT_NEAR(first_cause().delta_ns, 3e6, 1e4);
  trace(m_now, {{"a", "qkv", 11'100'000}, {"new", "out", 900'000}});
  EXPECT_NEAR(first_cause().delta_ns, 0.9e6, 1e4) << "three times as much is another matter";
}

/// Two changes in one commit: what the second one did is not put down to the first.
TEST_F(suspects_test, what_is_launched_elsewhere_does_not_follow_from_a_cause) {
  const auto layer = [](std::int64_t first_ns, std::int64_t last_ns) {
    return std::vector<made_kernel>{{"a", "qkv", first_ns}, {"b", "rope", 900'000}, {"c", "core", 900'000},
                                    {"d", "norm", 900'000}, {"e", "act", 900'000},  {"f", "rms", 900'000},
                                    {"g", "down", last_ns}};
  };
  trace(m_before, layer(2'000'000, 2'000'000));
  trace(m_now, layer(3'900'000, 3'100'000));
  // Around the end of a layer "g" is next to "a": as often launched kernels lie between on both sides.
  for (run_set* runs : {&m_before, &m_now}) {
    auto& operations = runs->traces[0].at("decode_all").operations;
    operations.insert(operations.begin(), {"first", "x", "gemv", 16, 0, 0, -3});
    operations.insert(operations.begin(), {"second", "x", "gemv", 16, 0, 0, -2});
    operations.insert(operations.begin(), {"third", "x", "gemv", 16, 0, 0, -1});
    runs->counters = {{"decode_all", "a", "qkv", 3, 9200}, {"decode_all", "g", "down", 3, 5800}};
  }
  m_before.structure["decode_all"].operations = {{"a", "qkv", {}, 0, "c0de"}};
  m_now.structure["decode_all"].operations = {{"a", "qkv", {}, 0, "other"}};
  const judgement all = judged();
  const std::vector<cause>& causes = all.stages.at(0).attributed->causes;
  ASSERT_EQ(causes.size(), 2U);
  EXPECT_EQ(causes[0].name, "a");
  EXPECT_EQ(causes[1].name, "g");
}

TEST_F(suspects_test, a_first_kernel_that_is_as_fast_alone_waits_for_its_launch) {
  trace(m_before, {{"embed", "embed", 500'000}, {"b", "rope", 8'500'000}});
  trace(m_now, {{"embed", "embed", 3'500'000}, {"b", "rope", 8'500'000}});
  m_before.counters = {{"decode_all", "embed", "embed", 3, 4000}};
  m_now.counters = {{"decode_all", "embed", "embed", 3, 3900}};
  const cause first = first_cause();
  EXPECT_EQ(first.kind, cause_kind::idle);
  EXPECT_THAT(to_text(first), ::testing::AllOf(::testing::HasSubstr("longer idle: waiting for a launch: "),
                                               ::testing::HasSubstr("the first kernel, in embed: ")));
  m_now.counters[0].duration_ns = 28'000;
  EXPECT_EQ(first_cause().name, "embed") << "it is slower by itself";
}

TEST_F(suspects_test, are_the_first_of_each_stage_then_those_that_matter_most_in_theirs) {
  trace(m_before, {{"a", "qkv", 9'000'000}, {"b", "out", 900'000}});
  const analysis::stage_operations quick = m_before.traces[0].at("decode_all");
  trace(m_now, {{"new", "act", 3'000'000}, {"a", "qkv", 9'100'000}, {"b", "out", 900'000}});
  const analysis::stage_operations mostly_new = m_now.traces[0].at("decode_all");
  trace(m_now, {{"new", "act", 1'600'000}, {"a", "qkv", 9'000'000}, {"b", "out", 2'300'000}});
  m_before.traces[0]["a stage"] = quick;
  m_now.traces[0]["a stage"] = mostly_new;
  for (run_set* runs : {&m_before, &m_now})
    for (process_record& process : runs->processes)
      process.samples_ns["a stage"] = process.samples_ns["decode_all"];
  EXPECT_THAT(found().candidate,
              ElementsAre(suspect{"a stage", "new", "act"}, suspect{"decode_all", "new", "act"},
                          suspect{"decode_all", "b", "out"}))
      << "a hundredth of the one stage's difference is nothing beside half of the other's";
}

TEST_F(suspects_test, why_there_are_no_counters_is_said_once) {
  trace(m_before, {{"a", "qkv", 9'000'000}});
  trace(m_now, {{"a", "qkv", 12'000'000}});
  for (run_set* runs : {&m_before, &m_now}) {
    for (process_record& process : runs->processes)
      process.samples_ns["decode_one"] = process.samples_ns["decode_all"];
    runs->traces[0]["decode_one"] = runs->traces[0]["decode_all"];
  }
  m_before.uncounted_because = "ncu was not found";
  std::vector<std::string> reasons;
  for (const stage_judgement& stage : judged().stages) {
    EXPECT_EQ(stage.which == verdict::regressed, stage.stage != "prefill");
    if (!stage.uncounted_because.empty()) reasons.push_back(stage.stage + ": " + stage.uncounted_because);
  }
  EXPECT_THAT(reasons, ElementsAre("decode_all: ncu was not found"));
}

TEST(difference_lines, tell_what_differs_by_more_than_three_percent) {
  kernel_counts before{"s", "k", "p", 3, 100e3, 500e3, 0.41, 999, 0.5, 32};
  kernel_counts now = before;
  EXPECT_THAT(difference_lines(before, now), ElementsAre("alone as fast as before"));
  now = {"s", "k", "p", 3, 102e3, 514e3, 0.38, 1024, 0.53, 32};
  before.occupancy_ratio = 0.51;
  EXPECT_THAT(difference_lines(before, now), ElementsAre("alone as fast as before"));
  now = {"s", "k", "p", 3, 2.5e6, 1.2e9, 0.3, 2000, 0.6, 40};
  EXPECT_THAT(difference_lines(before, now),
              ElementsAre("alone 0.10 → 2.50 ms", "DRAM 0.00 → 1.20 GB", "L2 hits 41 → 30 %",
                          "instructions 1.00 → 2.00 k", "occupancy 51 → 60 %", "registers 32 → 40"));
  now.duration_ns.reset();
  EXPECT_THAT(difference_lines(before, now), Not(Contains("alone as fast as before"))) << "not known";
}

}  // namespace
}  // namespace profgate::gate
