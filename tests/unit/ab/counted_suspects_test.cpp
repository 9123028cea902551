#include "counted_suspects.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "../gate/made_runs.h"
#include "core/error.h"
#include "gate/judge.h"
#include "suspect_counts.h"

/// Counting on what an H200 left: the traces of a decode, and what ncu counted of the same program without
/// graphs. ncu itself is invented.
namespace profgate::ab {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const fs::path decode_recording = PROFGATE_TEST_DATA "/nsight/h200-2025.3.1/qwen3-0.6b.decode-b1";

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

arm_build counted_build(const std::string& device) {
  config::request wanted;
  wanted.runner = "";
  wanted.command_line_overrides = {"workload.device=" + device};
  return {config::compose(wanted), "x", {"prog", "{config}", "{mode}"}, true};
}

class counted_suspects : public ::testing::Test {
 protected:
  counted_suspects() {
    m_folder = fs::path(::testing::TempDir()) / ("profgate-counted-" + std::to_string(getpid()));
    fs::create_directories(m_folder);
    m_where.machine.environment.variables = {{"PROFGATE_NCU", "/bin/true"}};
    m_where.machine.environment.root = m_folder;
    m_where.machine.is_root = true;
    m_settings.stages = {"decode_all"};
    for (const gate::arm which : {gate::arm::baseline, gate::arm::candidate}) {
      finished_run run;
      run.arm = which;
      run.kind = run_kind::traced;
      run.record.slot = m_runs.size();
      const bool is_baseline = which == gate::arm::baseline;
      const fs::path traces = m_folder / "traces" / (is_baseline ? "000-baseline" : "001-candidate");
      fs::create_directories(traces);
      fs::copy_file(decode_recording / "embedded.timeline", traces / "embedded.timeline");
      fs::copy_file(decode_recording / "profiled.json", traces / "result.json");
      m_runs.push_back(run);
    }
    m_baseline_traces.emplace(m_build, m_folder, m_runs, gate::arm::baseline);
    m_candidate_traces.emplace(m_build, m_folder, m_runs, gate::arm::candidate);
    fill(m_baseline, *m_baseline_traces);
    fill(m_candidate, *m_candidate_traces);
  }
  ~counted_suspects() override { fs::remove_all(m_folder); }

  /// The candidate's kernels under this operator become slower by a tenth of the stage.
  void slow_down(const std::string& path) {
    analysis::stage_operations& stage = m_candidate.traces.at(0).at("decode_all");
    const std::int64_t more_ns = stage.times->time_ns / 10;
    for (analysis::operation_sum& sum : stage.operations) {
      if (sum.operator_path != path) continue;
      m_slower = sum.name;
      sum.total_ns += more_ns;
      sum.exclusive_units += more_ns * analysis::units_per_ns;
      stage.times->time_ns += more_ns;
      break;
    }
    const double level_ns = static_cast<double>(m_baseline.traces.at(0).at("decode_all").times->time_ns);
    m_baseline.processes = gate::made_runs(level_ns, 17, 0).processes;
    m_candidate.processes = gate::made_runs(level_ns * 1.1, 17, 1).processes;
  }

  void count() {
    const auto runner = [this](const fs::path& table) {
      return [this, table](const profilers::tool_command& command) { return invented_ncu(command, table); };
    };
    const arm_program program(m_where, m_build, m_folder);
    count_suspects(m_where, m_settings, m_folder,
                   {program, *m_baseline_traces, runner(decode_recording / "counters.csv"), m_baseline},
                   {program, *m_candidate_traces, runner(m_candidate_table), m_candidate});
  }

  arm_build m_build = counted_build("cuda");
  surroundings m_where;
  comparison_settings m_settings;
  fs::path m_folder;
  fs::path m_candidate_table = decode_recording / "counters.csv";
  std::vector<finished_run> m_runs;
  std::optional<traced_arm> m_baseline_traces;
  std::optional<traced_arm> m_candidate_traces;
  gate::run_set m_baseline = gate::made_runs(1);
  gate::run_set m_candidate = gate::made_runs(1);
  std::string m_slower;
  std::string m_said;            ///< by ncu's profiled run
  profilers::tool_run m_ending;  ///< of it
  std::vector<profilers::tool_command> m_profiled;

