#include "gate/judge.h"

#include <gmock/gmock.h>

#include <string_view>
#include <utility>

#include "gate/comparability.h"
#include "gate/process_runs.h"
#include "made_runs.h"

namespace profgate::gate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Both arms of one comparison, 16 runs of each that count: 6 for the screen and 10 to confirm.
judgement interleaved(double baseline_ns, double candidate_ns, const judge_rules& rules = {}) {
  return judge_run_sets(made_runs(baseline_ns, 17, 0), made_runs(candidate_ns, 17, 1), rules, {}, today);
}

const stage_judgement& stage_of(const judgement& judged, std::string_view name) {
  for (const stage_judgement& stage : judged.stages) {
    if (stage.stage == name) return stage;
  }
  throw std::runtime_error("no stage " + std::string(name));
}

TEST(judging, interleaved_arms_are_recognised_and_judged_strictly) {
  const judgement slower = interleaved(9e6, 9.45e6);
  EXPECT_TRUE(slower.is_interleaved);
  EXPECT_EQ(slower.overall, verdict::regressed);
  EXPECT_EQ(slower.code, core::exit_code::judged_bad);
  EXPECT_THAT(slower.reason, HasSubstr("decode_all"));
  EXPECT_EQ(stage_of(slower, "prefill").which, verdict::unchanged);
  EXPECT_NEAR(stage_of(slower, "decode_all").numbers->slowdown_ratio, 0.05, 0.005);

  EXPECT_EQ(interleaved(9e6, 9e6).code, core::exit_code::good);
  const judgement faster = interleaved(9e6, 8.5e6);
  EXPECT_EQ(stage_of(faster, "decode_all").which, verdict::improved);
  EXPECT_EQ(faster.code, core::exit_code::good);
}

TEST(judging, an_improvement_says_how_it_becomes_the_baseline_where_it_can) {
  EXPECT_THAT(judge_stored(made_runs(9e6), made_later(8e6), {}, {}, today).notices,
              ::testing::Contains(::testing::EndsWith("profgate baseline accept makes this the new one")));
  EXPECT_THAT(interleaved(9e6, 8.5e6).notices,
              ::testing::Contains(HasSubstr("profgate baseline record qwen3-0.6b.decode-b1 measures")))
      << "its six processes are too few to accept";
  run_set typed = made_runs(8.5e6, 17, 1);
  typed.identity.typed_settings_sha256 = std::string(64, 'd');
  const judgement of_commands = judge_run_sets(made_runs(9e6, 17, 0), typed, {}, {}, today);
  ASSERT_EQ(of_commands.overall, verdict::improved);
  EXPECT_THAT(of_commands.notices, ::testing::Not(::testing::Contains(HasSubstr("baseline"))));
}

TEST(judging, of_two_regressions_the_one_that_lost_more_of_its_own_time_decides) {
  // decode_all comes first and loses more nanoseconds: 900 µs and 5 % of 18 ms, against 800 µs and 10 %.
  run_set candidate = made_runs(18.9e6, 17, 1);
  for (process_record& process : candidate.processes)
    process.samples_ns["prefill"] = made_process(process.slot, 1, 8.8e6).samples_ns["prefill"];
  const judgement judged = judge_run_sets(made_runs(18e6, 17, 0), candidate, {}, {}, today);
  ASSERT_EQ(stage_of(judged, "decode_all").which, verdict::regressed);
  ASSERT_EQ(stage_of(judged, "prefill").which, verdict::regressed);
  EXPECT_EQ(judged.stages.front().stage, "decode_all");
  EXPECT_EQ(deciding_stage(judged), &stage_of(judged, "prefill"));
  EXPECT_THAT(judged.reason, ::testing::StartsWith("prefill: "));

  const waiver both{"qwen3-0.6b.decode-b1", "", "ada", "known", "2026-12-01", 0.2, "w.yaml:1"};
  std::vector<waiver> waivers{both, both};
  waivers[0].stage = "decode_all";
  waivers[1].stage = "prefill";
  const judgement waived = judge_run_sets(made_runs(18e6, 17, 0), candidate, {}, waivers, today);
  EXPECT_EQ(waived.code, core::exit_code::good);
  EXPECT_EQ(deciding_stage(waived), &stage_of(waived, "prefill")) << "also of those that are waived";
}

