#include "analysis/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_builder.h"
#include "timeline_builder.h"

namespace profgate::analysis {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

findings find_in(const run_facts& facts) {
  return find(facts, analyze_run(facts));
}

std::optional<recommendation> recommendation_with(const findings& found, const std::string& text) {
  for (const recommendation& item : found.recommendations) {
    if (item.text.find(text) != std::string::npos) return item;
  }
  return std::nullopt;
}

TEST(analyze_run, relates_the_trace_to_the_bare_median) {
  const run_figures figures = analyze_run(example_run());
  EXPECT_NEAR(*figures.stages[0].overhead_ratio, 0.10, 1e-12);
  EXPECT_NEAR(*figures.stages[1].overhead_ratio, 0.10, 1e-12);
  EXPECT_TRUE(*figures.traced_logits_agree);
}

TEST(analyze_run, notices_that_the_traced_run_did_other_work) {
  run_facts facts = example_run();
  facts.profiled[0].logits_hash = "xyz";
  EXPECT_FALSE(*analyze_run(facts).traced_logits_agree);
  EXPECT_THAT(find_in(facts).summary, Contains(HasSubstr("computed other logits than the unprofiled run")));
}

TEST(findings, begin_with_the_answer) {
  EXPECT_THAT(find_in(example_run()).summary,
              ElementsAre("decode_all dominates: 80.0 % of the time (10.0 ms a token, 40.0 ms for 4).",
                          "TTFT 10.0 ms, TPOT 10.0 ms, 100.0 tokens/s decoded; p50 of unprofiled "
                          "runs.",
                          "2 repetitions; the widest spread is 0.0 % (prefill): the times are steady.",
                          "The output was not compared with a reference."));
}

TEST(findings, say_of_which_batch_tokens_per_second_are) {
  run_facts facts = example_run();
  facts.bare.bench->tokens["batch"] = 2;
  EXPECT_THAT(find_in(facts).summary,
              Contains(HasSubstr("TPOT 10.0 ms, 200.0 tokens/s decoded of batch 2; p50")));
}

TEST(findings, put_a_failed_step_before_the_answer) {
  run_facts facts = example_run();
  facts.steps.push_back(
      {"timeline", core::step_state::failed, "nsys exited with 1", "read nsys/log.txt", {}, "", "", {}});
  const findings found = find_in(facts);
  EXPECT_EQ(found.summary.front(), "This run is incomplete: step timeline failed: nsys exited with 1.");
  EXPECT_TRUE(recommendation_with(found, "Repair step timeline: read nsys/log.txt."));
}

TEST(findings, bound_each_saving_by_the_roof) {
  const findings found = find_in(example_run());
  // decode: 30 ms of bytes at the ceiling, so 10 of 40 ms; lm_head has 68 % of the stage but no more to give.
  const std::optional<recommendation> bytes = recommendation_with(found, "Move bytes faster");
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->stage, "decode_all");
  EXPECT_NEAR(*bytes->saves_at_most_ns, 10e6, 1);
  EXPECT_NEAR(*bytes->saves_at_most_ratio, 0.2, 1e-9);
  EXPECT_THAT(bytes->text, StartsWith("Move bytes faster, in lm_head first: "));
  EXPECT_EQ(bytes->op_name, "lm_head");
  EXPECT_EQ(
      bytes->evidence,
      "MBU 75.0 %, MFU 2.5 % of the measured ceilings; lm_head has 68.2 % of the stage's traced time in 1 "
      "call");
  EXPECT_FALSE(recommendation_with(found, "Look at lm_head")) << "the same saving is told once";
}

TEST(findings, put_noise_first_that_savings_would_rest_on) {
  run_facts facts = example_run();
  facts.bare.bench->samples_ns["decode_all"] = {40 * ms, 45 * ms};
  EXPECT_THAT(find_in(facts).recommendations.front().text, Not(StartsWith("Quiet")));
  facts.bare.bench->samples_ns["decode_all"] = {40 * ms, 90 * ms};
  EXPECT_THAT(find_in(facts).recommendations.front().text, StartsWith("Quiet the machine and measure again"));
}

