// What is said of programs that know nothing of profgate: no result file, stages of any name.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/findings.h"
#include "analysis/profile.h"
#include "core/stage_names.h"
#include "nanoseconds.h"
#include "timeline_builder.h"

namespace profgate::analysis {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::int64_t us = 1000;

/// Two steps of 1 ms, each with 60 kernels of 4 µs that are launched every 15 µs.
core::timeline eager_steps() {
  timeline_builder builder;
  for (std::int64_t step_ns = 0; step_ns < 4 * ms; step_ns += 2 * ms) {
    builder.range("denoise", step_ns, step_ns + ms);
    for (std::int64_t k = 0; k < 60; ++k) {
      const std::int64_t start_ns = step_ns + k * 15 * us + 5 * us;
      builder.kernel("add", start_ns - us, start_ns, start_ns + 4 * us);
    }
  }
  return builder.build();
}

run_facts program(core::timeline timeline) {
  run_facts facts;
  facts.device = "cuda";
  facts.nvtx_domain = "LLM";
  facts.bare.stages = {"denoise"};
  facts.bare.bench_absent_reason = "the program writes no result JSON";
  facts.captures = {{"nsys/run.sqlite", std::nullopt, std::move(timeline)}};
  return facts;
}

findings findings_of(const run_facts& facts) {
  return find(facts, analyze_run(facts));
}

std::vector<std::string> texts_of(const std::vector<recommendation>& items) {
  std::vector<std::string> texts;
  for (const recommendation& item : items) texts.push_back(item.text);
  return texts;
}

std::vector<std::string> texts_of(const std::vector<takeaway>& items) {
  std::vector<std::string> texts;
  for (const takeaway& item : items) texts.push_back(item.text + " " + item.evidence);
  return texts;
}

/// Two steps of 3 ms: 20 times norm (3 µs), half a microsecond later scale (2 µs) and at once add (4 µs),
/// then for more than 100 µs nothing.
core::timeline steps_with_neighbours() {
  timeline_builder builder;
  for (std::int64_t step_ns = 0; step_ns < 10 * ms; step_ns += 5 * ms) {
    builder.range("denoise", step_ns, step_ns + 3 * ms);
    for (std::int64_t k = 0; k < 20; ++k) {
      const std::int64_t at_ns = step_ns + k * 120 * us + 5 * us;
      builder.kernel("void a::norm(int)", at_ns - us, at_ns, at_ns + 3 * us);
      builder.kernel("scale", at_ns - us, at_ns + 3 * us + 500, at_ns + 5 * us + 500);
      builder.kernel("add", at_ns - us, at_ns + 5 * us + 500, at_ns + 9 * us + 500);
    }
  }
  return builder.build();
}

/// Of a program that went four times through `batch` and, unprofiled, eight times through `job`, each 1 ms.
run_facts jobs_in_batches(int traced_jobs, std::int64_t traced_job_ns) {
  timeline_builder builder;
  for (int i = 0; i < 4; ++i) builder.range("batch", i * 100 * ms, i * 100 * ms + ms);
  for (int i = 0; i < traced_jobs; ++i)
    builder.range("job", (500 + i * 10) * ms, (500 + i * 10) * ms + traced_job_ns);
  core::timeline timeline = builder.build();
  timeline.tool = "nsys";
  run_facts facts = program(std::move(timeline));
  facts.device = "cpu";
  facts.bare.stages = {"batch", "job"};
  facts.bare.process_wall_ns = {900 * ms};
  facts.bare.stage_samples_ns = {{"batch", std::vector<std::int64_t>(4, ms)},
                                 {"job", std::vector<std::int64_t>(8, ms)}};
  return facts;
}

TEST(lost_ranges, are_told_where_the_work_is_known_to_be_the_same) {
  const auto problems_of = [](const run_facts& facts) { return analyze_run(facts).timeline.problems; };
  EXPECT_THAT(problems_of(jobs_in_batches(6, ms)),
              ElementsAre(StartsWith("stage 'job': the trace has 6 of 8, as often as the unprofiled run went "
                                     "through it: nsys loses the last ranges")));
  EXPECT_THAT(problems_of(jobs_in_batches(8, ms)), ::testing::IsEmpty());
  EXPECT_THAT(problems_of(jobs_in_batches(10, ms)), ::testing::IsEmpty());
  // As many as there is time for: they are fewer and take longer.
  EXPECT_THAT(problems_of(jobs_in_batches(6, ms * 8 / 6)), ::testing::IsEmpty());
  run_facts alone = jobs_in_batches(6, ms);
  alone.bare.stages = {"job"};
  EXPECT_THAT(problems_of(alone), ::testing::IsEmpty()) << "one process, and nothing beside the stage";
  alone.bare.process_wall_ns.assign(2, 900 * ms);
  alone.bare.stage_samples_ns["job"].assign(16, ms);
  EXPECT_THAT(problems_of(alone), ElementsAre(HasSubstr("the trace has 6 of 8")));
  alone.bare.stage_samples_ns["job"].assign(17, ms);
  EXPECT_THAT(problems_of(alone), ::testing::IsEmpty()) << "once 8 times, once 9";
  run_facts window = jobs_in_batches(6, ms);
  window.captures.front().part = "from 1 s, for 1 s";
  EXPECT_THAT(problems_of(window), ::testing::IsEmpty());
  run_facts embedded = jobs_in_batches(6, ms);
  embedded.captures.front().timeline.tool = "embedded";
  EXPECT_THAT(problems_of(embedded), ::testing::IsEmpty());
}

TEST(program, whose_threads_are_in_a_stage_at_once_is_told_shares_of_thread_time) {
  run_facts facts = program(timeline_builder()
                                .range("denoise", 0, 10 * ms)
                                .range("attention", 0, 6 * ms)
                                .range("denoise", ms, 11 * ms, 2)
                                .range("attention", ms, 7 * ms, 2)
                                .no_kernels("the device is a CPU")
                                .build());
  facts.bare.process_wall_ns = {12 * ms};
  facts.bare.stage_samples_ns = {{"denoise", {10 * ms, 10 * ms}}};
  const findings found = findings_of(facts);
  EXPECT_THAT(
      texts_of(found.takeaways),
      Contains("Its largest operator is attention. 60.0 % of the stage's traced thread time in 2 calls"));
  std::vector<std::string> evidence;
  for (const recommendation& item : found.recommendations) evidence.push_back(item.evidence);
  EXPECT_THAT(evidence, Contains("40.0 % of its traced thread time is in no operator range"));
  const nlohmann::json traced = nlohmann::json::parse(profile_json(facts))["stages"][0]["traced"];
  EXPECT_EQ(traced.value("thread_ns", 0), 20 * ms);
  EXPECT_EQ(traced["duration_ns"], 11 * ms);
}

TEST(program, whose_processes_warm_up_is_told_that_each_does) {
  run_facts facts = program({});
  facts.bare.process_wall_ns = {900 * ms};
  facts.bare.stage_samples_ns = {{"denoise", {10 * ms, 10 * ms}}};
  const auto evidence_of = [&](std::vector<std::vector<std::int64_t>> warm_up_ns) {
    facts.bare.warm_up_ns = {{"denoise", std::move(warm_up_ns)}};
    for (const takeaway& item : findings_of(facts).takeaways)
      if (item.text == "It warms up at first, which no figure of it has.") return item.evidence;
    return std::string();
  };
  EXPECT_EQ(evidence_of({{164 * ms}}), "the first took 164 ms");
  EXPECT_EQ(evidence_of({{164 * ms, 36 * ms}}), "the first 2 took 200 ms");
  EXPECT_EQ(evidence_of({{164 * ms}, {160 * ms}}), "the first of each of 2 processes took up to 164 ms");
  EXPECT_EQ(evidence_of({{164 * ms, 36 * ms}, {160 * ms}}),
            "the first ones of each of 2 processes took up to 200 ms");
}

TEST(decoding_without_a_cache, comes_first_where_most_steps_do) {
  run_facts facts = program({});
  facts.bare.stages = {"prefill", "decode_all"};
  facts.bare.process_wall_ns = {10 * ms};
  facts.bare.stage_samples_ns = {{"prefill", {ms}}, {"decode_all", {4 * ms}}};
  facts.bare.without_cache = {31, 31, 1, 992, 17, 47};
  const findings found = findings_of(facts);
  ASSERT_FALSE(found.recommendations.empty());
  EXPECT_THAT(found.recommendations.front().text, StartsWith("Use the KV cache"));
  EXPECT_EQ(found.recommendations.front().stage, "decode_all");
  EXPECT_FALSE(found.recommendations.front().saves_at_most_ns);
  EXPECT_EQ(found.recommendations.front().evidence,
            "31 of 31 decode steps were fed 17 to 47 tokens a sequence and no cache: 992 tokens computed for "
            "31 new");
  EXPECT_THAT(found.summary, Contains(StartsWith("It decodes without a KV cache")));
  const core::steps_without_cache texts_longer_by_chance{2, 2, 40, 36, 18, 18};
  const core::steps_without_cache beside_others_with_a_cache{2, 31, 1, 36, 18, 18};
  for (const core::steps_without_cache& few : {texts_longer_by_chance, beside_others_with_a_cache}) {
    facts.bare.without_cache = few;
    const findings chance = findings_of(facts);
    EXPECT_THAT(texts_of(chance.recommendations), Not(Contains(StartsWith("Use the KV cache"))));
    EXPECT_THAT(chance.summary, Not(Contains(HasSubstr("KV cache"))));
  }
}

TEST(adapted_program, that_never_decodes_has_forwards_and_no_first_token) {
  run_facts facts = program({});
  facts.bare.stages = {"prefill", "decode_all"};
  facts.bare.has_adapter = true;
  facts.bare.process_wall_ns = {10 * ms};
  facts.bare.stage_samples_ns = {{"prefill", {ms, ms}}};
  const run_figures encoder = analyze_run(facts);
  EXPECT_EQ(encoder.bare.ttft_ns.reason(),
            "no decode step was seen, so nothing tells whether the model makes tokens");
  EXPECT_THAT(find(facts, encoder).summary,
              AllOf(Contains(StartsWith("prefill: 1.00 ms a forward")), Not(Contains(HasSubstr("TTFT")))));
  facts.bare.stage_samples_ns["decode_all"] = {4 * ms};
  EXPECT_THAT(findings_of(facts).summary,
              AllOf(Contains(StartsWith("prefill: 1.00 ms a step")), Contains(HasSubstr("TTFT 1.00 ms"))));
  facts.bare.stage_samples_ns.erase("decode_all");
  facts.bare.has_adapter = false;  // a range of that name may be anything
  EXPECT_THAT(findings_of(facts).summary, Not(Contains(HasSubstr("TTFT"))));
}

TEST(neighbours, are_the_kernels_that_follow_each_other_and_what_one_of_them_would_save) {
  const run_facts facts = program(steps_with_neighbours());
  const run_figures figures = analyze_run(facts);
  const std::vector<kernel_neighbours>& found = figures.stages.at(0).traced->neighbours;
  ASSERT_FALSE(found.empty());
  EXPECT_THAT(found[0].kernel_names, ElementsAre("void a::norm(int)", "scale", "add"));
  EXPECT_EQ(found[0].times, 40);
  EXPECT_EQ(found[0].together_ns, 40 * 9500);
  EXPECT_EQ(found[0].saves_at_most_ns, 40 * 5500) << "all but add, the longest";
  EXPECT_EQ(found.size(), 1U) << "each kernel is in one of them only";
  for (const recommendation& item : find(facts, figures).recommendations) {
    if (!item.text.starts_with("Fuse norm")) continue;
    EXPECT_EQ(item.text, "Fuse norm + scale + add: they follow each other, and each is short.");
    EXPECT_EQ(item.evidence,
              "20 times a step, together 9.50 µs each time, of which the longest takes 4.00 µs");
    EXPECT_NEAR(*item.saves_at_most_ns, 20 * 5500, 1);
    EXPECT_FALSE(item.adds_up) << "the row about idle time holds what lies between them, too";
    return;
  }
  FAIL() << "nobody says that they could be fused";
}

TEST(neighbours, are_known_by_the_operators_that_launch_them) {
  timeline_builder builder;
  builder.range("denoise", 0, 100 * ms);
  for (int k = 0; k < 20; ++k) {
    const std::int64_t at_ns = k * ms + us;
    builder.range(k % 4 == 0 ? "attn" : "mlp", at_ns - us, at_ns + 9 * us);
    builder.kernel("norm", at_ns - us, at_ns, at_ns + 3 * us);
    builder.kernel("gelu", at_ns - us, at_ns + 3 * us, at_ns + (k % 4 == 0 ? 5 : 8) * us);
  }
  const run_facts facts = program(builder.build());
  const run_figures figures = analyze_run(facts);
  const std::vector<kernel_neighbours>& found = figures.stages.at(0).traced->neighbours;
  ASSERT_EQ(found.size(), 1U);
  std::vector<std::string> parts;
  for (const neighbour_part& part : found[0].parts)
    parts.push_back(fmt::format("{} in {}: {} times, {} ns", part.kernel_name, part.op_name, part.times,
                                part.saves_at_most_ns));
  EXPECT_THAT(parts, ElementsAre("gelu in attn: 5 times, 10000 ns", "gelu in mlp: 15 times, 0 ns",
                                 "norm in attn: 5 times, 0 ns", "norm in mlp: 15 times, 45000 ns"));
  EXPECT_EQ(found[0].saves_at_most_ns, 55000) << "all but the longest of each";
}

TEST(neighbours, leave_the_longest_of_them_as_it_is) {
  const run_facts facts = program(steps_with_neighbours());
  for (const recommendation& item : find(facts, analyze_run(facts)).recommendations) {
    if (!item.text.starts_with("Fuse norm")) continue;
    ASSERT_EQ(item.fused.size(), 3U);
    EXPECT_EQ(item.fused[0].kernel_name, "add");
    EXPECT_NEAR(item.fused[0].stays_ns, 20 * 4000, 1) << "a step";
    EXPECT_NEAR(item.fused[1].stays_ns + item.fused[2].stays_ns, 0, 1);
    return;
  }
  FAIL() << "nobody says that they could be fused";
}

TEST(neighbours, need_not_wait_for_all_of_each_others_results) {
  timeline_builder builder;
  builder.range("denoise", 0, 100 * ms);
  for (int k = 0; k < 20; ++k) {
    const std::int64_t at_ns = k * ms + us;
    builder.kernel("gemv_up", at_ns - us, at_ns, at_ns + 4 * us);
    builder.kernel("gemv_down", at_ns - us, at_ns + 4 * us, at_ns + 8 * us);
    builder.kernel("scale", at_ns - us, at_ns + 8 * us, at_ns + 9 * us);
  }
  run_facts facts = program(builder.build());
  const auto names = [&] {
    std::vector<std::vector<std::string>> lists;
    const run_figures figures = analyze_run(facts);
    for (const kernel_neighbours& found : figures.stages.at(0).traced->neighbours)
      lists.push_back(found.kernel_names);
    return lists;
  };
  EXPECT_THAT(names(), ElementsAre(ElementsAre("gemv_up", "gemv_down", "scale")));
  facts.kernel_categories.kernels = {{"gemv", {"*gemv*"}}};
  EXPECT_THAT(names(), ElementsAre(ElementsAre("gemv_down", "scale")));
}

TEST(neighbours, are_counted_once_however_they_overlap) {
  const run_figures figures = analyze_run(program(eager_steps()));  // 60 times add
  const std::vector<kernel_neighbours>& found = figures.stages.at(0).traced->neighbours;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].kernel_names, ElementsAre("add", "add", "add"));
  EXPECT_EQ(found[0].times, 2 * 20);
}

