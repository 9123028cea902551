#include "compare/profile_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/error.h"
#include "gate/figure_units.h"

namespace profgate::compare {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string recorded_text(const std::string& name) {
  std::ifstream stream(PROFGATE_TEST_DATA "/profiles/h200/" + name + ".json");
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

compared_side recorded_side(const std::string& name) {
  return side_of_profile(recorded_text(name), name + ".json", name);
}

const compared_stage& stage(const profile_comparison& comparison, std::string_view name) {
  for (const compared_stage& one : comparison.stages)
    if (one.name == name) return one;
  throw std::runtime_error("there is no stage " + std::string(name));
}

const compared_figure& figure(const std::vector<compared_figure>& figures, std::string_view key) {
  for (const compared_figure& one : figures)
    if (one.what.key == key) return one;
  throw std::runtime_error("there is no figure " + std::string(key));
}

/// A stage with these kernels and nothing else.
compared_side side_with(std::vector<side_kernel> kernels) {
  compared_side side;
  side.pair = "m.c";
  side.model = "m";
  side.config = "c";
  side.device_name = "d";
  side_stage only;
  only.name = "decode_all";
  only.kernels = std::move(kernels);
  for (const side_kernel& kernel : only.kernels) {
    if (!kernel.device.empty()) only.devices[kernel.device].figures["/idle_ratio"] = 0.5;
  }
  if (only.devices.size() < 2) only.devices.clear();
  side.stages = {only};
  return side;
}

TEST(compare_sides, matches_the_kernels_of_one_pair_by_name_and_adds_up) {
  // nsys writes template arguments with casts, the embedded collector without
  const profile_comparison both = compare_sides(recorded_side("qwen3-0.6b.decode-b1.nsys"),
                                                recorded_side("qwen3-0.6b.decode-b1.embedded"));
  EXPECT_FALSE(both.is_cross_model);
  EXPECT_FALSE(both.is_cross_device);
  const compared_stage& decode = stage(both, "decode_all");
  ASSERT_EQ(decode.kernels.size(), 8U);
  double a_ns = 0;
  double b_ns = 0;
  for (const compared_kernel& kernel : decode.kernels) {
    EXPECT_NE(kernel.match, gate::matched_by::nothing) << kernel.a_name << " " << kernel.b_name;
    EXPECT_EQ(kernel.a_launches, kernel.b_launches);
    a_ns += kernel.a_ns;
    b_ns += kernel.b_ns;
  }
  EXPECT_EQ(a_ns, 37323651);  // traced.kernel_exclusive_ns of each
  EXPECT_EQ(b_ns, 37334892);
  EXPECT_EQ(*figure(decode.figures, "/bare/median_ns").a, 36950367);
  ASSERT_TRUE(decode.shift);
  EXPECT_TRUE(decode.shift->may_be_noise());
  EXPECT_THAT(both.labels, ElementsAre(HasSubstr("A was traced by nsys, B by embedded"),
                                       HasSubstr("A was built from a changed checkout"),
                                       HasSubstr("B was built from a changed checkout")));
}

TEST(compare_sides, sets_two_models_side_by_side_by_category) {
  const profile_comparison both =
      compare_sides(recorded_side("qwen3-0.6b.decode-b1.nsys"), recorded_side("llama-3.1-8b.decode-b1"));
  EXPECT_TRUE(both.is_cross_model);
  EXPECT_THAT(both.labels, Contains(HasSubstr("Two models, qwen3-0.6b and llama-3.1-8b")));
  const compared_stage& decode = stage(both, "decode_all");
  EXPECT_TRUE(decode.by_category);
  double b_ns = 0;
  for (const compared_kernel& kernel : decode.kernels) b_ns += kernel.b_ns;
  EXPECT_EQ(b_ns, 256917244);
  ASSERT_TRUE(decode.shift);
  EXPECT_FALSE(decode.shift->may_be_noise());
}

TEST(compare_sides, tells_of_another_gpu_of_the_same_name_and_of_another_clock) {
  const std::string clock = "/telemetry/sm_clock_median_mhz";
  const auto side = [&](const char* uuid, double clock_mhz) {
    compared_side one = side_with({});
    one.facts["gpu.0.uuid"] = uuid;
    one.stages[0].figures[clock] = clock_mhz;
    return one;
  };
  EXPECT_THAT(compare_sides(side("GPU-1", 1980), side("GPU-2", 1919)).labels,
              ElementsAre("Two GPUs of one kind, GPU-1 and GPU-2: no two are equally fast.",
                          "Another SM clock in decode_all: 1980 MHz in A and 1919 MHz in B, −3.1 %."));
  EXPECT_THAT(compare_sides(side("GPU-1", 1980), side("GPU-1", 1965)).labels, IsEmpty());
  EXPECT_THAT(compare_sides(side("GPU-1", 1980), side("not measured: no NVML", 1980)).labels, IsEmpty());
  compared_side run_set_a = side_with({});
  compared_side run_set_b = side_with({});
  run_set_a.facts["processes.sm_clock_median_mhz"] = "1900";
  run_set_b.facts["processes.sm_clock_median_mhz"] = "1980";
  EXPECT_THAT(compare_sides(run_set_a, run_set_b).labels,
              ElementsAre("Another SM clock: 1900 MHz in A and 1980 MHz in B, +4.2 %."));
}

TEST(compare_sides, divides_what_is_counted_of_an_occurrence_by_its_tokens) {
  const auto side = [](double tokens) {
    compared_side one = side_with({});
    one.stages[0].tokens = tokens;
    one.stages[0].figures["/step/launches_count"] = tokens;
    return one;
  };
  const profile_comparison both = compare_sides(side(64), side(1));
  const compared_stage decode = in_units(stage(both, "decode_all"));
  const compared_figure& launches = figure(decode.figures, "/step/launches_count");
  EXPECT_EQ(launches.what.shown.label, "launches a token");
  EXPECT_EQ(*launches.a, 1);
  EXPECT_EQ(*launches.b, 1);
}

side_kernel on(const std::string& device, const std::string& name, double ns) {
  return {name, "mlp", "gemm", 1, ns, ns, device};
}

TEST(compare_sides, sets_each_of_several_devices_beside_its_like) {
  const profile_comparison both =
      compare_sides(side_with({on("cuda:0", "gemm", 100), on("cuda:1", "gemm", 100)}),
                    side_with({on("cuda:0", "gemm", 100), on("cuda:1", "gemm", 130)}));
  const compared_stage& decode = stage(both, "decode_all");
  EXPECT_TRUE(decode.by_device);
  ASSERT_EQ(decode.kernels.size(), 2U);
  EXPECT_EQ(decode.kernels[0].device, "cuda:1") << "the one that is slower";
  EXPECT_EQ(decode.kernels[0].b_ns - decode.kernels[0].a_ns, 30);
  EXPECT_EQ(decode.kernels[1].b_ns - decode.kernels[1].a_ns, 0);
}

TEST(compare_sides, takes_devices_in_their_order_where_the_sides_ran_on_others) {
  const profile_comparison both =
      compare_sides(side_with({on("cuda:0", "gemm", 100), on("cuda:1", "gemm", 120)}),
                    side_with({on("cuda:2", "gemm", 110), on("cuda:10", "gemm", 160)}));
  const std::vector<compared_kernel>& kernels = stage(both, "decode_all").kernels;
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].device, "cuda:1 and cuda:10");
  EXPECT_EQ(kernels[1].device, "cuda:0 and cuda:2");
}