TEST(judging, of_two_losses_of_about_the_same_share_the_longer_stage_decides) {
  judgement judged;
  judged.stages.resize(2);
  for (stage_judgement& stage : judged.stages) stage.which = verdict::regressed;
  judged.stages[0].stage = "prefill";
  judged.stages[0].numbers.emplace().slowdown_ratio = 1.998;
  judged.stages[0].numbers->baseline_median_ns = 165e3;
  judged.stages[1].stage = "decode_all";
  judged.stages[1].numbers.emplace().slowdown_ratio = 1.997;
  judged.stages[1].numbers->baseline_median_ns = 331e3;
  conclude(judged, false);
  EXPECT_EQ(deciding_stage(judged)->stage, "decode_all");
  judged.stages[1].rate_unit = "tokens/s";
  EXPECT_EQ(deciding_stage(judged)->stage, "prefill") << "nanoseconds of a rate are nobody's time";
}

TEST(judging, a_change_that_is_not_allowed_does_not_hide_a_larger_loss) {
  judgement judged;
  judged.stages.resize(3);
  judged.stages[0].stage = "as_fast";
  judged.stages[0].which = verdict::improved;
  judged.stages[0].numbers.emplace().slowdown_ratio = -0.3;
  judged.stages[0].exact.changes.push_back({exact_kind::new_kernel, "f", {}, {}, true, {}});
  judged.stages[1].stage = "slower";
  judged.stages[1].which = verdict::regressed;
  judged.stages[1].numbers.emplace().slowdown_ratio = 0.04;
  judged.stages[2].stage = "much_faster";
  judged.stages[2].which = verdict::improved;
  judged.stages[2].numbers.emplace().slowdown_ratio = -0.5;
  conclude(judged, false);
  EXPECT_EQ(deciding_stage(judged)->stage, "slower");

  judged.stages[0].exact.changes.clear();
  judged.stages[1].which = verdict::unchanged;
  conclude(judged, false);
  EXPECT_EQ(deciding_stage(judged)->stage, "much_faster") << "of improvements the largest";
}

TEST(judging, other_routing_is_named_though_nothing_was_traced_and_nothing_is_slower) {
  run_set before = made_runs(9e6, 17, 0);
  run_set now = made_runs(9e6, 17, 1);
  before.experts["prefill"] = {2, 8, 64, {{0, 29, 16, 0}}};
  now.experts["prefill"] = {2, 8, 64, {{0, 102, 16, 4}}};
  const judgement judged = judge_run_sets(before, now, {}, {}, today);
  EXPECT_EQ(judged.code, core::exit_code::good);
  const std::vector<exact_change>& changes = stage_of(judged, "prefill").exact.changes;
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_THAT(to_text(changes[0]),
              HasSubstr("routing: rows of the fullest expert over the mean 1.81 → 6.38"));
  EXPECT_TRUE(stage_of(judged, "decode_all").exact.changes.empty());
}

TEST(judging, how_full_experts_are_is_told_wherever_it_is_known) {
  run_set before = made_runs(9e6, 17, 0);
  run_set now = made_runs(9e6, 17, 1);
  now.experts["prefill"] = {2, 8, 512, {{0, 129, 128, 0}, {1, 2048, 128, 4}}};
  const auto text_of = [&](const char* stage) {
    return experts_text(stage_of(judge_run_sets(before, now, {}, {}, today), stage));
  };
  EXPECT_EQ(text_of("prefill"), "the fullest expert gets 16.0 times the mean, 2048 rows");
  before.experts = now.experts;
  EXPECT_EQ(text_of("prefill"), "the fullest expert gets 16.0 times the mean, 2048 rows; as before");
  before.experts["prefill"].layers[1].largest_rows = 160;
  EXPECT_EQ(text_of("prefill"),
            "the fullest expert gets 16.0 times the mean, 2048 rows; before: 1.2 times, 160 rows");
  EXPECT_EQ(text_of("decode_all"), "") << "nobody told";
  now.experts.clear();
  EXPECT_EQ(text_of("prefill"), "");
}

std::map<std::string, analysis::stage_operations> traced(const std::string& kernel, std::int64_t kernel_ns) {
  analysis::stage_operations stage;
  stage.times = {{1, kernel_ns + 200, {{200, 0, 0, 0}}}};
  stage.operations = {
      {kernel, "mlp.gate_up", "gemv", 16, kernel_ns, kernel_ns * analysis::units_per_ns, 100}};
  return {{"decode_all", stage}};
}