TEST(neighbours, are_neither_long_nor_far_apart_nor_rare) {
  const auto found_in = [](std::int64_t kernel_ns, std::int64_t gap_ns, int times) {
    timeline_builder builder;
    builder.range("denoise", 0, 100 * ms);
    for (int k = 0; k < times; ++k) {
      const std::int64_t at_ns = k * ms + us;
      builder.kernel("a", at_ns - us, at_ns, at_ns + kernel_ns);
      builder.kernel("b", at_ns - us, at_ns + kernel_ns + gap_ns, at_ns + 2 * kernel_ns + gap_ns);
    }
    return analyze_run(program(builder.build())).stages.at(0).traced->neighbours.size();
  };
  EXPECT_EQ(found_in(4 * us, us, 20), 1U);
  EXPECT_EQ(found_in(40 * us, us, 20), 0U);
  EXPECT_EQ(found_in(4 * us, 200 * us, 20), 0U);
  EXPECT_EQ(found_in(4 * us, us, 5), 0U);
}

TEST(program, is_told_by_its_trace_alone_what_a_step_takes_and_what_to_do) {
  const findings found = findings_of(program(eager_steps()));
  EXPECT_THAT(found.summary, ElementsAre(StartsWith(
                                 "denoise: 1.00 ms a step (median of 2; the trace, slowed by embedded), "
                                 "60 launches; the GPU idles during 76.0 % of it, most of that waiting for "
                                 "launches, so the CPU is the limit")));
  EXPECT_THAT(found.recommendations.front().text, HasSubstr("CUDA graphs"));
  EXPECT_THAT(
      texts_of(found.takeaways),
      AllOf(Contains(HasSubstr("It is launch-bound: the host takes 16.7 µs a kernel. no kernel runs")),
            Contains("It runs many tiny kernels. 60 kernels a step of 4.00 µs each; a launch takes "
                     "some 5 to 10 µs of the host")));
}