TEST(compare_sides, a_device_that_only_one_side_used_stands_alone) {
  const profile_comparison both =
      compare_sides(side_with({on("cuda:0", "gemm", 100)}),
                    side_with({on("cuda:0", "gemm", 60), on("cuda:1", "gemm", 70)}));
  const std::vector<compared_kernel>& kernels = stage(both, "decode_all").kernels;
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].device, "cuda:1");
  EXPECT_EQ(kernels[0].a_name, "");
}

TEST(compare_sides, takes_devices_together_where_a_side_does_not_tell_them_apart) {
  const profile_comparison both = compare_sides(
      side_with({on("", "gemm", 200)}), side_with({on("cuda:0", "gemm", 100), on("cuda:1", "gemm", 130)}));
  const compared_stage& decode = stage(both, "decode_all");
  EXPECT_FALSE(decode.by_device);
  ASSERT_EQ(decode.kernels.size(), 1U);
  EXPECT_EQ(decode.kernels[0].b_ns, 230);
  EXPECT_EQ(decode.kernels[0].device, "");
}

TEST(compare_sides, says_nothing_of_devices_where_each_side_used_one) {
  const profile_comparison both =
      compare_sides(side_with({on("cuda:0", "gemm", 100)}), side_with({on("cuda:1", "gemm", 100)}));
  const compared_stage& decode = stage(both, "decode_all");
  EXPECT_FALSE(decode.by_device);
  ASSERT_EQ(decode.kernels.size(), 1U);
  EXPECT_EQ(decode.kernels[0].device, "");
}