 private:
  static void fill(gate::run_set& runs, traced_arm& traced) {
    runs.structure = traced.structure({"decode_all"});
    runs.traces = traced.sums({"decode_all"});
  }

  profilers::tool_run invented_ncu(const profilers::tool_command& command, const fs::path& table) {
    const auto word = [&](const std::string& wanted) {
      return std::find(command.argv.begin(), command.argv.end(), wanted);
    };
    profilers::tool_run good;
    good.started = true;
    std::ofstream log(command.log_file, std::ios::app | std::ios::binary);
    if (word("--import") != command.argv.end()) log << text_of(table);
    if (word("--export") == command.argv.end()) return good;
    m_profiled.push_back(command);
    log << m_said;
    m_ending.started = true;
    if (m_ending.is_good() && m_said.empty())
      std::ofstream(*std::next(word("--export")) + ".ncu-rep") << "report";
    return m_ending;
  }
};

std::string word_after(const profilers::tool_command& command, const std::string& option) {
  const auto found = std::find(command.argv.begin(), command.argv.end(), option);
  return found == command.argv.end() ? "" : *std::next(found);
}

TEST_F(counted_suspects, both_builds_are_counted_once_without_graphs_in_the_middle_of_the_stage) {
  slow_down("attn.core");
  count();
  EXPECT_EQ(m_candidate.uncounted_because + m_baseline.uncounted_because, "");
  ASSERT_EQ(m_profiled.size(), 2U) << "one run of each build";
  const profilers::tool_command& command = m_profiled[1];
  EXPECT_EQ(word_after(command, "--nvtx-include"), "LLM@decode_all/");
  EXPECT_EQ(word_after(command, "--kernel-name-base"), "mangled");
  EXPECT_THAT(word_after(command, "--kernel-name"), HasSubstr("split_attention"));
  EXPECT_EQ(word_after(command, "--launch-count"), "3");
  EXPECT_GT(std::stoi(word_after(command, "--launch-skip")), 1);
  EXPECT_THAT(word_after(command, "--metrics"), HasSubstr("gpu__time_duration.sum,dram__bytes_read.sum"));
  EXPECT_EQ(word_after(command, "--section"), "");
  EXPECT_LE(command.deadline_ms, 40'000);
  EXPECT_THAT(text_of(m_folder / "counters/candidate/config.yaml"), HasSubstr("cuda_graphs: false"));
  ASSERT_EQ(m_candidate.counters.size(), 1U);
  const gate::kernel_counts& counted = m_candidate.counters[0];
  EXPECT_EQ(counted.name, m_slower);
  EXPECT_EQ(counted.path, "attn.core");
  EXPECT_EQ(counted.stage, "decode_all");
  EXPECT_GT(counted.launches, 0);
  EXPECT_GT(counted.duration_ns, 1000);
  EXPECT_GT(counted.dram_bytes, 0);
  EXPECT_GT(counted.occupancy_ratio, 0);
  EXPECT_LT(counted.occupancy_ratio, 1);
  EXPECT_EQ(counted.l2_hit_ratio, std::nullopt) << "the recording lacks it";
  const gate::judgement judged = gate::judge_interleaved(m_baseline, m_candidate, {}, {}, gate::today);
  for (const gate::stage_judgement& stage : judged.stages) {
    if (stage.stage != "decode_all") continue;
    ASSERT_TRUE(stage.attributed);
    EXPECT_THAT(stage.attributed->causes.at(0).evidence,
                ElementsAre("alone as fast as before", "bytes and code unchanged"));
  }
}

TEST_F(counted_suspects, the_verdict_stands_without_counters_and_says_why) {
  slow_down("attn.core");
  m_said = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n";
  m_ending.exit_code = 1;
  count();
  EXPECT_THAT(m_baseline.uncounted_because,
              HasSubstr("the baseline could not be counted: the driver gives GPU counters"));
  EXPECT_EQ(m_profiled.size(), 1U) << "nothing could be compared";
  m_where.machine.environment.variables["PROFGATE_NCU"] = "none";
  count();
  EXPECT_THAT(m_baseline.uncounted_because, HasSubstr("PROFGATE_NCU"));
  EXPECT_EQ(m_profiled.size(), 1U);
  EXPECT_THAT(m_baseline.counters, IsEmpty());
}

TEST_F(counted_suspects, time_that_is_over_is_no_failure_of_the_program) {
  slow_down("attn.core");
  m_ending.timed_out = true;
  m_ending.description = "timed out";
  count();
  EXPECT_EQ(m_baseline.uncounted_because,
            "the 40 s of gate.counter_budget_s were over; a program that starts slowly needs more: "
            "gate.counter_budget_s=120");
  EXPECT_LE(m_profiled.at(0).deadline_ms, 20'000) << "half is the other build's";
  const auto said_after = [&](std::int64_t budget_s) {
    m_build.config = m_build.config.with("gate.counter_budget_s", budget_s, "test");
    count();
    return m_baseline.uncounted_because;
  };
  EXPECT_THAT(said_after(1500), EndsWith(" gate.counter_budget_s=3600"));
  EXPECT_EQ(said_after(3600), "the 3600 s of gate.counter_budget_s were over") << "it takes no more";
}

TEST_F(counted_suspects, nothing_is_run_without_a_regression_a_budget_or_a_gpu) {
  m_baseline.processes = gate::made_runs(9e6, 17, 0).processes;
  m_candidate.processes = gate::made_runs(9e6, 17, 1).processes;
  count();
  slow_down("attn.core");
  m_build.config = m_build.config.with("gate.counter_budget_s", std::int64_t{0}, "test");
  count();
  m_build = counted_build("cpu");
  count();
  EXPECT_THAT(m_profiled, IsEmpty());
  EXPECT_EQ(m_baseline.uncounted_because + m_candidate.uncounted_because, "");
}

TEST(counts_of_suspects, are_those_of_the_operator_and_of_each_grid_by_its_share) {
  gate::run_set runs;
  gate::operation_facts facts{"k", "layer/mlp", {}, 0, ""};
  facts.launches[{{8, 1, 1}, {256, 1, 1}}] = 28;
  runs.structure["decode_all"].operations = {facts};
  const auto launch = [](const std::string& op, std::uint32_t blocks, double ns) {
    core::kernel_counters counters;
    counters.kernel_name = "k";
    counters.ranges = {"decode_all", "decode_step", op};
    counters.grid = {blocks, 1, 1};
    counters.block = {256, 1, 1};
    counters.metrics = {{"gpu__time_duration.sum", ns}, {"lts__t_sector_hit_rate.pct", 41}};
    return counters;
  };
  const std::vector<gate::suspect> suspects = {{"decode_all", "k", "layer/mlp"}, {"decode_all", "no", ""}};
  const std::vector<gate::kernel_counts> counts =
      counts_of_suspects(suspects, runs,
                         {launch("mlp", 8, 10), launch("mlp", 8, 30), launch("mlp", 8, 11),
                          launch("mlp", 4, 99), launch("attn", 8, 99), launch("attn", 8, 99)});
  ASSERT_EQ(counts.size(), 1U);
  EXPECT_EQ(counts[0].launches, 3);
  EXPECT_EQ(counts[0].duration_ns, 11);
  EXPECT_EQ(counts[0].l2_hit_ratio, 0.41);
  EXPECT_EQ(counts[0].registers, std::nullopt);
  EXPECT_EQ(counts_of_suspects(suspects, runs, {launch("unknown", 8, 7)}).at(0).duration_ns, 7)
      << "where ncu did not see the operator";
  runs.structure["decode_all"].operations[0].launches[{{512, 1, 1}, {256, 1, 1}}] = 14;
  EXPECT_EQ(counts_of_suspects(
                suspects, runs,
                {launch("mlp", 8, 10), launch("mlp", 8, 10), launch("mlp", 8, 10), launch("mlp", 512, 70)})
                .at(0)
                .duration_ns,
            30)
      << "a third of its launches are the large ones, however many were counted";
  EXPECT_THAT(counts_of_suspects(suspects, runs, {launch("mlp", 512, 70)}), IsEmpty())
      << "of most launches nothing is known";
}

}  // namespace
}  // namespace profgate::ab