/// Traces of one kernel that takes 900 µs longer itself.
void add_slower_traces(run_set& before, run_set& now) {
  before.traces = {traced("gemv", 8'000'000)};
  now.traces = {traced("gemv", 8'900'000)};
}

/// As if one kernel had been launched so in both stages.
void add_structure(run_set& runs, std::uint32_t blocks, const std::string& code = "a1b2") {
  for (const char* stage : {"prefill", "decode_all"}) {
    stage_structure& structure = runs.structure[stage];
    structure = {std::set<std::string>{"gemv"}, 16, 16, 0};
    structure.synchronisations.emplace();
    structure.operations = {{"gemv", "mlp.gate_up", {{{{blocks, 1, 1}, {128, 1, 1}, 64, 0}, 16}}, 0, code}};
  }
}

/// Baseline and candidate, which does the same work.
std::pair<run_set, run_set> slower_with_another_driver() {
  run_set before = made_runs(9e6, 17, 0);
  run_set now = made_runs(9.9e6, 17, 1);
  now.identity.versions["driver"] = "590.1";
  add_structure(before, 8);
  add_structure(now, 8);
  add_slower_traces(before, now);
  return {before, now};
}

TEST(judging, circumstances_are_told_from_code) {
  const auto judged = [](double clock_mhz, std::uint32_t blocks, const std::string& driver) {
    run_set before = made_runs(9e6, 17, 0);
    run_set now = made_runs(9.9e6, 17, 1);
    for (process_record& process : now.processes) process.conditions.sm_clock_mhz = clock_mhz;
    now.identity.versions["driver"] = driver;
    add_structure(before, 8);
    add_structure(now, blocks);
    add_slower_traces(before, now);
    return judge_run_sets(before, now, {}, {}, today);
  };
  const judgement lower_clock = judged(1700, 8, "580.159.04");
  EXPECT_TRUE(lower_clock.is_not_the_code);
  EXPECT_THAT(lower_clock.circumstances,
              ::testing::ElementsAre(HasSubstr("1980 MHz in the baseline and is 1700")));
  const judgement other_driver = judged(1980, 8, "590.1");
  EXPECT_TRUE(other_driver.is_not_the_code);
  EXPECT_THAT(other_driver.circumstances, ::testing::ElementsAre(HasSubstr("driver was 580.159.04")));
  EXPECT_FALSE(judged(1700, 4, "580.159.04").is_not_the_code) << "its grid changed, too";
  EXPECT_FALSE(judged(1980, 8, "580.159.04").is_not_the_code) << "nobody knows why";
}

TEST(judging, it_is_the_code_until_the_traces_say_that_it_cannot_be) {
  auto arms = slower_with_another_driver();  // clang 14 captures no structured binding
  run_set& before = arms.first;
  run_set& now = arms.second;
  const auto is_not_the_code = [&](const run_set& candidate, const judge_rules& rules = {}) {
    return judge_run_sets(before, candidate, rules, {}, today).is_not_the_code;
  };
  ASSERT_TRUE(is_not_the_code(now));
  run_set untraced = now;
  untraced.traces.clear();
  EXPECT_FALSE(is_not_the_code(untraced)) << "nobody knows what became slower";
  run_set without_code = now;
  add_structure(without_code, 8, "");
  EXPECT_FALSE(is_not_the_code(without_code)) << "its machine code may have changed";
  run_set another_prefill = now;
  another_prefill.structure["prefill"].operations[0].code = "c3d4";
  EXPECT_FALSE(is_not_the_code(another_prefill)) << "the code of another stage has";

  run_set not_allowed = made_runs(9e6, 17, 1);
  not_allowed.identity.versions = now.identity.versions;
  add_structure(not_allowed, 8);
  not_allowed.structure["decode_all"].kernels->insert("planted");
  judge_rules rules;
  rules.exact.kernels_fail = true;
  const judgement forbidden = judge_run_sets(before, not_allowed, rules, {}, today);
  ASSERT_EQ(forbidden.overall, verdict::regressed);
  EXPECT_FALSE(forbidden.is_not_the_code);
  EXPECT_TRUE(forbidden.circumstances.empty()) << "nothing is slower that they could explain";

  before.traces = {traced("gemv", 8'000'000)};
  now.traces = {traced("gemv", 8'000'000)};
  const auto wait_for_host = [](run_set& runs, std::int64_t idle_ns) {
    analysis::stage_times& times = *runs.traces[0].at("decode_all").times;
    times.idle.by_cause_ns[static_cast<std::size_t>(analysis::idle_cause::host)] = idle_ns;
    times.time_ns += idle_ns;
  };
  wait_for_host(before, 1'000'000);
  wait_for_host(now, 1'900'000);
  EXPECT_FALSE(is_not_the_code(now)) << "no trace knows what the host does";
}