TEST(compare_sides, says_so_where_the_devices_differ) {
  compared_side other = recorded_side("qwen3-0.6b.decode-b1.nsys");
  other.device_name = "NVIDIA H100";
  const profile_comparison both = compare_sides(recorded_side("qwen3-0.6b.decode-b1.nsys"), other);
  EXPECT_TRUE(both.is_cross_device);
  EXPECT_THAT(both.labels.front(), HasSubstr("Two devices, NVIDIA H200 and NVIDIA H100"));
}

TEST(compare_sides, folds_facts_that_are_the_same) {
  const profile_comparison both = compare_sides(recorded_side("qwen3-0.6b.decode-b1.nsys"),
                                                recorded_side("qwen3-0.6b.decode-b1.embedded"));
  std::map<std::string, std::string> same(both.same.begin(), both.same.end());
  EXPECT_EQ(same["gpu.0.name"], "NVIDIA H200");
  EXPECT_EQ(same["model.dims.hidden_size"], "1024");
  std::vector<std::string> differing;
  for (const differing_fact& fact : both.differs) differing.push_back(fact.name);
  EXPECT_THAT(differing, Contains("run.mode"));
  EXPECT_EQ(same.count("run.mode"), 0U);
  EXPECT_EQ(same.count("created_utc"), 0U);  // explains nothing
  EXPECT_THAT(compare_sides(both.a, both.a).differs, IsEmpty());
}

TEST(compare_sides, tells_how_long_prompts_with_images_really_were) {
  const auto side_of = [](int prompt_tokens) {
    nlohmann::json profile = nlohmann::json::parse(recorded_text("qwen3-0.6b.decode-b1.nsys"));
    profile["inputs"] = {{{"name", "prompt_tokens"}, {"value", "10"}}};
    profile["throughput"]["prompt_tokens_count"] = prompt_tokens;
    return side_of_profile(profile.dump(), "profile.json", "x");
  };
  const std::string real = "input.prompt_tokens_with_images";
  const profile_comparison both = compare_sides(side_of(283), side_of(913));
  const auto fact = std::find_if(both.differs.begin(), both.differs.end(),
                                 [&](const differing_fact& one) { return one.name == real; });
  ASSERT_NE(fact, both.differs.end());
  EXPECT_EQ(fact->a, "283");
  EXPECT_EQ(fact->b, "913");
  EXPECT_EQ(side_of(10).facts.count(real), 0U) << "the text is all there is";
}

