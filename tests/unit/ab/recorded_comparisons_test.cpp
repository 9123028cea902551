#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "ab/next_step.h"
#include "artifacts/files.h"
#include "baselines/run_set_file.h"
#include "gate/comparability.h"
#include "gate/judge.h"
#include "gate/process_runs.h"
#include "render/verdict_json.h"

/// Every recorded comparison, once as whoever runs it judges it, and once from its files.
namespace profgate::ab {
namespace {

namespace fs = std::filesystem;
constexpr const char* today = "2026-11-15";

struct two_arms {
  gate::run_set baseline{};
  gate::run_set candidate{};
};

two_arms read_arms(const fs::path& folder) {
  return {baselines::read_run_set(folder / baselines::baseline_runs_name).runs,
          baselines::read_run_set(folder / baselines::candidate_runs_name).runs};
}

/// As it comes back from a file.
gate::run_set stored_and_read(const gate::run_set& runs) {
  baselines::stored_run_set stored;
  stored.runs = runs;
  return baselines::parse_run_set(baselines::run_set_text(stored), "again.runs.json").runs;
}

/// What the runner had before it while it ran.
comparison_state state_of(const two_arms& arms) {
  comparison_state state;
  for (const gate::arm which : {gate::arm::baseline, gate::arm::candidate}) {
    bool is_warm = false;
    for (const gate::process_record& process :
         (which == gate::arm::baseline ? arms.baseline : arms.candidate).processes) {
      finished_run run;
      run.arm = which;
      run.record = process;
      const bool warms_up = process.spoiled_by == gate::warmed_up_again || (!is_warm && !process.spoiled_by);
      run.kind = warms_up ? run_kind::warm_up : run_kind::counted;
      if (warms_up) run.record.spoiled_by.reset();
      is_warm = is_warm || warms_up;
      state.runs.push_back(std::move(run));
    }
  }
  std::stable_sort(state.runs.begin(), state.runs.end(), [](const finished_run& a, const finished_run& b) {
    return a.record.slot < b.record.slot;
  });
  return state;
}

std::set<std::string> stages_in(const gate::run_set& runs) {
  const std::vector<std::string> stages = gate::stages_of(runs);
  return {stages.begin(), stages.end()};
}

comparison_settings settings_for(const two_arms& arms) {
  comparison_settings settings;
  std::set<std::string> stages;
  for (const gate::run_set* runs : {&arms.baseline, &arms.candidate}) stages.merge(stages_in(*runs));
  settings.stages.assign(stages.begin(), stages.end());
  if (!arms.candidate.gated_stages.empty()) settings.stages = arms.candidate.gated_stages;
  settings.reduction = gate::reduction_for(arms.candidate);
  return settings;
}

/// The runner's own run sets, with what it does not make of its runs taken from the files.
two_arms live_arms(const two_arms& recorded, const comparison_settings& settings) {
  const comparison_state state = state_of(recorded);
  two_arms live{run_set_of(settings, state, gate::arm::baseline),
                run_set_of(settings, state, gate::arm::candidate)};
  const auto add = [](const gate::run_set& from, gate::run_set& to) {
    to.identity = from.identity;
    to.gated_stages = from.gated_stages;
    to.structure = from.structure;
    to.experts = from.experts;
    to.counters = from.counters;
    to.uncounted_because = from.uncounted_because;
    to.untraced_because = from.untraced_because;
    to.traces = from.traces;
    for (auto& process : to.traces) {
      for (auto& [stage, traced] : process) {
        // A live share of an instant is no whole number of nanoseconds, as the file's is.
        for (analysis::operation_sum& sum : traced.operations)
          sum.exclusive_units += analysis::units_per_ns / 3;
      }
    }
  };
  add(recorded.baseline, live.baseline);
  add(recorded.candidate, live.candidate);
  return live;
}

std::vector<fs::path> recorded_comparisons() {
  std::vector<fs::path> all;
  for (const auto& entry : fs::recursive_directory_iterator(PROFGATE_TEST_DATA)) {
    if (entry.path().filename() == baselines::baseline_runs_name) all.push_back(entry.path().parent_path());
  }
  std::sort(all.begin(), all.end());
  std::vector<fs::path> folders;
  for (std::size_t i = 0; i < all.size(); i += PROFGATE_TEST_STRIDE) {
    const two_arms arms = read_arms(all[i]);
    if (gate::are_interleaved(arms.baseline, arms.candidate)) folders.push_back(all[i]);
  }
  return folders;
}

TEST(recorded_comparisons, are_judged_again_from_their_files_as_they_were_judged_live) {
  std::size_t stages = 0;
  for (const fs::path& folder : recorded_comparisons()) {
    SCOPED_TRACE(folder.string());
    const two_arms recorded = read_arms(folder);
    const comparison_settings settings = settings_for(recorded);
    const two_arms live = live_arms(recorded, settings);
    gate::judge_rules rules;
    rules.reduction = settings.reduction;
    const gate::judgement judged = gate::judge_interleaved(live.baseline, live.candidate, rules, {}, today);
    const std::string verdict = render::verdict_json(judged);
    EXPECT_EQ(render::verdict_json(gate::judge_run_sets(stored_and_read(live.baseline),
                                                        stored_and_read(live.candidate), rules, {}, today)),
              verdict);
    EXPECT_EQ(
        render::verdict_json(gate::judge_run_sets(recorded.baseline, recorded.candidate, rules, {}, today)),
        verdict);
    if (judged.stages.empty()) continue;  // not comparable

    // What made the runner stop is what is said in the end.
    const std::vector<gate::stage_step> steps = stage_steps(settings, state_of(recorded));
    ASSERT_EQ(steps.size(), judged.stages.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const gate::stage_judgement& stage = judged.stages[i];
      if (!steps[i].final_verdict) continue;  // made-up runs that end early
      EXPECT_EQ(steps[i].final_verdict, stage.which) << stage.stage;
      EXPECT_EQ(steps[i].in_phase, stage.in_phase) << stage.stage;
      ASSERT_EQ(steps[i].judged.has_value(), stage.numbers.has_value()) << stage.stage;
      if (stage.numbers) {
        EXPECT_EQ(steps[i].judged->slowdown_ratio, stage.numbers->slowdown_ratio);
      }
      ++stages;
    }
  }
  EXPECT_GE(stages, PROFGATE_TEST_STRIDE == 1 ? 88U : 10U);
}

/// The verdict that lies beside the runs was written by the profgate of that day.
TEST(recorded_comparisons, get_the_verdict_that_they_got_on_their_machine) {
  std::size_t comparisons = 0;
  for (const fs::path& folder : recorded_comparisons()) {
    if (!fs::exists(folder / "verdict.json")) continue;
    SCOPED_TRACE(folder.string());
    ++comparisons;
    const auto then = nlohmann::json::parse(artifacts::read_file(folder / "verdict.json"));
    const two_arms arms = read_arms(folder);
    gate::judge_rules rules;
    for (const auto& stage : then.at("stages")) rules.stages.push_back(stage.at("stage"));
    const gate::judgement now = gate::judge_run_sets(arms.baseline, arms.candidate, rules, {}, today);
    EXPECT_EQ(gate::to_text(now.overall), then.at("verdict").get<std::string>());
    EXPECT_EQ(static_cast<int>(now.code), then.at("exit_code").get<int>());
    EXPECT_EQ(now.discarded_runs, then.at("discarded_runs_count").get<std::size_t>());
    ASSERT_EQ(now.stages.size(), then.at("stages").size());
    for (std::size_t i = 0; i < now.stages.size(); ++i) {
      const auto& stage = then.at("stages").at(i);
      EXPECT_EQ(gate::to_text(now.stages[i].which), stage.at("verdict").get<std::string>());
      EXPECT_EQ(gate::to_text(now.stages[i].in_phase), stage.at("phase").get<std::string>());
      ASSERT_TRUE(now.stages[i].numbers);
      EXPECT_DOUBLE_EQ(now.stages[i].numbers->slowdown_ratio, stage.at("numbers").at("slowdown_ratio"));
      EXPECT_DOUBLE_EQ(now.stages[i].numbers->candidate_median_ns,
                       stage.at("numbers").at("candidate_median_ns"));
    }
  }
  if (PROFGATE_TEST_STRIDE == 1) {
    EXPECT_EQ(comparisons, 44U);
  } else {
    EXPECT_GE(comparisons, 5U);
  }
}

}  // namespace
}  // namespace profgate::ab