TEST(findings, name_no_operator_that_tracing_may_have_made_large) {
  run_facts facts = example_run();
  facts.bare.bench->samples_ns["decode_all"] = {33 * ms};  // 44 under the tracer, 30 of them in lm_head
  EXPECT_FALSE(recommendation_with(find_in(facts), "Move bytes faster")) << "it is at its roof";
  facts.bare.bench->work["decode_all"].bytes = 2e9;
  std::optional<recommendation> fewer = recommendation_with(find_in(facts), "Move bytes faster");
  ASSERT_TRUE(fewer);
  EXPECT_THAT(fewer->text, StartsWith("Move bytes faster, in lm_head first: ")) << "19 ms at least";
  facts.bare.bench->samples_ns["decode_all"] = {15 * ms};
  facts.bare.bench->work["decode_all"].bytes = 1e9;
  fewer = recommendation_with(find_in(facts), "Move bytes faster");
  ASSERT_TRUE(fewer);
  EXPECT_THAT(fewer->text, StartsWith("Move bytes faster: ")) << "tracing adds 29 ms";
}

TEST(findings, bound_a_saving_by_the_vendors_peaks_where_no_ceiling_was_measured) {
  run_facts facts = example_run();
  facts.bare.bench->ceiling_flops_per_s.reset();
  facts.bare.bench->ceiling_bytes_per_s.reset();
  facts.bare.bench->model_dtype = "float32";
  facts.bare.peaks = {"a machine", {{"float32", 2.0}}, 1.5e11, "its vendor"};
  const findings found = find_in(facts);
  const std::optional<recommendation> bytes = recommendation_with(found, "Move bytes faster");
  ASSERT_TRUE(bytes);
  EXPECT_NEAR(*bytes->saves_at_most_ns, 20e6, 1) << "3 GB at 150 GB/s are 20 of 40 ms";
  EXPECT_THAT(bytes->evidence, StartsWith("MBU 50.0 %, MFU 1.2 % of the vendor's peaks"));
  EXPECT_THAT(found.summary, Not(Contains(HasSubstr("is not known"))));
}

TEST(findings, give_no_saving_without_a_roof_and_put_such_rows_after_the_bounded_ones) {
  run_facts facts = example_run();
  facts.bare.bench->work.erase("decode_all");
  facts.bare.bench->samples_ns["decode_all"] = {40 * ms, 48 * ms};
  const findings found = find_in(facts);
  ASSERT_EQ(found.recommendations.size(), 3U);
  EXPECT_THAT(found.recommendations[0].text, StartsWith("Compute faster, in mlp first"));
  EXPECT_EQ(found.recommendations[1].text, "Look at lm_head first.");
  EXPECT_EQ(found.recommendations[1].saves_at_most_ns.reason(),
            "its roof is not, and its FLOPs and bytes would tell it");
  EXPECT_THAT(found.recommendations[2].text, StartsWith("Quiet the machine"));
  EXPECT_THAT(found.summary,
              Contains("What bounds decode_all is not known: the workload does not say what work stage "
                       "'decode_all' does. To know it: the program's result file can tell the stage's FLOPs "
                       "and bytes (work) and the ceilings that it measured."));
}

TEST(findings, suggest_nothing_where_the_roof_is_reached) {
  run_facts facts = example_run();
  facts.bare.bench->work = {{"prefill", {9.9e9, 1e8}}, {"decode_all", {1e9, 3.9e9}}};
  EXPECT_THAT(find_in(facts).recommendations, IsEmpty());
}

/// 280 tokens to 6 of 64 experts.
core::expert_use routed(std::int64_t fullest) {
  return {6, 64, 280, {{1, 40, 26.25, 0}, {2, fullest, 26.25, 3}, {3, 40, 26.25, 0}}};
}