TEST(compare_sides, names_the_reason_of_what_was_not_measured) {
  const profile_comparison both =
      compare_sides(recorded_side("qwen3-0.6b.decode-b1.nsys"), recorded_side("llama-3.1-8b.decode-b1"));
  const compared_figure& energy = figure(both.figures, "/throughput/energy_per_decoded_token_j");
  EXPECT_FALSE(energy.a);
  EXPECT_THAT(energy.a.reason(), HasSubstr("energy counter"));
  EXPECT_TRUE(energy.b);
  const compared_figure& idle = figure(stage(both, "prefill").figures, "/launches_per_token_count");
  EXPECT_THAT(idle.a.reason(), HasSubstr("decode_all only"));
}

TEST(compare_sides, tells_a_new_and_a_gone_kernel_from_a_changed_one) {
  const profile_comparison both = compare_sides(
      side_with({{"void f<1>(int)", "attn", "other", 10, 1000, 900}, {"old_norm", "x", "norm", 1, 50, 50}}),
      side_with(
          {{"void f<2>(int)", "attn", "other", 12, 1300, 1200}, {"copy_kernel", "y", "copy", 3, 30, 30}}));
  const compared_stage& only = both.stages.front();
  ASSERT_EQ(only.kernels.size(), 3U);
  EXPECT_EQ(only.kernels[0].match, gate::matched_by::normalised_name);
  EXPECT_EQ(only.kernels[0].b_ns - only.kernels[0].a_ns, 300);
  EXPECT_EQ(only.kernels[1].a_name, "old_norm");
  EXPECT_EQ(only.kernels[1].b_name, "");
  EXPECT_EQ(only.kernels[2].b_name, "copy_kernel");
}

TEST(compare_sides, uses_whole_times_where_a_side_has_no_own_ones) {
  const profile_comparison both = compare_sides(side_with({{"f", "", "other", 1, 1000, 900}}),
                                                side_with({{"f", "", "other", 1, 1100, std::nullopt}}));
  EXPECT_FALSE(both.stages.front().is_exclusive_time);
  EXPECT_EQ(both.stages.front().kernels.front().a_ns, 1000);
  EXPECT_EQ(both.stages.front().kernels.front().b_ns, 1100);
}

TEST(compare_sides, keeps_a_stage_that_one_side_lacks) {
  compared_side b = side_with({});
  b.stages.front().name = "prefill";
  const profile_comparison both = compare_sides(side_with({{"f", "", "other", 1, 1, 1}}), b);
  ASSERT_EQ(both.stages.size(), 2U);
  EXPECT_TRUE(stage(both, "decode_all").in_a);
  EXPECT_FALSE(stage(both, "decode_all").in_b);
  EXPECT_FALSE(stage(both, "prefill").in_a);
  EXPECT_THAT(stage(both, "prefill").kernels_absent_reason, HasSubstr("only one side"));
}