TEST(program, is_told_by_its_ranges_what_a_step_takes_and_its_share_of_the_run) {
  run_facts facts = program(eager_steps());
  facts.bare.stages = {"denoise", "load"};
  facts.bare.process_wall_ns = {100 * ms};
  facts.bare.stage_samples_ns = {{"denoise", {800 * us, 800 * us, 800 * us}}, {"load", {2400 * us}}};
  const run_figures figures = analyze_run(facts);
  EXPECT_EQ(figures.stages[0].step->source, "NVTX ranges");
  EXPECT_DOUBLE_EQ(figures.stages[0].step->median_ns, 800.0 * us);
  EXPECT_DOUBLE_EQ(*figures.stages[0].bare.share_ratio, 0.5) << "three of 0.8 ms beside one of 2.4 ms";
  EXPECT_FALSE(figures.stages[0].idle->is_traced);
  EXPECT_DOUBLE_EQ(figures.stages[0].idle->idle_ns, (800.0 - 240.0) * us);
}

TEST(program, whose_first_start_is_cold_is_not_told_of_ranges) {
  run_facts facts = program(eager_steps());
  facts.bare.stages = {core::whole_process_stage};
  facts.bare.stage_samples_ns = {};
  facts.bare.process_wall_ns = {1800 * ms, 300 * ms, 300 * ms, 310 * ms};
  EXPECT_THAT(texts_of(findings_of(facts).recommendations),
              AllOf(Contains(HasSubstr("stage1.warmup=1")),
                    ::testing::Not(Contains(HasSubstr("before the first range")))));
}