TEST(findings, tell_of_tokens_that_crowd_at_few_experts) {
  run_facts facts = example_run();
  facts.bare.bench->experts["prefill"] = routed(50);
  const auto takeaways_of = [](const findings& found) {
    std::vector<std::string> texts;
    for (const takeaway& one : found.takeaways) texts.push_back(one.text + " " + one.evidence);
    return texts;
  };
  EXPECT_THAT(takeaways_of(find_in(facts)), Not(Contains(HasSubstr("unevenly filled"))));
  facts.bare.bench->experts["prefill"] = routed(120);
  EXPECT_THAT(
      takeaways_of(find_in(facts)),
      Contains("Its experts are unevenly filled. the fullest of 64 experts gets 4.6 times the mean in "
               "layer 2 (120 of 1680 rows), 1.5 times in the median layer"));
  EXPECT_FALSE(recommendation_with(find_in(facts), "Even out")) << "the trace has no experts to save from";
  // A decode step gives each of its experts one row.
  facts.bare.bench->experts["prefill"] = {6, 64, 16, {{1, 14, 1.5, 20}}};
  EXPECT_THAT(takeaways_of(find_in(facts)), Not(Contains(HasSubstr("unevenly filled"))));
}

TEST(findings, bound_what_even_experts_save_by_their_share) {
  run_facts facts = example_run();
  facts.bare.bench->experts["prefill"] = {6, 64, 280, {{1, 105, 26.25, 0}}};
  run_figures figures = analyze_run(facts);
  ASSERT_TRUE(figures.stages[0].traced);
  operator_figures experts = figures.stages[0].traced->operators.front();
  experts.record.op_name = "moe.experts";
  experts.share_ratio = 0.4;
  traced_stage traced = *figures.stages[0].traced;
  traced.operators = {experts};
  figures.stages[0].traced = traced;
  figures.stages[0].bare.use.roof_ns = measured<double>(1.0);  // far away
  const std::optional<recommendation> even = recommendation_with(find(facts, figures), "Even out");
  ASSERT_TRUE(even);
  EXPECT_NEAR(*even->saves_at_most_ns, 10e6 * 0.4 * 0.75, 1) << "three quarters of the experts' 40.0 %";
  EXPECT_THAT(even->evidence, Not(HasSubstr("synthetic")));
  facts.bare.bench->model_weights = "synthetic";
  EXPECT_THAT(recommendation_with(find(facts, figures), "Even out")->evidence,
              ::testing::EndsWith("; the weights are synthetic, and trained ones route otherwise"));

  stage_counters counted;
  counted.kernels.emplace_back();
  counted.kernels[0].group.op = "moe.experts";
  counted.kernels[0].share_ratio = 0.4;
  counted.kernels[0].reached_ratio = 0.9;
  figures.stages[0].counters = counted;
  EXPECT_NEAR(*recommendation_with(find(facts, figures), "Even out")->saves_at_most_ns, 10e6 * 0.4 * 0.1, 1)
      << "their kernels reach 90.0 % of their roof";
}

TEST(findings, bound_what_even_experts_save_by_the_weights_that_are_read) {
  run_facts facts = example_run();
  facts.bare.bench->experts["prefill"] = {6, 64, 280, {{1, 105, 26.25, 14}}};
  run_figures figures = analyze_run(facts);
  traced_stage traced = *figures.stages[0].traced;
  traced.operators.resize(1);
  traced.operators[0].record.op_name = "moe.experts";
  traced.operators[0].share_ratio = 0.4;
  figures.stages[0].traced = traced;
  figures.stages[0].bare.use.roof_ns = measured<double>(1.0);  // far away
  const auto row = [&] { return recommendation_with(find(facts, figures), "Even out").value(); };
  EXPECT_THAT(row().evidence, Not(HasSubstr("to read"))) << "nobody tells how large an expert is";
  facts.bare.bench->model_dtype = "bfloat16";
  facts.bare.bench->model_dims = {{"hidden_size", 1000}, {"moe_intermediate_size", 500}};
  // 50 of the 64 got a row: 3 MB each, at 100 GB/s.
  EXPECT_NEAR(*row().saves_at_most_ns, 4e6 - 1.5e6, 1);
  EXPECT_THAT(row().evidence, ::testing::EndsWith("; to read those that got any takes 1.50 ms (150 MB)"));
  facts.bare.bench->model_dims["moe_intermediate_size"] = 100;
  EXPECT_NEAR(*row().saves_at_most_ns, 4e6 * 0.75, 1) << "an even router is the nearer bound";
  facts.bare.bench->model_dims["moe_intermediate_size"] = 500;
  traced.devices.resize(2);
  figures.stages[0].traced = traced;
  EXPECT_NEAR(*row().saves_at_most_ns, 4e6 * 0.75, 1) << "each device has a bandwidth of its own";
}

