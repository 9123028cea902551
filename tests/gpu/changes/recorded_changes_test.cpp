#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "baselines/run_set_file.h"
#include "gate/judge.h"
#include "gate/process_runs.h"
#include "judge_change.h"
#include "render/verdict_json.h"

/// Comparisons of changes to the engine that ran on a GPU, judged again: tests/data/gate-changes.
namespace profgate::changes {
namespace {

namespace fs = std::filesystem;

const fs::path recorded_dir = fs::path(PROFGATE_TEST_DATA) / "gate-changes" / "h200-cuda13.0";

std::string text_in(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

struct recorded_change {
  expectation wanted;
  gate::run_set baseline;
  gate::run_set candidate;

  explicit recorded_change(const std::string& name) {
    const fs::path yaml = fs::path(PROFGATE_CHANGES) / (name + ".yaml");
    wanted = parse_expectation(text_in(yaml), yaml.string());
    baseline = baselines::read_run_set(recorded_dir / name / "baseline.runs.json").runs;
    candidate = baselines::read_run_set(recorded_dir / name / "candidate.runs.json").runs;
  }

  gate::judgement judgement() const {
    gate::judge_rules rules;
    rules.reduction = gate::reduction_for(candidate);
    return gate::judge_run_sets(baseline, candidate, rules, {}, "2026-11-17");
  }
  judged_change judged() const { return judge(wanted, render::verdict_json(judgement()), "verdict.json"); }
  void change_both(const std::function<void(gate::run_set&)>& edit) {
    edit(baseline);
    edit(candidate);
  }
};

std::vector<std::string> recorded_names() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(recorded_dir))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

class recorded_changes : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(of, recorded_changes, ::testing::ValuesIn(recorded_names()),
                         [](const auto& each) { return each.param; });

TEST_P(recorded_changes, have_their_true_cause) {
  const judged_change said = recorded_change(GetParam()).judged();
  EXPECT_THAT(said.mistakes, ::testing::IsEmpty()) << said.first_cause;
}

/// Sizes add up to what was measured without a tracer, what the traces say to what they show, and neither
/// contradicts the other or the times that stand beside them.
TEST_P(recorded_changes, have_causes_whose_figures_agree) {
  const recorded_change change(GetParam());
  const gate::judgement whole = change.judgement();
  for (const gate::stage_judgement& stage : whole.stages) {
    if (!stage.attributed) continue;
    const gate::attribution& told = *stage.attributed;
    double scaled_ns = told.unexplained_ns;
    double traced_ns = told.idle_of_tracer_ns;
    for (const gate::cause& one : told.causes) {
      scaled_ns += one.delta_ns;
      traced_ns += one.traced_delta_ns;
      // What was done and what was idled are scaled each by its own factor, and a kernel has some of both.
      EXPECT_GE(one.delta_ns * one.traced_delta_ns, 0) << gate::to_text(one);
      if (one.kind == gate::cause_kind::idle) continue;
      const double longer_ns =
          one.candidate_launches * one.candidate_each_ns - one.baseline_launches * one.baseline_each_ns;
      EXPECT_GE(longer_ns * one.delta_ns, 0) << gate::to_text(one);
    }
    EXPECT_NEAR(scaled_ns, told.bare_difference_ns.value_or(0), 1);
    EXPECT_NEAR(traced_ns, told.difference_ns, 1);
    const bool has_one_cause = change.wanted.explained_at_least.value_or(0) >= 0.75;
    if (!has_one_cause || stage.stage != change.wanted.stage) continue;
    double others_ns = 0;
    for (const gate::cause& one : gate::leading_causes(told, 3)) others_ns += one.delta_ns;
    others_ns -= gate::leading_causes(told, 1).at(0).delta_ns;
    EXPECT_LE(others_ns, 0.1 * told.explained_difference_ns()) << "what follows from it is no second cause";
  }
}

/// Each of them is a change of code, whatever else differs, and whatever of it no trace shows.
TEST_P(recorded_changes, are_not_excused_by_another_driver) {
  recorded_change change(GetParam());
  change.baseline.identity.versions["driver"] = "580.1";
  change.candidate.identity.versions["driver"] = "590.1";
  EXPECT_FALSE(change.judgement().is_not_the_code);
  change.change_both([](gate::run_set& runs) { runs.counters.clear(); });
  EXPECT_FALSE(change.judgement().is_not_the_code) << "without counters";
}

/// The rate that a program tells in place of its range's time.
TEST(recorded_rate, has_the_cause_of_the_stage_that_it_is_told_of) {
  recorded_change change("attention_splits");
  const auto tell_rate = [&](gate::run_set& runs) {
    runs.units_of_figures = {{change.wanted.stage, "tokens/s"}};
    for (gate::process_record& process : runs.processes)
      for (std::int64_t& sample_ns : process.samples_ns[change.wanted.stage])
        sample_ns = sample_ns * 1000 / 16;
  };
  const gate::judgement as_times = change.judgement();
  change.change_both(tell_rate);
  const judged_change said = change.judged();
  EXPECT_THAT(said.mistakes, ::testing::IsEmpty()) << said.first_cause;
  const auto difference_ns = [&](const gate::judgement& whole) {
    for (const gate::stage_judgement& stage : whole.stages)
      if (stage.stage == change.wanted.stage) return stage.attributed.value().explained_difference_ns();
    return 0.0;
  };
  const double bare_ns = difference_ns(as_times);
  EXPECT_NEAR(difference_ns(change.judgement()), bare_ns, 0.1 * bare_ns)
      << "a tracer's time is a little longer";
}

/// Whatever is missing, the verdict stands, and no cause or the true one is named.
void expect_nothing_wrong(recorded_change change, const std::string& without) {
  SCOPED_TRACE("without " + without);
  change.wanted.evidence.clear();
  change.wanted.explained_at_least.reset();
  change.wanted.exact.clear();
  const judged_change said = change.judged();
  if (said.first_cause.empty() && change.wanted.regresses) {
    EXPECT_EQ(said.mistakes, std::vector<std::string>{"no cause was named"});
  } else {
    EXPECT_THAT(said.mistakes, ::testing::IsEmpty()) << said.first_cause;
  }
}

TEST_P(recorded_changes, are_not_put_down_to_something_else_where_a_kind_of_evidence_is_missing) {
  const recorded_change whole(GetParam());
  recorded_change without_exact = whole;
  without_exact.change_both([](gate::run_set& runs) { runs.structure = {}; });
  expect_nothing_wrong(without_exact, "exact evidence");
  recorded_change without_counters = whole;
  without_counters.change_both([](gate::run_set& runs) { runs.counters.clear(); });
  expect_nothing_wrong(without_counters, "counters");
  recorded_change without_traces = whole;
  without_traces.change_both([](gate::run_set& runs) { runs.traces.clear(); });
  expect_nothing_wrong(without_traces, "traces");
}

/// The same change, and what was attn.core is called attn.rope.
TEST(recorded_changes, are_found_where_the_kernel_has_moved_too) {
  recorded_change moved("attention_splits");
  const auto rename = [](std::string& path) {
    if (path == "attn.core") path = "attn.rope";
  };
  for (auto& [stage, structure] : moved.candidate.structure)
    for (gate::operation_facts& facts : structure.operations) rename(facts.path);
  for (auto& process : moved.candidate.traces)
    for (auto& [stage, traced] : process)
      for (analysis::operation_sum& sum : traced.operations) rename(sum.operator_path);
  moved.wanted.op = "attn.rope";
  EXPECT_THAT(moved.judged().mistakes, ::testing::IsEmpty()) << moved.judged().first_cause;
  moved.wanted.evidence = {"moved"};
  EXPECT_THAT(moved.judged().mistakes, ::testing::IsEmpty()) << moved.judged().first_cause;
  moved.wanted.exact = "moved";
  EXPECT_THAT(moved.judged().mistakes, ::testing::IsEmpty()) << "is an exact change of its own";
  gate::exact_rules rules;
  rules.launch_configuration_fails = true;
  EXPECT_TRUE(gate::compare_stage_exactly(moved.baseline.structure, moved.candidate.structure,
                                          moved.wanted.stage, rules)
                  .fails());
}

}  // namespace
}  // namespace profgate::changes