/// Steps whose times spread over ±30 %, 40 of them, `ratio` times as long.
std::vector<double> wide_samples(double ratio) {
  std::vector<double> samples;
  for (int i = 0; i < 40; ++i) samples.push_back(ratio * (1e6 + 15'000.0 * (i * 17 % 41 - 20)));
  return samples;
}

TEST(shift_between, is_that_of_the_medians_and_not_of_the_spreads) {
  const std::vector<double> a = wide_samples(1);
  const auto [least, most] = std::minmax_element(a.begin(), a.end());
  ASSERT_GT(*most, 1.19 * *least) << "single samples of the two overlap";
  const std::optional<median_shift> shift = shift_between(a, wide_samples(1.19));
  ASSERT_TRUE(shift);
  EXPECT_FALSE(shift->may_be_noise());
  EXPECT_LT(shift->lower_ratio, 0.19);
  EXPECT_GT(shift->upper_ratio, 0.19);
  EXPECT_FALSE(shift_between(wide_samples(1.19), a)->may_be_noise()) << "faster is no noise either";

  EXPECT_TRUE(shift_between(a, wide_samples(1.01))->may_be_noise()) << "of 40 samples that spread so far";
  EXPECT_TRUE(shift_between(a, a)->may_be_noise());
  EXPECT_TRUE(shift_between({5, 5, 5}, {5, 5, 5})->may_be_noise());
}

TEST(shift_between, is_not_known_of_few_samples_and_takes_some_of_very_many) {
  EXPECT_FALSE(shift_between({}, {1, 2, 3}));
  EXPECT_FALSE(shift_between({1, 1}, {9, 9}));
  EXPECT_TRUE(shift_between({1, 1, 1}, {9, 9, 9}));
  EXPECT_FALSE(shift_between({0, -1, 1}, {9, 9, 9})) << "what is no time does not count";
  const std::vector<double> many(100'000, 1.0);
  const std::vector<double> more(100'000, 1.1);
  EXPECT_FALSE(shift_between(many, more)->may_be_noise());
}

TEST(side_of_profile, refuses_what_is_no_profile) {
  EXPECT_THROW(side_of_profile("{", "x.json", "x"), core::bad_input);
  EXPECT_THROW(side_of_profile(R"({"schema_version": "0.1"})", "x.json", "x"), core::bad_input);
}

TEST(side_of_run_set, has_the_medians_of_its_processes_and_the_means_of_its_traces) {
  gate::run_set runs;
  runs.identity.pair = "llama.decode-b1";
  runs.identity.model = "llama";
  runs.identity.device_name = "NVIDIA H200";
  for (const std::int64_t level : {999, 100, 110, 120}) {  // the first process does not count
    gate::process_record process;
    process.samples_ns["decode_all"] = {900, 900, 900, level, level, level, level, level};
    process.samples_ns["prefill"] = process.samples_ns["decode_all"];
    runs.processes.push_back(process);
  }
  runs.processes.back().spoiled_by = "throttled";
  runs.structure["decode_all"].launches = 32;
  runs.structure["decode_all"].tokens = 16;
  for (const std::int64_t total_ns : {1000, 1200}) {
    analysis::stage_operations traced;
    traced.operations = {{"f", "decode_step/attn.qkv", "gemv", 10, total_ns},
                         {"copy host to device", "sample", "copy", 1, 50},
                         {"attn.qkv", "decode_step", "host", 10, 2000}};
    runs.traces.push_back({{"decode_all", traced}});
  }
  const compared_side side = side_of_run_set(runs, "baseline.json");
  ASSERT_EQ(side.stages.size(), 2U);
  EXPECT_EQ(side.stages[0].name, "prefill");
  const side_stage& decode = side.stages[1];
  EXPECT_EQ(*decode.figures.at("/bare/median_ns"), 105);
  EXPECT_EQ(*std::min_element(decode.samples_ns.begin(), decode.samples_ns.end()), 100);
  EXPECT_EQ(*decode.figures.at("/launches_per_token_count"), 2);
  EXPECT_THAT(decode.figures.at("/idle/idle_ns").reason(), HasSubstr("run set"));
  ASSERT_EQ(decode.kernels.size(), 1U) << "neither copies nor operators are kernels";
  EXPECT_EQ(decode.kernels[0].total_ns, 1100);
  EXPECT_EQ(decode.kernels[0].path, "attn.qkv");
  EXPECT_FALSE(side.stages[0].kernels_absent_reason.empty());
}

TEST(side_of_run_set, has_the_kernels_of_one_occurrence_as_its_time_is_one_s) {
  gate::run_set runs;
  runs.identity.pair = "script.adhoc";
  gate::process_record process;
  process.samples_ns["prefill"] = {100};
  runs.processes = {process, process};
  runs.structure["prefill"].launches = 4;
  runs.structure["prefill"].tokens = 1;
  for (const std::int64_t occurrences : {4, 1}) {
    analysis::stage_operations traced;
    traced.operations = {{"f", "attn", "gemm", 2 * occurrences, 50 * occurrences}};
    traced.times.emplace().occurrences = occurrences;
    runs.traces.push_back({{"prefill", traced}});
  }
  const side_stage prefill = side_of_run_set(runs, "a.json").stages.at(0);
  ASSERT_EQ(prefill.kernels.size(), 1U);
  EXPECT_EQ(prefill.kernels[0].total_ns, 50);
  EXPECT_EQ(prefill.kernels[0].launches, 2);
  EXPECT_FALSE(prefill.figures.at("/launches_per_token_count")) << "it decodes no tokens";
}

TEST(side_of_run_set, of_a_cpu_has_the_calls_of_its_operators_and_not_their_stretches) {
  gate::run_set runs;
  runs.identity.pair = "m.c";
  gate::process_record process;
  process.samples_ns["decode_all"] = {1000000};
  runs.processes = {process};
  analysis::stage_operations traced;
  traced.times.emplace();
  traced.times->occurrences = 2;
  const auto range = [](const char* name, const char* path, std::int64_t stretches, std::int64_t own_ns) {
    return analysis::operation_sum{name, path, "host", stretches, own_ns, own_ns * analysis::units_per_ns};
  };
  traced.operations = {range("attn", "decode_step", 24, 4000), range("attn", "warm", 8, 2000),
                       range("mlp", "decode_step", 8, 1000),
                       range("decode_all outside of operators", "", 3, 500)};
  runs.traces = {{{"decode_all", traced}}};
  gate::stage_structure& structure = runs.structure["decode_all"];
  structure.tokens = 4;
  structure.calls = {{{"attn", "decode_step"}, 4}, {{"attn", "warm"}, 1}};
  const compared_side side = side_of_run_set(runs, "a.json");
  const side_stage& decode = side.stages.at(0);
  ASSERT_EQ(decode.operators.size(), 2U) << "what is in none is no operator";
  EXPECT_EQ(decode.operators[0].name, "attn");
  EXPECT_EQ(decode.operators[0].calls, 5);
  EXPECT_EQ(decode.operators[0].time_ns, 3000) << "of one occurrence";
  EXPECT_EQ(decode.operators[1].calls, std::nullopt) << "stretches are no calls";
  EXPECT_EQ(decode.operator_time, "on the host");
  EXPECT_THAT(decode.kernels, IsEmpty());
  EXPECT_EQ(decode.kernels_absent_reason, "the device is a CPU, which has no kernels");
  const compared_stage both = in_units(stage(compare_sides(side, side), "decode_all"));
  EXPECT_EQ(both.per, "token");
  ASSERT_TRUE(both.operators.at(0).a);
  EXPECT_EQ(both.operators[0].a->calls, 1.25);
  EXPECT_EQ(both.operators[0].a->time_ns, 750);
}

gate::run_set run_set_with_rate(double tokens_per_s) {
  gate::run_set runs;
  runs.units_of_figures = {{"rate", "tokens/s"}, {"load", "ms"}};
  for (std::size_t slot = 0; slot < 8; ++slot) {
    gate::process_record process;
    process.slot = slot;
    const double level = 1 + 0.001 * static_cast<double>(slot);
    process.samples_ns["rate"] = {gate::figure_sample_ns(level * tokens_per_s, "tokens/s", "rate")};
    process.samples_ns["load"] = {static_cast<std::int64_t>(level * 5e6)};
    runs.processes.push_back(process);
  }
  return runs;
}

TEST(compare_sides, shows_a_rate_of_run_sets_in_its_unit_and_more_of_it_as_better) {
  const compared_side a = side_of_run_set(run_set_with_rate(500), "a");
  ASSERT_EQ(a.stages.size(), 1U) << "a rate is no stage, a time that is told is one";
  EXPECT_EQ(a.stages[0].name, "load");
  const profile_comparison both = compare_sides(a, side_of_run_set(run_set_with_rate(100), "b"));
  const compared_figure& rate = figure(both.figures, "/program_figures/rate/median");
  EXPECT_EQ(rate.what.unit, "tokens/s");
  EXPECT_EQ(rate.what.shown.which, analysis::better::higher);
  EXPECT_EQ(rate.what.shown.label, "rate (higher is better)");
  EXPECT_NEAR(*rate.a, 502, 0.01);
  EXPECT_NEAR(*rate.b, 100.4, 0.01);
  ASSERT_TRUE(rate.shift);
  EXPECT_FALSE(rate.shift->may_be_noise());
  EXPECT_LT(rate.shift->upper_ratio, -0.79);
}

TEST(compare_sides, shows_what_programs_tell_in_runs_and_sets_a_run_set_beside_them) {
  const auto side_telling = [](const std::string& figures) {
    std::string text = recorded_text("qwen3-0.6b.decode-b1.nsys");
    text.insert(text.find('{') + 1, "\"program_figures\": [" + figures + "],\n ");
    return side_of_profile(text, "p.json", "p");
  };
  const compared_side a = side_telling(
      R"({"name": "rate", "unit": "tokens/s", "median": 400.0}, {"name": "pool", "unit": "MB", "median": 7.0},)"
      R"({"name": "load", "unit": "ms", "median": 3.0}, {"name": "none", "unit": "ms", "median": null,)"
      R"( "not_measured": {"median": "the program told none"}})");
  const compared_side b = side_telling(
      R"({"name": "rate", "unit": "tokens/s", "median": 440.0}, {"name": "load", "unit": "s", "median": 3.0})");
  const profile_comparison both = compare_sides(a, b);
  const compared_figure& rate = figure(both.figures, "/program_figures/rate/median");
  EXPECT_EQ(*rate.a, 400);
  EXPECT_EQ(*rate.b, 440);
  EXPECT_FALSE(rate.shift) << "a profile keeps no single values";
  const compared_figure& pool = figure(both.figures, "/program_figures/pool/median");
  EXPECT_EQ(pool.what.shown.which, analysis::better::neither);
  EXPECT_EQ(pool.what.shown.label, "pool");
  EXPECT_EQ(pool.b.reason(), "the program does not tell it");
  EXPECT_EQ(
      std::count_if(both.figures.begin(), both.figures.end(),
                    [](const compared_figure& one) { return one.what.shown.label.starts_with("load"); }),
      2)
      << "ms are not set beside s";

  const profile_comparison mixed = compare_sides(side_of_run_set(run_set_with_rate(500), "a"), b);
  EXPECT_EQ(*figure(mixed.figures, "/program_figures/rate/median").b, 440);
}

TEST(compare_sides, says_whose_peaks_shares_are_of) {
  const auto label_of = [](std::optional<bool> a, std::optional<bool> b) {
    compared_side left = side_with({});
    compared_side right = left;
    left.are_peaks_configured = a;
    right.are_peaks_configured = b;
    const profile_comparison both = compare_sides(left, right);
    const std::string label =
        figure(stage(both, "decode_all").figures, "/utilisation/mfu_over_vendor_ratio").what.shown.label;
    EXPECT_EQ(figure(both.figures, "/throughput/utilisation/mfu_over_vendor_ratio").what.shown.label,
              "all stages: " + label);
    return label;
  };
  EXPECT_EQ(label_of(false, false), "MFU, vendor's peak");
  EXPECT_EQ(label_of(true, true), "MFU, configured peak");
  EXPECT_EQ(label_of(true, std::nullopt), "MFU, configured peak");
  EXPECT_EQ(label_of(false, true), "MFU, vendor's peak of A, configured peak of B");
}

TEST(side_of_run_set, of_a_program_that_does_not_time_itself_has_times_too) {
  gate::run_set runs;
  runs.identity.pair = "server.smoke";
  for (const std::int64_t whole_ns : {999, 100, 110, 120}) {
    gate::process_record process;
    process.samples_ns["process"] = {whole_ns};
    runs.processes.push_back(process);
  }
  const compared_side side = side_of_run_set(runs, "baseline.json");
  ASSERT_EQ(side.stages.size(), 1U);
  EXPECT_EQ(*side.stages[0].figures.at("/bare/median_ns"), 110);
}

}  // namespace
}  // namespace profgate::compare