TEST(findings, call_wide_spreads_unreliable) {
  run_facts facts = example_run();
  facts.bare.bench->samples_ns["prefill"] = {9000000, 11000000};  // std 1.41 ms of 10 ms
  const findings found = find_in(facts);
  EXPECT_THAT(found.summary,
              Contains("2 repetitions; the widest spread is 14.1 % (prefill): the times are unreliable."));
  const std::optional<recommendation> repeat = recommendation_with(found, "stage1.repetitions");
  ASSERT_TRUE(repeat);
  EXPECT_EQ(repeat->saves_at_most_ns.reason(), "it concerns the measurement, not the workload");
}

TEST(findings, call_no_stage_steady_that_was_timed_once) {
  run_facts facts = example_run();
  facts.bare.bench->samples_ns["prefill"] = {9000000};
  EXPECT_THAT(
      find_in(facts).summary,
      Contains("Timed once, so that nothing is known of the spread: prefill. The widest of the others "
               "is 0.0 % (decode_all): steady."));
}

TEST(findings, say_how_to_get_a_high_overhead_down) {
  run_facts facts = example_run();
  EXPECT_FALSE(recommendation_with(find_in(facts), "Trace less"));
  facts.captures[0].timeline.tool = "nsys";
  facts.captures[0].timeline.ranges[2].end_ns = 20000000 + 52000000;  // 52 ms against 40
  const std::optional<recommendation> less = recommendation_with(find_in(facts), "Trace less");
  ASSERT_TRUE(less);
  EXPECT_THAT(less->text, HasSubstr("timeline=embedded"));
  EXPECT_EQ(less->evidence, "traced 52.0 ms against an unprofiled median of 40.0 ms: 30.0 % more under nsys");
}

TEST(findings, do_not_blame_the_tracer_for_what_may_be_noise) {
  run_facts facts = example_run();
  facts.captures[0].timeline.ranges[2].end_ns = 20000000 + 52000000;  // 30 % more than the median
  facts.bare.bench->samples_ns["decode_all"] = {20000000, 40000000, 60000000};
  EXPECT_FALSE(recommendation_with(find_in(facts), "Trace less"));
}

TEST(findings, ask_for_ranges_where_much_of_a_stage_is_dark) {
  run_facts facts = example_run();
  facts.captures[0].timeline.ranges.pop_back();  // attn: 14 of 44 ms
  const std::optional<recommendation> ranges = recommendation_with(find_in(facts), "Put NVTX ranges");
  ASSERT_TRUE(ranges);
  EXPECT_EQ(ranges->evidence, "31.8 % of its traced time is in no operator range");
}

TEST(findings, call_an_idle_device_bound_by_launches) {
  run_facts facts = example_run();
  core::timeline& timeline = facts.captures[0].timeline;
  timeline.kernels_absent_reason.reset();
  // One a millisecond of the traced 44, together 30 of the bare 40 ms.
  const core::kernel_shape* const shape = timeline.shapes.keep({"k"});
  for (std::int64_t end_ns = 21000000; end_ns <= 64000000; end_ns += 1000000)
    timeline.kernels.push_back({shape, 0, 0, 1, 1, end_ns - 690000, end_ns - 681818, end_ns});
  const std::optional<recommendation> launches = recommendation_with(find_in(facts), "Launch less");
  ASSERT_TRUE(launches);
  EXPECT_EQ(launches->evidence,
            "no kernel runs during 25.0 % of the unprofiled stage (waits for a launch 25.0 %); 11 "
            "launches and 11 kernels a token");
  EXPECT_NEAR(*launches->saves_at_most_ns, 10000000, 10);
}

