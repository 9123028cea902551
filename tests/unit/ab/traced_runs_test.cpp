#include "traced_runs.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "ab/gate_config.h"

/// Traced processes as a comparison leaves them, made of what the embedded collector recorded on an H200.
namespace profgate::ab {
namespace {

namespace fs = std::filesystem;
using gate::arm;
using ::testing::HasSubstr;

const fs::path recorded = PROFGATE_TEST_DATA "/nsight/h200-2025.3.1/qwen3-0.6b.decode-b1";

arm_build gpu_build() {
  config::request wanted;
  wanted.runner = "";
  wanted.command_line_overrides = {"workload.device=cuda"};
  return {config::compose(wanted), "x", {"prog"}, true};
}

class traced_runs_test : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    m_folder = fs::path(::testing::TempDir()) /
               (std::string("profgate-traced-") + test->name() + std::to_string(getpid()));
  }
  void TearDown() override { fs::remove_all(m_folder); }

  void add_run(arm which) {
    finished_run run;
    run.arm = which;
    run.kind = run_kind::traced;
    run.record.slot = m_runs.size();
    const fs::path traces = m_folder / "traces" /
                            (std::string("00") + std::to_string(m_runs.size()) +
                             (which == arm::baseline ? "-baseline" : "-candidate"));
    fs::create_directories(traces);
    fs::copy_file(recorded / "embedded.timeline", traces / "embedded.timeline");
    fs::copy_file(recorded / "profiled.json", traces / "result.json");
    m_runs.push_back(run);
  }

  fs::path m_folder;
  std::vector<finished_run> m_runs;
  arm_build m_build = gpu_build();
};

TEST_F(traced_runs_test, kernels_of_a_graph_belong_to_the_operators_of_its_map) {
  add_run(arm::baseline);
  traced_arm traced(m_build, m_folder, m_runs, arm::baseline);
  ASSERT_EQ(traced.size(), 1U);
  const std::vector<analysis::stage_trace> traces = traced.traces_of("decode_all");
  ASSERT_EQ(traces.size(), 1U);
  std::map<std::string, std::size_t> launches_by_operator;
  for (const analysis::operation& operation : traces[0].operations) {
    if (!operation.is_copy) launches_by_operator[std::string(operation.path)] += 1;
  }
  EXPECT_EQ(launches_by_operator.count(""), 0U);
  EXPECT_GE(launches_by_operator["attn.core"], 64U * 28U);  // 64 steps of 28 layers
  EXPECT_GE(launches_by_operator["lm_head"], 64U);
}

TEST_F(traced_runs_test, the_structure_is_counted_and_the_same_build_differs_in_nothing) {
  add_run(arm::baseline);
  add_run(arm::candidate);
  traced_arm baseline(m_build, m_folder, m_runs, arm::baseline);
  traced_arm candidate(m_build, m_folder, m_runs, arm::candidate);
  const auto structure = baseline.structure({"decode_all"});
  ASSERT_TRUE(structure.at("decode_all").kernels);
  EXPECT_EQ(structure.at("decode_all").tokens, 64);
  EXPECT_GE(structure.at("decode_all").launches, 64);
  EXPECT_GT(structure.at("decode_all").graph_nodes, 28);
  const gate::attribution same =
      gate::attribute(baseline.traces_of("decode_all"), candidate.traces_of("decode_all"));
  EXPECT_EQ(same.difference_ns, 0);
  EXPECT_TRUE(same.causes.empty());
}

TEST_F(traced_runs_test, tokens_are_those_of_all_decode_steps_and_of_no_stage_that_is_called_alike) {
  add_run(arm::baseline);
  traced_arm traced(m_build, m_folder, m_runs, arm::baseline);
  const auto structure = traced.structure({"decode_all", "decode_step", "decode"});
  EXPECT_EQ(structure.at("decode_all").tokens, 64);
  EXPECT_EQ(structure.at("decode_step").tokens, 1) << "what it launches is not launched for 64 tokens";
  EXPECT_EQ(structure.at("decode").tokens, 1);
}

TEST_F(traced_runs_test, sums_hold_all_launches_and_all_time) {
  add_run(arm::candidate);
  traced_arm traced(m_build, m_folder, m_runs, arm::candidate);
  std::int64_t launches = 0;
  const std::vector<analysis::stage_trace> traces = traced.traces_of("decode_all");
  for (const analysis::operation& operation : traces.at(0).operations) launches += operation.is_copy ? 0 : 1;
  const auto sums = traced.sums({"decode_all", "no such stage"});
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums[0].size(), 1U);
  const analysis::stage_operations& decode = sums[0].at("decode_all");
  std::int64_t summed = 0;
  std::int64_t exclusive_units = 0;
  for (const analysis::operation_sum& sum : decode.operations) {
    EXPECT_FALSE(sum.name.empty());
    EXPECT_GT(sum.total_ns, 0);
    if (sum.category != "copy") summed += sum.launches;
    exclusive_units += sum.exclusive_units;
  }
  EXPECT_EQ(summed, launches);
  ASSERT_TRUE(decode.times);
  EXPECT_EQ(decode.times->time_ns, traces.at(0).end_ns - traces.at(0).start_ns);
  std::int64_t idle_ns = 0;
  for (const std::int64_t of_cause_ns : decode.times->idle.by_cause_ns) idle_ns += of_cause_ns;
  EXPECT_EQ(exclusive_units / analysis::units_per_ns + idle_ns, decode.times->time_ns);
}

TEST_F(traced_runs_test, a_trace_that_failed_says_why) {
  add_run(arm::baseline);
  m_runs[0].crash = "the workload made no NVTX call";
  traced_arm traced(m_build, m_folder, m_runs, arm::baseline);
  EXPECT_EQ(traced.size(), 0U);
  EXPECT_THAT(traced.absent_reason(),
              HasSubstr("the baseline could not be traced: the workload made no NVTX call"));
  EXPECT_TRUE(traced.structure({"decode_all"}).empty());
}

}  // namespace
}  // namespace profgate::ab