TEST(program, that_warms_up_inside_its_ranges_is_told_so_and_what_it_saves_is_of_a_warm_step) {
  run_facts facts = program(eager_steps());
  facts.bare.stage_samples_ns = {{"denoise", {100 * ms, 800 * us, 800 * us, 810 * us}}};
  const findings found = findings_of(facts);
  EXPECT_THAT(found.summary,
              Contains("Of denoise, the first of 4 samples took more than 3 times the median, as those do "
                       "that warm up."));
  EXPECT_THAT(texts_of(found.recommendations),
              AllOf(Contains(HasSubstr("Warm up before the first range")),
                    ::testing::Not(Contains(HasSubstr("Quiet the machine")))));
  EXPECT_LT(*found.recommendations.front().saves_at_most_ns, 805.0 * us);
  facts.bare.stage_samples_ns = {{"denoise", {3 * ms, 800 * us, 800 * us, 810 * us}}};
  EXPECT_THAT(texts_of(findings_of(facts).recommendations), Contains(HasSubstr("Warm up before the first")));
  facts.bare.stage_samples_ns = {{"denoise", {7'480 * ms, 1 * ms}}};
  EXPECT_THAT(texts_of(findings_of(facts).recommendations), Contains(HasSubstr("Warm up before the first")));
  facts.bare.stage_samples_ns = {{"denoise", {1 * ms, 7'480 * ms}}};
  EXPECT_THAT(texts_of(findings_of(facts).recommendations), Contains(HasSubstr("Quiet the machine")));
  facts.bare.stage_samples_ns = {{"denoise", {800 * us, 800 * us, 3 * ms, 810 * us}}};
  EXPECT_THAT(texts_of(findings_of(facts).recommendations), Contains(HasSubstr("Quiet the machine")))
      << "no program warms up in between";
  facts.bare.stage_samples_ns = {{"denoise", {800 * us, 800 * us, 30 * ms, 810 * us}}};
  const findings of_outlier = findings_of(facts);
  EXPECT_THAT(texts_of(of_outlier.recommendations),
              ::testing::Not(Contains(HasSubstr("Warm up before the first"))));
  EXPECT_THAT(texts_of(of_outlier.takeaways),
              AllOf(Contains(HasSubstr("1 of 4 samples is more than 10 times the median")),
                    ::testing::Not(Contains(HasSubstr("warms up")))));
  facts.bare.stage_samples_ns = {{"denoise", {950 * us, 800 * us, 700 * us, 810 * us}}};
  EXPECT_THAT(texts_of(findings_of(facts).recommendations), Contains(HasSubstr("Quiet the machine")));
}

/// Steps of 1 ms, the first of which loads a library for 90 ms more before its kernel.
core::timeline steps_after_a_cold_one() {
  timeline_builder builder;
  for (std::int64_t step = 0; step < 5; ++step) {
    const std::int64_t end_ns = (step + 1) * 200 * ms;
    const std::int64_t start_ns = end_ns - (step == 0 ? 91 * ms : ms);
    builder.range("denoise", start_ns, end_ns);
    builder.kernel("add", end_ns - 310 * us, end_ns - 300 * us, end_ns - 100 * us);
  }
  return builder.build();
}

TEST(program, whose_first_step_is_cold_has_parts_that_add_up_to_the_step_that_is_shown) {
  const run_facts facts = program(steps_after_a_cold_one());
  const stage_figures stage = analyze_run(facts).stages.at(0);
  EXPECT_DOUBLE_EQ(stage.step->median_ns, 1.0 * ms);
  const idle_figures& idle = *stage.idle;
  EXPECT_FALSE(idle.is_mean);
  EXPECT_DOUBLE_EQ(idle.busy_ns, 200.0 * us);
  EXPECT_DOUBLE_EQ(idle.stage_ns, stage.step->median_ns);
  EXPECT_DOUBLE_EQ(
      idle.launch_ns + idle.pause_ns + idle.synchronisation_ns + idle.copy_ns + idle.other_ns + idle.after_ns,
      idle.idle_ns);
  EXPECT_DOUBLE_EQ(idle.pause_ns, 0) << "it is the first one's alone";
  const findings found = find(facts, analyze_run(facts));
  EXPECT_THAT(texts_of(found.takeaways),
              Contains("It warms up inside of its ranges. the first of 5 samples took more than 3 times the "
                       "median, the longest 91.0 ms"));
  for (const recommendation& item : found.recommendations)
    EXPECT_LE(item.saves_at_most_ns ? *item.saves_at_most_ns : 0.0, 1.0 * ms) << item.text;
}

TEST(program, whose_occurrences_the_trace_does_not_tell_apart_says_that_its_parts_are_means) {
  timeline_builder builder;  // the second step begins before the first has ended
  builder.range("denoise", 0, 3 * ms).range("denoise", 2 * ms, 4 * ms, 2);
  builder.kernel("add", 10 * us, 20 * us, 500 * us);
  run_facts facts = program(builder.build());
  EXPECT_TRUE(analyze_run(facts).stages.at(0).idle->is_mean);
}

TEST(program, whose_stage_holds_another_idles_while_neither_runs_a_kernel) {
  timeline_builder builder;
  builder.range("warmup", 0, 10 * ms).range("denoise", ms, 9 * ms);
  builder.kernel("add", 100 * us, 110 * us, 900 * us);
  builder.kernel("mul", 1100 * us, 1200 * us, 8900 * us);
  run_facts facts = program(builder.build());
  facts.bare.stages = {"warmup", "denoise"};
  const run_figures figures = analyze_run(facts);
  EXPECT_DOUBLE_EQ(figures.stages.at(0).idle->busy_ns, (790.0 + 7700.0) * us);
  EXPECT_DOUBLE_EQ(figures.stages.at(1).idle->busy_ns, 7700.0 * us);
}

TEST(program, of_whose_launches_nothing_is_known_submits_nothing_for_long) {
  timeline_builder builder;
  builder.range(core::whole_process_stage, 0, 20 * ms);
  builder.kernel("add", 12 * ms, 12 * ms, 13 * ms, 0);
  builder.kernel("add", 13 * ms + 50 * us, 13 * ms + 50 * us, 20 * ms, 0);
  run_facts facts = program(builder.build());
  facts.bare.stages = {core::whole_process_stage};
  const stage_figures stage = analyze_run(facts).stages.at(0);
  ASSERT_TRUE(stage.idle) << stage.idle.reason();
  EXPECT_DOUBLE_EQ(stage.idle->other_ns, 50.0 * us);
  EXPECT_DOUBLE_EQ(stage.idle->pause_ns, 12.0 * ms);
}

TEST(program, whose_adapter_is_silent_is_told_so_before_anything_else) {
  timeline_builder builder;
  builder.range(core::whole_process_stage, 0, 20 * ms);
  run_facts facts = program(builder.build());
  facts.bare.stages = {core::whole_process_stage};
  facts.bare.process_wall_ns = {20 * ms};
  facts.bare.has_adapter = true;
  facts.bare.adapter_silence = "the PyTorch adapter never reported in";
  const findings found = findings_of(facts);
  EXPECT_THAT(found.recommendations.front().text,
              StartsWith("Start the program so that the adapter is seen"));
  EXPECT_EQ(found.recommendations.front().evidence, facts.bare.adapter_silence);
  EXPECT_THAT(found.summary,
              Contains(HasSubstr("let the adapter be seen: the PyTorch adapter never reported")));
  EXPECT_THAT(found.summary, ::testing::Not(Contains(HasSubstr("put NVTX ranges"))));
}

TEST(program, that_idles_nearly_all_the_time_does_not_idle_all_of_it) {
  timeline_builder builder;
  builder.range("denoise", 0, 10 * ms);
  builder.kernel("add", 9 * ms, 9 * ms + us, 9 * ms + 11 * us);
  EXPECT_THAT(findings_of(program(builder.build())).summary,
              Contains(HasSubstr("the GPU idles during 99.9 % of it")));
}

TEST(program, whose_work_outlives_its_range_shall_wait_for_it_before_anything_else) {
  timeline_builder builder;
  builder.range("denoise", 0, ms);
  builder.range("mlp", 50 * us, 900 * us);
  builder.kernel("add", 100 * us, 200 * us, 3 * ms);
  const std::vector<std::string> advice = texts_of(findings_of(program(builder.build())).recommendations);
  ASSERT_THAT(advice, Contains(HasSubstr("Look at mlp")));
  EXPECT_THAT(advice.front(), StartsWith("Wait for the device before"));
}

TEST(program, whose_work_outlives_its_range_is_told_so) {
  const auto program_until = [](std::int64_t end_ns) {
    timeline_builder builder;
    builder.range("denoise", 0, ms);
    builder.kernel("add", 0, 100 * us, end_ns);
    return program(builder.build());
  };
  const auto last_kernel_ends_at = [&](std::int64_t end_ns) {
    return texts_of(findings_of(program_until(end_ns)).takeaways);
  };
  EXPECT_THAT(last_kernel_ends_at(1900 * us),
              Contains("Its work outlives its range: the time is the host's, not the device's. 50.0 % of its "
                       "kernels' time lies after the end of the range that launched them"));
  EXPECT_THAT(last_kernel_ends_at(ms), ::testing::Not(Contains(HasSubstr("outlives"))));
  const run_facts late = program_until(1900 * us);
  EXPECT_THAT(analyze_run(late).stages.at(0).idle.reason(),
              StartsWith("50.0 % of its kernels' time lies after the end of the range"));
  EXPECT_THAT(
      findings_of(late).summary,
      Contains(HasSubstr("the time is the host's: 50.0 % of its kernels' time lies after its range")));
  EXPECT_TRUE(analyze_run(program_until(1100 * us)).stages.at(0).idle) << "a tenth is late";
  EXPECT_TRUE(analyze_run(late).stages.at(0).step->is_host_alone);
  EXPECT_FALSE(analyze_run(program_until(1100 * us)).stages.at(0).step->is_host_alone) << "most is in time";
  run_facts waited_for = program_until(1900 * us);
  EXPECT_THAT(texts_of(findings_of(waited_for).recommendations), Contains(HasSubstr("sync: true")));
  waited_for.bare.process_wall_ns = {9 * ms};
  waited_for.bare.stage_samples_ns = {{"denoise", {1900 * us}}};
  EXPECT_THAT(texts_of(findings_of(waited_for).takeaways), Contains(HasSubstr("outlives")));
  waited_for.bare.stage_sources = {{"denoise", synchronised_ranges_source}};
  EXPECT_THAT(texts_of(findings_of(waited_for).takeaways), ::testing::Not(Contains(HasSubstr("outlives"))));
}

TEST(program, without_stages_is_told_which_of_its_ranges_could_be_some) {
  timeline_builder builder;
  builder.range("process", 0, 10 * ms).range("generate", 0, 10 * ms).range("sample", ms, 2 * ms);
  builder.range("prefill", 2 * ms, 4 * ms).range("decode", 4 * ms, 10 * ms).range("a.b", 4 * ms, 9 * ms);
  builder.kernel("add", ms, ms + us, 2 * ms).kernel("add", 4 * ms, 4 * ms + us, 5 * ms);
  run_facts facts = program(builder.build());
  facts.bare.stages = {core::whole_process_stage};
  EXPECT_THAT(findings_of(facts).summary, Contains(HasSubstr("workload.stages=[decode, prefill, sample]")))
      << "the longest first, without the one around all";
}

TEST(program, without_stages_whose_steps_are_all_it_does_is_told_those_and_not_their_parts) {
  timeline_builder builder;
  builder.range("process", 0, 10 * ms);
  for (std::int64_t step = 0; step < 5; ++step) {
    const std::int64_t begin_ns = step * 2 * ms;
    builder.range("train_step", begin_ns, begin_ns + 2 * ms).range("fwd", begin_ns, begin_ns + ms);
  }
  builder.kernel("add", ms, ms + us, 2 * ms);
  run_facts facts = program(builder.build());
  facts.bare.stages = {core::whole_process_stage};
  EXPECT_THAT(findings_of(facts).summary, Contains(HasSubstr("workload.stages=[train_step].")));
}

TEST(program, without_stages_whose_ranges_are_numbered_is_told_one_expression_for_them) {
  timeline_builder builder;
  builder.range("process", 0, 10 * ms).range("prefill", 0, 2 * ms);
  for (std::int64_t step = 0; step < 5; ++step)
    builder.range(step == 0   ? "step_0"
                  : step == 1 ? "step_1"
                  : step == 2 ? "step_2"
                  : step == 3 ? "step_13"
                              : "load_7",
                  (2 + step) * ms, (3 + step) * ms);
  builder.kernel("add", ms, ms + us, 2 * ms);
  run_facts facts = program(builder.build());
  facts.bare.stages = {core::whole_process_stage};
  EXPECT_THAT(findings_of(facts).summary,
              Contains(HasSubstr(R"(workload.stages=[{name: step, range: 'step_\d+'}, prefill, load_7])")));
}

TEST(program, that_synchronises_inside_a_step_is_told_so) {
  core::timeline timeline = eager_steps();
  timeline.calls.push_back({"cudaStreamSynchronize", 1, 1, 960 * us, 990 * us});
  timeline.calls.push_back({"cudaStreamSynchronize", 1, 1, 2960 * us, 2990 * us});
  EXPECT_THAT(texts_of(findings_of(program(timeline)).recommendations),
              ::testing::Not(Contains(HasSubstr("Synchronise once a step"))))
      << "one at a step's end is how steps are timed";
  for (std::int64_t k = 10; k < 40; ++k)  // between kernels that end at 9 and start at 20 µs
    timeline.calls.push_back({"cudaStreamSynchronize", 1, 1, k * 15 * us + 10 * us, k * 15 * us + 18 * us});
  const findings found = findings_of(program(timeline));
  EXPECT_THAT(texts_of(found.recommendations), Contains(HasSubstr("Synchronise once a step")).Times(1));
  EXPECT_THAT(texts_of(found.recommendations), ::testing::Not(Contains(HasSubstr("Synchronise less"))))
      << "the same saving is told once";
  EXPECT_THAT(texts_of(found.takeaways),
              Contains("The host waits for the device inside of it. 16 synchronisations a step, during which "
                       "the device idles for 150 µs"));
}

TEST(program, that_copies_pageable_memory_each_step_is_told_so) {
  core::timeline timeline = eager_steps();
  for (const std::int64_t start_ns : {930 * us, 2930 * us})
    timeline.copies.push_back({.process_id = 1,
                               .thread_id = 1,
                               .launched_ns = start_ns,
                               .start_ns = start_ns,
                               .end_ns = start_ns + 20 * us,
                               .bytes = 4096});
  const auto copies_less = [&] { return texts_of(findings_of(program(timeline)).recommendations); };
  EXPECT_THAT(copies_less(), ::testing::Not(Contains(HasSubstr("Pin the host memory"))));
  for (core::copy_execution& copy : timeline.copies) copy.is_pageable = true;
  EXPECT_THAT(copies_less(), Contains(HasSubstr("Pin the host memory")));
}

/// Two steps of 1 ms whose device idles for a tenth of them, all in one operator.
core::timeline busy_steps() {
  timeline_builder builder;
  for (std::int64_t step_ns = 0; step_ns < 4 * ms; step_ns += 2 * ms) {
    builder.range("denoise", step_ns, step_ns + ms);
    builder.range("unet", step_ns, step_ns + ms);
    builder.kernel("conv", step_ns + 10 * us, step_ns + 50 * us, step_ns + 950 * us);
  }
  return builder.build();
}

TEST(program, whose_work_nobody_knows_is_told_what_would_tell_what_bounds_it) {
  run_facts facts = program(busy_steps());
  facts.counters.absent_reason = "ncu was not found";
  const findings found = findings_of(facts);
  EXPECT_THAT(found.summary,
              Contains("What bounds denoise is not known: nobody tells its FLOPs and bytes. "
                       "To know it: counters under ncu tell it of each kernel (there are none: "
                       "ncu was not found), or a result JSON of its own can tell them "
                       "(workloads/README.md)."));
  facts.bare.how_to_tell_work = "still missing: model.dtype";
  EXPECT_THAT(findings_of(facts).summary, Contains(HasSubstr("or still missing: model.dtype.")));
  EXPECT_THAT(findings_of(program(eager_steps())).summary,
              ::testing::Not(Contains(HasSubstr("is not known"))))
      << "a device that mostly waits for launches is bound by them";
  const auto look =
      std::find_if(found.recommendations.begin(), found.recommendations.end(),
                   [](const recommendation& item) { return item.text == "Look at unet first."; });
  ASSERT_NE(look, found.recommendations.end());
  EXPECT_EQ(look->saves_at_most_ns.reason(), "its roof is not, and counters under ncu would tell it");
}

TEST(program, without_ranges_is_told_how_long_it_uses_the_gpu_and_how_to_get_stages) {
  run_facts facts = program(timeline_builder()
                                .range("process", 0, 100 * ms)
                                .kernel("add", 1 * ms, 1 * ms, 2 * ms)
                                .kernel("add", 99 * ms, 99 * ms, 100 * ms)
                                .build());
  facts.bare.stages = {"process"};
  facts.bare.process_wall_ns = {3000 * ms};
  EXPECT_THAT(
      findings_of(facts).summary,
      ElementsAre("The process takes 3.00 s from its start to its end (n = 1).",
                  StartsWith("It uses the GPU for 100 ms, from the first thing asked of it to the end of "
                             "the last, with 2 launches; the GPU idles during 98.0 % of it, most of that "
                             "while the host submits nothing"),
                  HasSubstr("put NVTX ranges around them (an example in C++: docs/own-program.md)"),
                  HasSubstr("timed once")));
  const std::string nvtx =
      "put NVTX ranges around them (of the package nvtx: with nvtx.annotate(\"decode\"):)";
  facts.bare.is_python = true;
  EXPECT_THAT(findings_of(facts).summary,
              Contains(HasSubstr("add --adapter pytorch before the -- if it uses PyTorch (it needs no edit), "
                                 "else " +
                                 nvtx)));
  facts.bare.imports_torch = true;
  EXPECT_THAT(findings_of(facts).summary,
              Contains(AllOf(StartsWith("To see its steps apart from its start, add --adapter pytorch before "
                                        "the -- (of a pair: ADAPTER pytorch), which names"),
                             HasSubstr("; or " + nvtx))));
  facts.bare.imports_torch = false;
  facts.bare.has_adapter = true;  // it saw no model
  EXPECT_THAT(findings_of(facts).summary,
              Contains(StartsWith("To see its steps apart from its start, " + nvtx)));
}

TEST(program, whose_work_is_known_is_told_which_peaks_are_still_missing) {
  run_facts facts = program(busy_steps());
  facts.bare.stage_samples_ns["denoise"] = {ms, ms};
  facts.bare.counted.emplace();
  facts.bare.counted->model_dtype = "float32";
  facts.bare.counted->work["denoise"] = {.flops = 1e9, .bytes = 1e6};
  const auto unknown = [&] {
    for (const std::string& line : findings_of(facts).summary)
      if (line.starts_with("What bounds denoise is not known")) return line;
    return std::string();
  };
  EXPECT_THAT(unknown(), HasSubstr("set hardware.peak_tflops.float32 and hardware.memory_bandwidth_gbs."));
  facts.bare.peaks = hardware_peaks{"", {{"bfloat16", 2.0}}, 1e10, ""};
  EXPECT_THAT(unknown(), AllOf(HasSubstr("the configured hardware has no peak for dtype 'float32'"),
                               HasSubstr("set hardware.peak_tflops.float32.")));
  facts.bare.peaks->peak_tflops["float32"] = 2.0;
  EXPECT_EQ(unknown(), "");
  EXPECT_THAT(texts_of(findings_of(facts).takeaways), Contains(HasSubstr("of the configured peak")));
  facts.bare.peaks->source = "a datasheet";
  EXPECT_THAT(texts_of(findings_of(facts).takeaways), Contains(HasSubstr("of the vendor's peak")));
}

}  // namespace
}  // namespace profgate::analysis