TEST(findings, tell_a_host_that_does_something_else_from_one_that_launches_too_slowly) {
  run_facts facts = example_run();
  core::timeline& timeline = facts.captures[0].timeline;
  timeline.kernels_absent_reason.reset();
  timeline.kernels.push_back(
      {timeline.shapes.keep({"k"}), 0, 0, 1, 1, 33990000, 34000000, 64000000});  // after 14 ms
  const findings found = find_in(facts);
  EXPECT_FALSE(recommendation_with(found, "Launch less"));
  const std::optional<recommendation> host = recommendation_with(found, "what the host does");
  ASSERT_TRUE(host);
  EXPECT_EQ(host->text, "Look at what the host does in lm_head: no change of kernels saves this.");
  EXPECT_DOUBLE_EQ(*host->saves_at_most_ns, 10000000);
}

TEST(findings, name_what_an_idle_device_waits_for) {
  run_facts facts = example_run();
  core::timeline& timeline = facts.captures[0].timeline;
  timeline.kernels_absent_reason.reset();
  timeline.kernels.push_back({timeline.shapes.keep({"k"}), 0, 0, 1, 1, 33990000, 34000000, 64000000});
  timeline.calls.push_back({"cudaStreamSynchronize_v3020", 1, 1, 20000000, 33000000});
  EXPECT_TRUE(recommendation_with(find_in(facts), "Synchronise less"));
  timeline.calls.clear();
  timeline.copies.push_back({.device = 0, .process_id = 1, .start_ns = 20000000, .end_ns = 33000000});
  EXPECT_TRUE(recommendation_with(find_in(facts), "Copy less"));
  timeline.copies.clear();
  timeline.kernels[0].launched_ns = 20010000;  // long before: not the host's fault
  EXPECT_FALSE(recommendation_with(find_in(facts), "Launch less"));
}

TEST(findings, do_not_invent_a_bound_without_ceilings) {
  run_facts facts = example_run();
  facts.bare.bench->ceiling_flops_per_s.reset();
  const findings found = find_in(facts);
  EXPECT_THAT(found.summary, Contains(StartsWith("What bounds prefill and decode_all is not known: the "
                                                 "workload measured no ceiling. To know it: ")));
  EXPECT_FALSE(recommendation_with(found, "faster"));
  const std::optional<recommendation> head = recommendation_with(found, "Look at lm_head first");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->saves_at_most_ns.reason(), "its roof is not, and ceilings of this machine would tell it")
      << "its work is known";
}

std::vector<std::string> takeaways_of(const findings& found, const std::string& stage) {
  std::vector<std::string> texts;
  for (const takeaway& item : found.takeaways) {
    if (item.stage == stage) texts.push_back(item.text + " " + item.evidence);
  }
  return texts;
}

/// The example with decode_all sampled on a GPU.
run_facts sampled_run(core::value_spread sm_clock_mhz, std::vector<std::string> throttle_reasons) {
  run_facts facts = example_run();
  core::stage_telemetry& decode = facts.bare.bench->telemetry["decode_all"];
  decode.windows_count = 2;
  decode.samples_count = 7;
  decode.sm_clock_mhz = sm_clock_mhz;
  decode.throttle_reasons = std::move(throttle_reasons);
  return facts;
}

TEST(findings, do_not_call_a_stage_unknown_that_other_stages_fill) {
  run_facts facts = example_run();
  facts.bare.stages = {"prefill", "decode_all", "step"};
  facts.captures[0].timeline = timeline_builder()
                                   .range("prefill", 0, 10000000)
                                   .range("decode_all", 20000000, 60000000)
                                   .range("step", 21000000, 59000000)
                                   .build();
  const findings found = find_in(facts);
  EXPECT_THAT(takeaways_of(found, "decode_all"), Not(Contains(HasSubstr("is unknown"))));
  EXPECT_THAT(takeaways_of(found, "step"), Contains(HasSubstr("is unknown")));
}