/// Launch attributes and the edges of graphs are recorded by nobody.
TEST(judging, it_may_be_the_code_where_a_kernel_is_slower_by_what_is_around_it) {
  auto arms = slower_with_another_driver();  // clang 14 captures no structured binding
  run_set& before = arms.first;
  run_set& now = arms.second;
  const auto judged = [&] { return judge_run_sets(before, now, {}, {}, today); };
  ASSERT_TRUE(judged().is_not_the_code);

  const auto count_alone = [](run_set& runs, double duration_ns) {
    runs.counters.clear();
    runs.counters.push_back({"decode_all", "gemv", "mlp.gate_up", 3, duration_ns});
  };
  count_alone(before, 500'000);
  count_alone(now, 556'000);
  EXPECT_TRUE(judged().is_not_the_code) << "slower alone, too";
  count_alone(now, 501'000);
  EXPECT_FALSE(judged().is_not_the_code) << "what runs beside or before it has changed";
  EXPECT_THAT(judged().circumstances, ::testing::ElementsAre(HasSubstr("driver was 580.159.04")));
  before.counters.clear();
  now.counters.clear();

  analysis::operation_sum& kernel = now.traces[0].at("decode_all").operations[0];
  kernel.total_ns = 8'000'000;
  EXPECT_FALSE(judged().is_not_the_code) << "it lasts as long, and no longer overlaps with another";

  now.traces = {traced("gemv", 8'000'000)};
  analysis::stage_operations& waiting = now.traces[0].at("decode_all");
  waiting.times->time_ns += 900'000;
  waiting.times->idle.by_cause_ns[static_cast<std::size_t>(analysis::idle_cause::launch)] += 900'000;
  waiting.operations[0].waiting_ns = 900'000;
  EXPECT_FALSE(judged().is_not_the_code) << "it only waits longer";

  add_slower_traces(before, now);
  ASSERT_TRUE(judged().is_not_the_code);
  now.structure["decode_all"].synchronisations.reset();
  EXPECT_FALSE(judged().is_not_the_code) << "an earlier profgate did not count them";
}

TEST(judging, a_rule_on_what_is_launched_is_not_passed_unseen) {
  run_set before = made_runs(9e6, 17, 0);
  run_set now = made_runs(9e6, 17, 1);
  judge_rules rules;
  rules.exact.kernels_fail = true;
  const auto judged = [&] { return judge_run_sets(before, now, rules, {}, today); };
  now.untraced_because = "the candidate could not be traced: killed by SIGSEGV";
  add_structure(before, 8);
  EXPECT_EQ(judged().overall, verdict::inconclusive);
  EXPECT_EQ(judged().code, core::exit_code::not_possible);
  EXPECT_THAT(judged().reason, HasSubstr("could not be compared: the candidate could not be traced: killed"));
  add_structure(now, 8);
  EXPECT_EQ(judged().overall, verdict::unchanged);
  now.structure.clear();
  before.identity.device_name = now.identity.device_name = "Arm Neoverse-V1";
  EXPECT_EQ(judged().overall, verdict::unchanged) << "a CPU launches nothing";
}

TEST(judging, a_power_cap_of_one_arm_alone_is_a_circumstance) {
  run_set before = made_runs(9e6, 17, 0);
  run_set now = made_runs(9.9e6, 17, 1);
  for (process_record& process : now.processes) process.conditions.throttle_reasons = {"software_power_cap"};
  EXPECT_THAT(
      compare_arms(before, now).circumstances,
      ::testing::ElementsAre("software_power_cap in 100 % of the candidate's processes and 0 % of the "
                             "baseline's"));
  for (process_record& process : before.processes)
    process.conditions.throttle_reasons = {"software_power_cap"};
  EXPECT_THAT(compare_arms(before, now).circumstances, ::testing::IsEmpty());
}

/// A stage of one kernel and 200 ns of idle time.

TEST(judging, stored_numbers_name_the_kernel_that_became_slower) {
  run_set before = made_runs(9e6);
  run_set now = made_later(10e6);
  before.traces = {traced("gemv<4>", 8'000'000), traced("gemv<4>", 8'000'200)};
  now.traces = {traced("gemv<4>", 9'000'100)};
  const judgement judged = judge_stored(before, now, {}, {}, today);
  const stage_judgement& decode = stage_of(judged, "decode_all");
  ASSERT_TRUE(decode.attributed) << decode.attribution_reason;
  const std::vector<cause> causes = leading_causes(*decode.attributed, 3);
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].name, "gemv<4>");
  EXPECT_NEAR(causes[0].delta_ns, 1e6, 1e4);
  EXPECT_NEAR(*decode.attributed->bare_difference_ns, 1e6, 1e5);
  EXPECT_THAT(stage_of(judged, "prefill").attribution_reason, HasSubstr("did not regress"));
}

TEST(judging, says_why_there_are_no_causes) {
  run_set before = made_runs(9e6);
  run_set now = made_later(10e6);
  const auto reason = [&] {
    return stage_of(judge_stored(before, now, {}, {}, today), "decode_all").attribution_reason;
  };
  EXPECT_EQ(reason(), "the baseline has no trace of the stage");
  before.traces = {traced("gemv<4>", 8'000'000)};
  EXPECT_EQ(reason(), "the candidate has no trace of the stage");
  now.traces = {traced("gemv<4>", 9'000'000)};
  before.traces[0].at("decode_all").times.reset();
  EXPECT_THAT(reason(), HasSubstr("holds no idle times"));
}

TEST(judging, stored_numbers_get_the_wide_margin) {
  const judgement five = judge_run_sets(made_runs(9e6), made_later(9.45e6), {}, {}, today);
  EXPECT_FALSE(five.is_interleaved);
  EXPECT_EQ(five.code, core::exit_code::good) << "5 % is within the 8 % of another session";
  const judgement ten = judge_run_sets(made_runs(9e6), made_later(10e6), {}, {}, today);
  EXPECT_EQ(ten.overall, verdict::regressed);
  EXPECT_EQ(ten.code, core::exit_code::judged_bad);
}

TEST(judging, a_baseline_of_a_busy_machine_is_named_beside_what_it_says) {
  run_set busy = made_runs(12e6);
  for (std::size_t i = 0; i < busy.processes.size(); ++i) {
    for (std::int64_t& sample_ns : busy.processes[i].samples_ns.at("decode_all"))
      sample_ns += static_cast<std::int64_t>(i) * 400'000;
  }
  const auto says_busy = ::testing::Contains(HasSubstr("as on a busy machine"));
  const judgement faster = judge_stored(busy, made_later(9e6), {}, {}, today);
  EXPECT_EQ(faster.overall, verdict::improved);
  EXPECT_THAT(faster.notices,
              ::testing::Contains(AllOf(HasSubstr("decode_all: the middle half of the baseline's processes"),
                                        HasSubstr("an A/B decides"))));
  EXPECT_THAT(judge_stored(made_runs(12e6), made_later(9e6), {}, {}, today).notices,
              ::testing::Not(says_busy));
  EXPECT_THAT(judge_stored(busy, made_later(14e6), {}, {}, today).notices, ::testing::Not(says_busy))
      << "nothing is said of a difference that is none";
}

TEST(judging, an_absent_stage_is_missing_and_one_the_baseline_lacks_is_new) {
  run_set candidate = made_later(9e6);
  for (process_record& process : candidate.processes) {
    process.samples_ns["vision"] = process.samples_ns["prefill"];
    process.samples_ns.erase("prefill");
  }
  const judgement judged = judge_stored(made_runs(9e6), candidate, {}, {}, today);
  EXPECT_EQ(stage_of(judged, "prefill").which, verdict::missing);
  EXPECT_EQ(stage_of(judged, "vision").which, verdict::new_stage);
  EXPECT_EQ(judged.code, core::exit_code::judged_bad);
  EXPECT_THAT(judged.reason, HasSubstr("prefill"));

  judge_rules decode_alone;
  decode_alone.stages = {"decode_all"};
  EXPECT_EQ(judge_stored(made_runs(9e6), candidate, decode_alone, {}, today).code, core::exit_code::good);
  decode_alone.stages = {"decode_all", "no_such_stage"};
  EXPECT_EQ(judge_stored(made_runs(9e6), candidate, decode_alone, {}, today).code,
            core::exit_code::judged_bad);
}

TEST(judging, too_few_runs_are_missing_and_a_short_baseline_is_not_comparable) {
  EXPECT_EQ(judge_stored(made_runs(9e6), made_later(9e6, 8), {}, {}, today).overall, verdict::missing);
  EXPECT_EQ(judge_stored(made_runs(9e6), made_later(9e6, 9), {}, {}, today).overall, verdict::unchanged);
  EXPECT_EQ(judge_stored(made_runs(9e6, 8), made_later(9e6), {}, {}, today).overall, verdict::not_comparable);
  EXPECT_EQ(judge_run_sets(made_runs(9e6, 6, 0), made_runs(9e6, 6, 1), {}, {}, today).overall,
            verdict::missing)
      << "the first of 6 does not count";
}

TEST(judging, spoiled_processes_do_not_count) {
  run_set candidate = made_later(9e6, 9);
  candidate.processes.push_back(made_process(100, 20e6));
  candidate.processes.back().spoiled_by = "another process";
  const judgement judged = judge_stored(made_runs(9e6), candidate, {}, {}, today);
  EXPECT_EQ(judged.overall, verdict::unchanged);
  EXPECT_EQ(judged.discarded_runs, 1U);
  EXPECT_EQ(stage_of(judged, "decode_all").numbers->candidate_runs, 8U);
}

TEST(judging, the_order_is_that_of_the_slots) {
  run_set runs = made_runs(9e6, 9);
  std::reverse(runs.processes.begin(), runs.processes.end());
  runs.processes.back().samples_ns["decode_all"].assign(23,
                                                        99'000'000);  // slot 0: dropped, wherever it stands
  for (const double median : stage_medians_ns(runs, "decode_all", {})) EXPECT_LT(median, 10e6);
}

TEST(judging, exact_changes_fail_where_the_rules_ask_for_it_and_say_what_changed) {
  run_set baseline = made_runs(9e6);
  run_set candidate = made_later(9e6);
  baseline.structure["decode_all"] = {{{"f", "g"}}, 16, 16, 200};
  candidate.structure["decode_all"] = {{{"f", "h"}}, 32, 16, 200};
  baseline.structure["prefill"] = candidate.structure["prefill"] = {{{"p"}}, 1, 1, 0};
  judgement judged = judge_stored(baseline, candidate, {}, {}, today);
  EXPECT_EQ(judged.code, core::exit_code::good);
  EXPECT_EQ(stage_of(judged, "decode_all").exact.changes.size(), 3U);
  judge_rules strict;
  strict.exact.launches_fail = true;
  judged = judge_stored(baseline, candidate, strict, {}, today);
  EXPECT_EQ(judged.code, core::exit_code::judged_bad);
  EXPECT_THAT(judged.reason, HasSubstr("launches a token: 1 → 2"));

  candidate.structure["decode_all"].tokens = 64;
  judged = judge_stored(baseline, candidate, strict, {}, today);
  EXPECT_EQ(judged.code, core::exit_code::good) << "other numbers of tokens are no structure to compare";
  EXPECT_THAT(stage_of(judged, "decode_all").exact.not_compared, ::testing::Contains(HasSubstr("64")));
}

TEST(judging, what_is_not_comparable_is_skipped_with_every_reason) {
  run_set candidate = made_later(20e6);
  candidate.identity.device_name = "NVIDIA H100";
  candidate.identity.is_profiled = true;
  const judgement judged = judge_run_sets(made_runs(9e6), candidate, {}, {}, today);
  EXPECT_EQ(judged.overall, verdict::not_comparable);
  EXPECT_EQ(judged.code, core::exit_code::not_possible);
  EXPECT_THAT(judged.reason, AllOf(HasSubstr("H100"), HasSubstr("profiler")));
}

TEST(judging, a_program_that_does_not_time_itself_has_one_sample_a_process) {
  run_set baseline = made_runs(9e6);
  run_set candidate = made_later(9e6);
  for (run_set* runs : {&baseline, &candidate}) {
    for (process_record& process : runs->processes) {
      process.samples_ns = {{"process", {process.samples_ns.at("decode_all")[7]}}};
    }
  }
  judge_rules rules;
  EXPECT_EQ(judge_stored(baseline, candidate, rules, {}, today).code, core::exit_code::not_possible);
  rules.reduction = reduction_for(candidate);
  EXPECT_EQ(judge_stored(baseline, candidate, rules, {}, today).overall, verdict::unchanged);
}

TEST(judging, what_disturbs_a_warm_up_does_not_matter) {
  run_set baseline = made_runs(9e6, 17, 0);
  run_set candidate = made_runs(9e6, 17, 1);
  candidate.processes.front().conditions.foreign_processes = {"4711 python"};
  candidate.processes.front().conditions.throttle_reasons = {"hardware_thermal_slowdown"};
  candidate.processes.front().conditions.sm_clock_mhz = 300;
  for (process_record* process : {&candidate.processes[5], &baseline.processes[5]})
    process->spoiled_by = warmed_up_again;
  const judgement judged = judge_run_sets(baseline, candidate, {}, {}, today);
  EXPECT_EQ(judged.overall, verdict::unchanged) << judged.reason;
  EXPECT_EQ(judged.discarded_runs, 0U);
  EXPECT_THAT(judged.warnings, ::testing::IsEmpty());
  EXPECT_THAT(disturbances(candidate), ::testing::IsEmpty());
}

TEST(judging, the_stages_are_those_that_were_to_be_measured_in_their_order) {
  run_set candidate = made_runs(9e6, 17, 1);
  candidate.gated_stages = {"prefill", "decode_all"};
  judgement judged = judge_run_sets(made_runs(9e6, 17, 0), candidate, {}, {}, today);
  ASSERT_EQ(judged.stages.size(), 2U);
  EXPECT_EQ(judged.stages[0].stage, "prefill");
  candidate.gated_stages = {"prefill", "decode_all", "vision"};
  judged = judge_run_sets(made_runs(9e6, 17, 0), candidate, {}, {}, today);
  EXPECT_EQ(stage_of(judged, "vision").which, verdict::missing);
  EXPECT_EQ(judged.code, core::exit_code::judged_bad);
}

TEST(judging, arms_of_other_settings_are_judged_with_a_warning) {
  run_set baseline = made_runs(9e6, 17, 0);
  baseline.identity.config_sha256 = std::string(64, 'd');
  const run_set candidate = made_runs(9e6, 17, 1);
  const judgement judged = judge_run_sets(baseline, candidate, {}, {}, today);
  EXPECT_EQ(judged.overall, verdict::unchanged) << judged.reason;
  EXPECT_THAT(judged.warnings, ::testing::ElementsAre(HasSubstr("other settings")));
  EXPECT_EQ(judge_stored(baseline, candidate, {}, {}, today).overall, verdict::not_comparable);
}

/// Makes of each process one sample, as of a program that does not time itself.
judge_rules timed_from_outside(run_set& baseline, run_set& candidate) {
  for (run_set* runs : {&baseline, &candidate}) {
    for (process_record& process : runs->processes)
      process.samples_ns = {{"process", {process.samples_ns.at("decode_all")[7]}}};
  }
  judge_rules rules;
  rules.reduction = reduction_for(candidate);
  return rules;
}

TEST(judging, says_why_arms_could_not_be_traced) {
  run_set candidate = made_runs(9.45e6, 17, 1);
  run_set baseline = made_runs(9e6, 17, 0);
  baseline.untraced_because = "the baseline could not be traced: no NVTX call";
  EXPECT_EQ(stage_of(judge_run_sets(baseline, candidate, {}, {}, today), "decode_all").attribution_reason,
            baseline.untraced_because);
  const judge_rules rules = timed_from_outside(baseline, candidate);
  EXPECT_THAT(stage_of(judge_run_sets(baseline, candidate, rules, {}, today), "process").attribution_reason,
              HasSubstr("timed as a whole"));
}

}  // namespace
}  // namespace profgate::gate