TEST(findings, say_when_the_gpu_was_throttled) {
  const findings found = find_in(sampled_run({1900, 1950, 1980}, {"gpu_idle", "software_power_cap"}));
  EXPECT_THAT(takeaways_of(found, "decode_all"), ::testing::Not(Contains(HasSubstr("software_power_cap"))));
  EXPECT_THAT(found.summary, Contains("The GPU was at a limit (software_power_cap) while decode_all was "
                                      "timed, but its clocks held: the times stand."));
  EXPECT_FALSE(recommendation_with(found, "Lock the clocks")) << "they hardly moved";
  const findings moved = find_in(sampled_run({1700, 1980, 1980}, {"software_power_cap"}));
  EXPECT_THAT(moved.summary,
              Contains("The GPU was throttled (software_power_cap) while decode_all was timed; its SM clock "
                       "moved by 14.1 % at times."));
  EXPECT_THAT(takeaways_of(moved, "decode_all"),
              Contains("Throttled (software_power_cap): the SM clock moved by "
                       "14.1 %. 7 samples with an SM clock of 1700 to 1980 MHz, median 1980 MHz"));
  EXPECT_THAT(takeaways_of(moved, "decode_all"), ::testing::Not(Contains(HasSubstr("SM clocks that differ"))))
      << "once is enough";
}

TEST(findings, call_those_stages_throttled_whose_clocks_moved) {
  run_facts facts = sampled_run({1575, 1965, 1965}, {"software_power_cap"});
  core::stage_telemetry prefill = facts.bare.bench->telemetry["decode_all"];
  prefill.sm_clock_mhz = core::value_spread{1965, 1965, 1965};
  facts.bare.bench->telemetry["prefill"] = prefill;
  const findings found = find_in(facts);
  EXPECT_THAT(found.summary,
              Contains("The GPU was throttled (software_power_cap) while decode_all was timed; its SM clock "
                       "moved by 19.8 % at times."));
  EXPECT_THAT(found.summary, ::testing::Not(Contains(HasSubstr("clocks held"))));
  EXPECT_THAT(takeaways_of(found, "prefill"), ::testing::Not(Contains(HasSubstr("software_power_cap"))));
}

TEST(findings, say_when_the_clock_was_not_steady) {
  const findings found = find_in(sampled_run({1880, 1980, 1980}, {"gpu_idle"}));  // 5.05 %
  EXPECT_THAT(takeaways_of(found, "decode_all"),
              Contains(HasSubstr("Its samples were taken at SM clocks that differ by 5.1 %.")));
  EXPECT_FALSE(recommendation_with(found, "Lock the clocks")) << "the times did not feel it";
  EXPECT_THAT(found.summary, ::testing::Not(Contains(HasSubstr("throttled"))));
  run_facts slow_first = sampled_run({1880, 1980, 1980}, {"gpu_idle"});
  slow_first.bare.bench->samples_ns["decode_all"] = {41000000, 40000000, 40000000};
  EXPECT_TRUE(recommendation_with(find_in(slow_first), "Lock the clocks"));
  EXPECT_TRUE(recommendation_with(find_in(sampled_run({1700, 1750, 1980}, {"gpu_idle"})), "Lock the clocks"))
      << "most of the time it ran below what it can";
}

TEST(findings, say_nothing_of_steady_clocks) {
  const findings found = find_in(sampled_run({1890, 1980, 1980}, {"gpu_idle"}));  // 4.5 %
  EXPECT_FALSE(recommendation_with(found, "Lock the clocks"));
  EXPECT_THAT(takeaways_of(found, "decode_all"), ::testing::Not(Contains(HasSubstr("samples"))));
}

TEST(findings, name_the_energy_of_a_token) {
  run_facts facts = sampled_run({1980, 1980, 1980}, {});
  facts.bare.bench->telemetry["decode_all"].energy_j = 4;  // two repetitions of four tokens
  facts.bare.bench->telemetry["decode_all"].energy_uncertainty_ratio = 0.2;
  EXPECT_THAT(find_in(facts).summary, Contains("500 ± 100 mJ per decoded token."));
}

TEST(findings, doubt_a_utilisation_above_one) {
  run_facts facts = example_run();
  facts.bare.bench->model_dtype = "float32";
  facts.bare.bench->work["decode_all"].bytes = 4.2e9;  // in 40 ms at 100 GB/s
  facts.bare.peaks = {{"x", {{"float32", 0.4}}, 1e12, "a data sheet"}};
  const findings found = find_in(facts);
  EXPECT_THAT(takeaways_of(found, "decode_all"),
              Contains(::testing::AllOf(HasSubstr("more than the machine can"),
                                        HasSubstr("MBU over the measured ceiling is ≥ 100 %"))));
  EXPECT_THAT(takeaways_of(found, "prefill"), Contains(HasSubstr("MFU over the vendor's peak is ≥ 100 %")));
  EXPECT_THAT(takeaways_of(found, "decode_all"), Not(Contains(HasSubstr("memory-bound"))));
  EXPECT_TRUE(recommendation_with(found, "Check what the workload counts"));
  EXPECT_FALSE(recommendation_with(find_in(example_run()), "Check what the workload counts"));
}

/// The example, whose decode of 4 tokens runs so many kernels for each, of 6 µs, one after the other.
run_facts run_of_tiny_kernels(std::int64_t kernels_a_token) {
  run_facts facts = example_run();
  core::timeline& timeline = facts.captures[0].timeline;
  timeline.kernels_absent_reason.reset();
  const core::kernel_shape* const shape = timeline.shapes.keep({"k"});
  for (std::int64_t k = 0; k < 4 * kernels_a_token; ++k) {
    const std::int64_t start_ns = 20 * ms + 1000 + k * 7000;
    timeline.kernels.push_back({shape, 0, 0, 1, 1, start_ns - 1000, start_ns, start_ns + 6000});
  }
  return facts;
}

TEST(findings, count_tiny_kernels_by_the_token_where_a_stage_decodes_several) {
  const findings found = find_in(run_of_tiny_kernels(63));
  EXPECT_THAT(takeaways_of(found, "decode_all"),
              Contains("It runs many tiny kernels. 63 kernels a token of 6.00 µs each; a launch takes some 5 "
                       "to 10 µs of the host"));
  const std::optional<recommendation> fuse = recommendation_with(found, "Fuse k + k");
  ASSERT_TRUE(fuse);
  EXPECT_THAT(fuse->evidence, StartsWith("21 times a token, together "));
  EXPECT_THAT(takeaways_of(find_in(run_of_tiny_kernels(49)), "decode_all"),
              Not(Contains(HasSubstr("tiny kernels"))))
      << "196 in all, which are few for each";
}

/// One kernel, k, in two launches of 5 and 2 ns, and what the tool says of it.
run_facts run_with_summary(std::int64_t total_ns, std::int64_t calls) {
  run_facts facts = example_run();
  facts.captures = {{"nsys/run.sqlite", std::nullopt,
                     timeline_builder()
                         .range("prefill", 0, 100)
                         .kernel("k", 1, 10, 15)
                         .kernel("k", 2, 20, 22)
                         .range("decode_all", 200, 300)
                         .build()}};
  facts.kernel_summaries = {{"nsys/run_cuda_gpu_kern_sum.csv", "nsys/run.sqlite", std::nullopt, {}, {}, ""}};
  facts.kernel_summaries[0].kernels = {{"k", "", total_ns, calls, std::nullopt}};
  facts.kernel_summaries[0].by_stage["prefill"] = facts.kernel_summaries[0].kernels;
  return facts;
}

TEST(kernel_summaries, that_agree_with_the_trace_are_no_finding) {
  EXPECT_THAT(analyze_run(run_with_summary(7, 2)).timeline.problems, IsEmpty());
  EXPECT_THAT(analyze_run(run_with_summary(8, 2)).timeline.problems, IsEmpty()) << "rounded";
}

TEST(kernel_summaries, that_differ_from_the_trace_name_the_kernel_and_both_figures) {
  EXPECT_THAT(analyze_run(run_with_summary(9, 2)).timeline.problems,
              ElementsAre("kernel k takes 9 ns in 2 calls by nsys/run_cuda_gpu_kern_sum.csv, but 7 ns in 2 "
                          "calls by nsys/run.sqlite"));
  EXPECT_THAT(analyze_run(run_with_summary(7, 3)).timeline.problems,
              ElementsAre(HasSubstr("7 ns in 3 calls")));
  run_facts of_another = run_with_summary(9, 2);
  of_another.kernel_summaries[0].capture = "nsys/run.prefill.sqlite";
  EXPECT_THAT(analyze_run(of_another).timeline.problems, IsEmpty());
}

TEST(kernel_summaries, that_lack_kernels_or_cannot_be_read_say_so) {
  run_facts facts = run_with_summary(7, 2);
  facts.kernel_summaries[0].kernels[0].kernel_name = "other";
  EXPECT_THAT(analyze_run(facts).timeline.problems,
              ElementsAre(HasSubstr("kernel k takes 0 ns in 0 calls by nsys/run_cuda"),
                          HasSubstr("kernel other takes 7 ns in 2 calls")));
  facts.kernel_summaries[0].unreadable = "run.csv:3: truncated";
  EXPECT_THAT(analyze_run(facts).timeline.problems, ElementsAre(HasSubstr("run.csv:3: truncated")));
}

TEST(kernel_summaries, stand_in_for_a_trace_that_is_not_there) {
  run_facts facts = run_with_summary(7, 2);
  facts.captures.clear();
  facts.captures_absent_reason = "nsys/run.sqlite is not there";
  const run_figures figures = analyze_run(facts);
  ASSERT_EQ(figures.timeline.kernels.size(), 1U);
  EXPECT_EQ(figures.timeline.kernels[0].total_ns, 7);
  EXPECT_FALSE(figures.timeline.kernels_absent_reason);
  ASSERT_EQ(figures.stages[0].summarized_kernels.size(), 1U);
  EXPECT_THAT(figures.stages[1].summarized_kernels, IsEmpty());
  EXPECT_EQ(figures.stages[0].traced.reason(), "nsys/run.sqlite is not there");
}

TEST(kernel_summaries, are_of_the_counted_launches_where_there_is_nothing_else) {
  run_facts facts = run_with_summary(7, 2);
  facts.captures.clear();
  facts.kernel_summaries.clear();
  facts.captures_absent_reason = "timeline is set to none";
  const auto launch = [](const std::string& name, const std::string& stage, double duration_ns) {
    return core::kernel_counters{name,      {stage},   0,
                                 {1, 1, 1}, {1, 1, 1}, {{"gpu__time_duration.sum", duration_ns}}};
  };
  facts.counters.launches = {launch("a", "prefill", 5), launch("b", "decode_all", 9),
                             launch("a", "prefill", 6)};
  const run_figures figures = analyze_run(facts);
  ASSERT_EQ(figures.timeline.kernels.size(), 2U);
  EXPECT_EQ(figures.timeline.kernels[0].kernel_name, "a");
  EXPECT_EQ(figures.timeline.kernels[0].total_ns, 11);
  EXPECT_EQ(figures.timeline.kernels[0].calls, 2);
  EXPECT_EQ(figures.timeline.kernels[0].device, "cuda:0");
  EXPECT_EQ(figures.timeline.kernels_source, "the launches that were counted, and no others");
  ASSERT_EQ(figures.stages[1].summarized_kernels.size(), 1U);
  EXPECT_EQ(figures.stages[1].summarized_kernels[0].kernel_name, "b");
}

}  // namespace
}  // namespace profgate::analysis
