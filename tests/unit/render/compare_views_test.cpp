#include "render/compare_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "analysis/profile.h"
#include "core/escape.h"
#include "golden_cases.h"
#include "golden_files.h"
#include "judgement_cases.h"

namespace profgate::render {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

compare::compared_side side_at(const fs::path& file) {
  return compare::side_of_profile(read(file), file.string(), file.stem().string());
}

compare::compared_side recorded(const std::string& name) {
  return side_at(fs::path(PROFGATE_TEST_DATA) / "profiles" / "h200" / (name + ".json"));
}

void expect_golden(const std::string& name, const compare::profile_comparison& comparison) {
  const fs::path folder = fs::path(PROFGATE_GOLDEN_DIR) / "compare" / name;
  compare_or_update(folder / "compare.json", compare_json(comparison));
  compare_or_update(folder / "compare.md", compare_markdown(comparison, PROFGATE_TEMPLATES_DIR));
  compare_or_update(folder / "compare.html", compare_html(comparison, PROFGATE_TEMPLATES_DIR));
}

TEST(compare_golden, of_two_models_on_a_gpu) {
  expect_golden("two_models", compare::compare_sides(recorded("qwen3-0.6b.decode-b1.nsys"),
                                                     recorded("llama-3.1-8b.decode-b1")));
}

/// Analysed here, not read from its golden file, which the same update may be about to write.
compare::compared_side golden_side(const std::string& name) {
  for (const golden_case& entry : golden_cases())
    if (entry.name == name)
      return compare::side_of_profile(analysis::profile_json(entry.facts), name + "/profile.json", "profile");
  throw std::out_of_range("no golden case is called " + name);
}

TEST(compare_golden, of_a_gpu_and_a_cpu) {
  expect_golden("gpu_and_cpu",
                compare::compare_sides(golden_side("gpu_kernels"), golden_side("cpu_embedded")));
}

TEST(compare_html, needs_nothing_from_elsewhere) {
  const std::string html = compare_html(compare::compare_sides(recorded("qwen3-0.6b.decode-b1.nsys"),
                                                               recorded("qwen3-0.6b.decode-b1.embedded")),
                                        PROFGATE_TEMPLATES_DIR);
  EXPECT_THAT(html, AllOf(Not(HasSubstr("src=")), Not(HasSubstr("href=")), Not(HasSubstr("<script")),
                          Not(HasSubstr("url(")), Not(HasSubstr("@import"))));
  EXPECT_THAT(html, HasSubstr("<svg"));
}

TEST(compare_views, show_hostile_names_as_text) {
  compare::compared_side a = recorded("qwen3-0.6b.decode-b1.nsys");
  a.name = "<script>alert(1)</script>";
  a.facts["<img src=x>"] = "\"><b>\xff";
  a.stages[1].kernels[0].name = hostile_name;
  a.stages[1].operators[0].name = "<i>|op";
  const compare::profile_comparison both =
      compare::compare_sides(a, recorded("qwen3-0.6b.decode-b1.embedded"));
  const std::string html = compare_html(both, PROFGATE_TEMPLATES_DIR);
  const std::string markdown = compare_markdown(both, PROFGATE_TEMPLATES_DIR);
  for (const std::string& text : {html, markdown, compare_json(both)})
    EXPECT_EQ(core::to_valid_utf8(text), text);
  for (const std::string& text : {html, markdown})
    EXPECT_THAT(text, AllOf(Not(HasSubstr("<script>")), Not(HasSubstr("<img")), Not(HasSubstr("<i>|op")),
                            Not(HasSubstr("\x1b")), Not(HasSubstr("<CTest"))));
}

TEST(compare_views, put_a_label_on_what_no_gate_would_compare) {
  compare::compared_side other = recorded("qwen3-0.6b.decode-b1.nsys");
  other.device_name = "NVIDIA H100";
  const compare::profile_comparison both =
      compare::compare_sides(recorded("qwen3-0.6b.decode-b1.nsys"), other);
  EXPECT_THAT(compare_markdown(both, PROFGATE_TEMPLATES_DIR),
              HasSubstr("**Two devices: nothing below is a gate's verdict.**"));
  EXPECT_THAT(compare_html(both, PROFGATE_TEMPLATES_DIR), HasSubstr("Two devices: nothing here"));
  EXPECT_THAT(compare_json(both), HasSubstr("\"is_cross_device\": true"));
}

TEST(compare_views, show_what_changed_first) {
  const std::string text = compare_markdown(
      compare::compare_sides(recorded("qwen3-0.6b.decode-b1.nsys"), recorded("llama-3.1-8b.decode-b1")),
      PROFGATE_TEMPLATES_DIR);
  EXPECT_LT(text.find("decode\\_all: 577.3 µs → 4.054 ms per token, ×7.0. Most of it: gemv +3.42 ms."),
            text.find("| device"));
}

/// A stage of 1 ms and of `b_ns`; kernels and idle time differ by as much as is said.
compare::profile_comparison of_parts(double b_ns, const std::map<std::string, double>& kernel_deltas_ns,
                                     const std::map<std::string, double>& idle_deltas_ns) {
  const auto side = [](double time_ns, const std::map<std::string, double>& kernels_ns,
                       const std::map<std::string, double>& idle_ns) {
    compare::compared_side one;
    compare::side_stage stage;
    stage.name = "prefill";
    stage.figures["/bare/median_ns"] = time_ns;
    for (int i = 0; i < 10; ++i) stage.samples_ns.push_back(time_ns);
    for (const auto& [name, delta_ns] : kernels_ns) {
      compare::side_kernel kernel;
      kernel.name = name;
      kernel.launches = 1;
      kernel.total_ns = 1e5 + delta_ns;
      kernel.exclusive_ns = kernel.total_ns;
      stage.kernels.push_back(kernel);
    }
    for (const auto& [key, delta_ns] : idle_ns) stage.figures[key] = 1e5 + delta_ns;
    one.stages = {stage};
    return one;
  };
  const auto zeros = [](std::map<std::string, double> deltas) {
    for (auto& [name, delta_ns] : deltas) delta_ns = 0;
    return deltas;
  };
  return compare::compare_sides(side(1e6, zeros(kernel_deltas_ns), zeros(idle_deltas_ns)),
                                side(b_ns, kernel_deltas_ns, idle_deltas_ns));
}

TEST(compare_views, name_kernels_and_idle_time_that_changed_as_the_stage_did) {
  const compare::profile_comparison both =
      of_parts(0.9e6, {{"attention", 24e3}, {"gemm", -16e3}, {"norm", -2e3}},
               {{"/idle/launch_ns", -79e3}, {"/idle/copy_ns", -17e3}, {"/idle/other_ns", -9e3}});
  const std::string words =
      "Most of it: idle (waits for a launch) −79.0 µs, idle (waits for a copy) −17.0 µs, ";
  EXPECT_THAT(compare_markdown(both, PROFGATE_TEMPLATES_DIR),
              HasSubstr("900.0 µs, −10.0 %. " + words + "gemm −16.0 µs.\n"));
  EXPECT_THAT(compare_html(both, PROFGATE_TEMPLATES_DIR),
              HasSubstr(words + "<span class=\"kernel\">gemm</span> −16.0 µs.</li>"));
}

TEST(compare_views, name_what_a_kernel_came_in_place_of) {
  compare::profile_comparison both = of_parts(1.1e6, {{"tiled<128>", 51e3}}, {});
  both.stages[0].kernels[0].a_name = "causal";
  both.stages[0].kernels[0].match = gate::matched_by::launch_order;
  EXPECT_THAT(compare_markdown(both, PROFGATE_TEMPLATES_DIR),
              HasSubstr("Most of it: tiled&lt;128&gt; in place of causal +51.0 µs.\n"));
  EXPECT_THAT(compare_html(both, PROFGATE_TEMPLATES_DIR), HasSubstr(">in place of causal, "));
  both.stages[0].kernels[0].a_name = "void tiled<(int)128>(float*)";
  EXPECT_THAT(compare_markdown(both, PROFGATE_TEMPLATES_DIR), Not(HasSubstr("in place of")))
      << "two tools spell it in two ways";
}

TEST(compare_views, call_the_same_run_the_same) {
  const compare::profile_comparison both =
      compare::compare_sides(recorded("qwen3-0.6b.decode-b1.nsys"), recorded("qwen3-0.6b.decode-b1.nsys"));
  for (const std::string& text :
       {compare_markdown(both, PROFGATE_TEMPLATES_DIR), compare_html(both, PROFGATE_TEMPLATES_DIR)})
    EXPECT_THAT(text, AllOf(HasSubstr("A and B are the same run."), HasSubstr("It is the same run."),
                            Not(HasSubstr("this may be noise")), Not(HasSubstr("Single measurements"))));
  EXPECT_THAT(compare_json(both), HasSubstr("\"is_same_run\": true"));
  compare::compared_side other = recorded("qwen3-0.6b.decode-b1.nsys");
  other.stages[1].samples_ns[0] += 1;
  EXPECT_FALSE(compare::compare_sides(recorded("qwen3-0.6b.decode-b1.nsys"), other).is_same_run);
}

TEST(compare_views, draw_the_waterfall_of_a_narrow_page_below_its_labels) {
  EXPECT_THAT(
      compare_html(of_parts(1.1e6, {{"gemm", 51e3}}, {}), PROFGATE_TEMPLATES_DIR),
      AllOf(HasSubstr("<div class=\"scroll fall\""), HasSubstr("aspect-ratio: 490 / var(--wf-height)")));
}

TEST(compare_views, name_what_the_traces_do_not_explain_apart_from_idle_time) {
  const compare::profile_comparison both =
      of_parts(1.4e6, {{"gemm", 30e3}}, {{"/idle/other_ns", -10e3}, {"/idle/unexplained_ns", 380e3}});
  EXPECT_THAT(
      compare_markdown(both, PROFGATE_TEMPLATES_DIR),
      HasSubstr("Most of it: kernels slower than in the trace (clocks, spread) +380 µs, gemm +30.0 µs.\n"));
}

TEST(compare_views, claim_most_of_a_change_for_no_less_than_half_of_it) {
  const auto text = [](const std::map<std::string, double>& kernels) {
    return compare_markdown(of_parts(1.1e6, kernels, {}), PROFGATE_TEMPLATES_DIR);
  };
  EXPECT_THAT(text({{"gemm", 51e3}}), HasSubstr("Most of it: gemm +51.0 µs.\n"));
  EXPECT_THAT(text({{"gemm", 30e3}, {"norm", 19e3}}),
              HasSubstr("No single part explains it; the largest: gemm +30.0 µs, norm +19.0 µs.\n"));
  EXPECT_THAT(text({{"gemm", 4e3}, {"norm", -90e3}}), HasSubstr("No single part explains it.\n"));
  EXPECT_THAT(text({{"gemm", 300e3}, {"norm", -120e3}, {"rope", -80e3}}),
              HasSubstr("Most of it: gemm +300 µs; others changed the other way, −200 µs together.\n"));
  EXPECT_THAT(text({}), AllOf(Not(HasSubstr("explains")), Not(HasSubstr("Most of it"))));
}

/// Times per token in both, though one decoded 16 tokens in the same time as the other its 64.
compare::profile_comparison of_other_lengths() {
  compare::compared_side other = recorded("qwen3-0.6b.decode-b1.nsys");
  other.stages[1].tokens = 16;
  return compare::compare_sides(recorded("qwen3-0.6b.decode-b1.nsys"), other);
}

TEST(compare_views, divide_by_the_tokens_of_each_side) {
  const compare::profile_comparison both = of_other_lengths();
  const std::string text = compare_markdown(both, PROFGATE_TEMPLATES_DIR);
  EXPECT_THAT(text, HasSubstr("## decode\\_all per token"));
  EXPECT_THAT(text, HasSubstr("Tokens that it decodes: 64 in A and 16 in B."));
  EXPECT_THAT(text, HasSubstr("decode\\_all: 577.3 µs → 2.309 ms per token, ×4.0"));
  EXPECT_THAT(compare_json(both), HasSubstr("\"b_repetition_units_count\": 16.0"));
}

TEST(compare_views, say_once_why_tpot_is_not_the_decode_per_token) {
  const auto side = [](double tpot_ns) {
    compare::compared_side one = recorded("qwen3-0.6b.decode-b1.nsys");
    one.stages[1].figures["/bare/median_ns"] = 64 * 490.1e3;
    one.figures["/throughput/tpot/p50_ns"] = tpot_ns;
    return one;
  };
  const auto count_in = [](const std::string& text) {
    const std::string words = "TPOT is the median of single tokens; ";
    const std::size_t first = text.find(words);
    return first == std::string::npos ? 0 : text.find(words, first + 1) == std::string::npos ? 1 : 2;
  };
  const compare::profile_comparison apart = compare::compare_sides(side(489.9e3), side(490.1e3));
  EXPECT_EQ(count_in(compare_markdown(apart, PROFGATE_TEMPLATES_DIR)), 1);
  EXPECT_EQ(count_in(compare_html(apart, PROFGATE_TEMPLATES_DIR)), 1);
  const compare::profile_comparison alike = compare::compare_sides(side(490.1e3), side(490.1e3));
  EXPECT_EQ(count_in(compare_markdown(alike, PROFGATE_TEMPLATES_DIR)), 0);
  EXPECT_EQ(count_in(compare_html(alike, PROFGATE_TEMPLATES_DIR)), 0);
}

TEST(compare_views, count_no_calls_that_a_run_set_does_not_tell) {
  compare::compared_side side = recorded("qwen3-0.6b.decode-b1.nsys");
  for (compare::side_stage& stage : side.stages)
    stage.operators = {{"mlp", std::nullopt, 2e6}, {"attn", 640, 1e6}};
  const compare::profile_comparison both = compare::compare_sides(side, side);
  const std::string text = compare_markdown(both, PROFGATE_TEMPLATES_DIR);
  EXPECT_THAT(text, HasSubstr("A run set does not tell how often they were called.\n\n| operator"));
  EXPECT_THAT(text, HasSubstr("| mlp      |       – |       – |"));
  EXPECT_THAT(text, HasSubstr("Times, energies, launches and calls are divided by them."));
  EXPECT_THAT(compare_json(both), HasSubstr("the run set does not tell how often it was called"));
}

TEST(compare_views, tell_large_ratios_as_factors_and_divisors) {
  compare::compared_side less = recorded("qwen3-0.6b.decode-b1.nsys");
  const compare::compared_side more = less;
  auto& bytes = less.figures.at("/throughput/memory_peak_bytes");
  bytes = *bytes / 12345;
  EXPECT_THAT(compare_markdown(compare::compare_sides(more, less), PROFGATE_TEMPLATES_DIR),
              AllOf(HasSubstr("÷12345 |"), Not(HasSubstr("×"))));
  EXPECT_THAT(compare_markdown(compare::compare_sides(less, more), PROFGATE_TEMPLATES_DIR),
              HasSubstr("×12345 |"));
}

TEST(compare_views, colour_differences_of_the_same_work_only) {
  compare::compared_side slower = recorded("qwen3-0.6b.decode-b1.nsys");
  for (auto& [key, value] : slower.stages[1].figures)
    if (value) value = *value * 1.2;
  for (compare::side_kernel& kernel : slower.stages[1].kernels)
    kernel.exclusive_ns = *kernel.exclusive_ns * 1.2;
  for (double& sample_ns : slower.stages[1].samples_ns) sample_ns *= 1.2;
  const auto html = [](const compare::compared_side& b) {
    return compare_html(compare::compare_sides(recorded("qwen3-0.6b.decode-b1.nsys"), b),
                        PROFGATE_TEMPLATES_DIR);
  };
  EXPECT_THAT(html(slower), AllOf(HasSubstr("class=\"n worse\""), HasSubstr("rect class=\"worse\"")));
  for (const auto& [fact, value] : {std::pair{"input.batch", "16"}, {"model.dtype", "float32"}}) {
    compare::compared_side other = slower;
    other.facts[fact] = value;
    EXPECT_THAT(html(other),
                AllOf(Not(HasSubstr("class=\"n worse")), Not(HasSubstr("class=\"n better")),
                      Not(HasSubstr("rect class=\"worse")), HasSubstr("The work is not the same")));
  }
}

TEST(compare_views, name_no_cause_and_colour_no_picture_of_what_may_be_noise) {
  compare::compared_side b = recorded("qwen3-0.6b.decode-b1.nsys");
  for (compare::side_kernel& kernel : b.stages[1].kernels) kernel.exclusive_ns = *kernel.exclusive_ns * 1.2;
  const compare::profile_comparison both = compare::compare_sides(recorded("qwen3-0.6b.decode-b1.nsys"), b);
  EXPECT_THAT(compare_markdown(both, PROFGATE_TEMPLATES_DIR),
              AllOf(HasSubstr("this may be noise."), Not(HasSubstr("Most of it"))));
  const compare_files files = compare_documents(both, PROFGATE_TEMPLATES_DIR);
  EXPECT_THAT(files[1].second,
              AllOf(HasSubstr("rect class=\"plain\""), Not(HasSubstr("rect class=\"worse\""))));
}

TEST(compare_views, say_the_true_reason_why_a_change_may_be_noise) {
  const compare::compared_side a = recorded("qwen3-0.6b.decode-b1.nsys");
  const auto text = [&](double factor) {
    compare::compared_side b = a;
    for (double& sample_ns : b.stages[1].samples_ns) sample_ns *= factor;
    return compare_markdown(compare::compare_sides(a, b), PROFGATE_TEMPLATES_DIR);
  };
  EXPECT_THAT(text(1.0), Not(HasSubstr("Two starts of the same program")));
  EXPECT_THAT(text(0.993),
              AllOf(::testing::ContainsRegex("Two starts of the same program differ by 1 %, and it may be no "
                                             "more \\(90 % CI −0[^)]+ to −0[^)]+ %\\): this may be noise."),
                    HasSubstr("Its median may as well be the same")))
      << "of decode_all, and of prefill";
  EXPECT_THAT(text(0.9), Not(HasSubstr("Two starts of the same program")));
}

/// One rule for cards, figures, kernels and operators: that of the stage's repetitions.
TEST(compare_views, colour_nothing_of_a_stage_that_may_be_noise_but_what_is_exact) {
  const compare::compared_side a = recorded("qwen3-0.6b.decode-b1.nsys");
  compare::compared_side b = a;
  for (auto& [key, value] : b.figures)
    if (value && key.find("_bytes") == std::string::npos) value = *value * 1.2;
  for (compare::side_stage& stage : b.stages) {
    for (auto& [key, value] : stage.figures)
      if (value && !key.ends_with("_count")) value = *value * 1.2;
    for (compare::side_kernel& kernel : stage.kernels) kernel.exclusive_ns = *kernel.exclusive_ns * 1.2;
    for (compare::side_operator& op : stage.operators) op.time_ns *= 1.2;
  }
  const auto html = [&] { return compare_html(compare::compare_sides(a, b), PROFGATE_TEMPLATES_DIR); };
  const auto is_coloured = ::testing::ContainsRegex("class=\"(n )?(worse|better)\"");
  EXPECT_THAT(html(), Not(is_coloured)) << "the repetitions are the same";
  for (compare::side_stage& stage : b.stages) stage.samples_ns.resize(1);
  EXPECT_THAT(html(), Not(is_coloured)) << "nobody knows how far they spread";
  EXPECT_THAT(html(), HasSubstr("Too few repetitions to tell it from noise."));
  for (std::size_t i = 0; i < b.stages.size(); ++i) {
    b.stages[i].samples_ns = a.stages[i].samples_ns;
    for (double& sample_ns : b.stages[i].samples_ns) sample_ns *= 1.2;
  }
  EXPECT_THAT(html(), is_coloured);
  b = a;
  b.figures.at("/throughput/memory_peak_bytes") = *a.figures.at("/throughput/memory_peak_bytes") * 1.2;
  EXPECT_THAT(html(), HasSubstr("<span class=\"worse\">+20.0 %</span>")) << "peak memory is no time";
}

TEST(compare_views, name_what_only_one_side_has_first) {
  const compare::compared_side a = recorded("qwen3-0.6b.decode-b1.nsys");
  compare::compared_side b = a;
  compare::side_operator planted = b.stages[1].operators[0];
  planted.name = "<planted>";
  planted.time_ns = 64 * 23e3;
  b.stages[1].operators.push_back(planted);
  compare::side_kernel inside = b.stages[1].kernels[0];
  inside.name = "spin_kernel";
  inside.path = planted.name;
  inside.category = "other";
  b.stages[1].kernels.push_back(inside);
  EXPECT_THAT(compare_markdown(compare::compare_sides(a, b), PROFGATE_TEMPLATES_DIR),
              HasSubstr("per token, 0.0 %. **new: &lt;planted&gt; (+23.0 µs).**"))
      << "its kernel goes without saying";
  EXPECT_THAT(compare_html(compare::compare_sides(b, a), PROFGATE_TEMPLATES_DIR),
              HasSubstr("<b>gone: &lt;planted&gt; (−23.0 µs).</b>"));
}

TEST(compare_views, colour_no_time_that_may_be_noise) {
  compare::compared_side b = recorded("qwen3-0.6b.decode-b1.nsys");
  analysis::measured<double>& median_ns = b.stages[1].figures.at("/bare/median_ns");
  median_ns = *median_ns * 1.2;
  const auto html = [&] {
    return compare_html(compare::compare_sides(recorded("qwen3-0.6b.decode-b1.nsys"), b),
                        PROFGATE_TEMPLATES_DIR);
  };
  EXPECT_THAT(html(), Not(HasSubstr("class=\"n worse\""))) << "the repetitions are the same";
  for (double& sample_ns : b.stages[1].samples_ns) sample_ns *= 1.2;
  EXPECT_THAT(html(), HasSubstr("class=\"n worse\""));
}

TEST(compare_views, show_what_programs_tell_in_its_unit_among_what_changed) {
  const auto telling = [](double rate) {
    compare::compared_side side;
    side.source = "run set";
    side.told = {{"rate", "items/s", rate, {rate, 1.01 * rate, 1.02 * rate, 0.99 * rate}}};
    return side;
  };
  const compare::profile_comparison slower = compare::compare_sides(telling(500), telling(400));
  const std::string row = "| rate (higher is better) | 500 items/s | 400 items/s | ";
  EXPECT_THAT(compare_markdown(slower, PROFGATE_TEMPLATES_DIR),
              AllOf(HasSubstr(row + "−20.0 % |"), HasSubstr(row + "−100 items/s |  −20.0 % |")));
  EXPECT_THAT(compare_json(slower),
              AllOf(HasSubstr("\"unit\": \"items/s\""), HasSubstr("\"better\": \"higher\"")));
  EXPECT_THAT(compare_html(slower, PROFGATE_TEMPLATES_DIR), HasSubstr("class=\"n worse\""));
  const compare::profile_comparison faster = compare::compare_sides(telling(400), telling(500));
  EXPECT_THAT(compare_html(faster, PROFGATE_TEMPLATES_DIR), HasSubstr("class=\"n better\""));
  const compare::profile_comparison noise = compare::compare_sides(telling(500), telling(501));
  EXPECT_THAT(compare_html(noise, PROFGATE_TEMPLATES_DIR), Not(HasSubstr("class=\"n better\"")));
}

TEST(compare_views, show_energies_with_their_uncertainty_and_say_where_it_covers_the_difference) {
  compare::compared_side a = recorded("llama-3.1-8b.decode-b1");
  compare::compared_side b = a;
  const auto put = [](compare::compared_side& side, double joules, double uncertainty_ratio) {
    side.figures["/throughput/energy_per_decoded_token_j"] = joules;
    side.figures["/throughput/energy_uncertainty_ratio"] = uncertainty_ratio;
    side.stages[1].figures["/telemetry/energy_mean_j"] = 64 * joules;
    side.stages[1].figures["/telemetry/energy_uncertainty_ratio"] = uncertainty_ratio;
  };
  for (double& sample_ns : b.stages[1].samples_ns) sample_ns *= 0.8;
  put(a, 0.26, 0.05);
  put(b, 0.25, 0.04);
  compare::profile_comparison both = compare::compare_sides(a, b);
  EXPECT_THAT(
      compare_markdown(both, PROFGATE_TEMPLATES_DIR),
      AllOf(::testing::ContainsRegex("\\| energy per token +\\| +260 ± 13 mJ \\| +250 ± 10 mJ \\| +−3.8 "
                                     "%, within the uncertainty \\|\n"),
            ::testing::ContainsRegex("\\| energy +\\| +260 ± 13 mJ \\| +250 ± 10 mJ \\| +−10.0 mJ, "
                                     "within the uncertainty \\| +−3.8 % \\|\n")))
      << "of the run, and of decode_all by the token";
  EXPECT_THAT(compare_html(both, PROFGATE_TEMPLATES_DIR),
              HasSubstr("plain\">−3.8 %, within the uncertainty<"));
  EXPECT_THAT(compare_json(both), AllOf(HasSubstr("\"b_uncertainty_ratio\": 0.04"),
                                        HasSubstr("\"is_within_uncertainty\": true")));
  put(b, 0.20, 0.05);
  both = compare::compare_sides(a, b);
  EXPECT_THAT(compare_markdown(both, PROFGATE_TEMPLATES_DIR), Not(HasSubstr("within the uncertainty")));
  EXPECT_THAT(compare_html(both, PROFGATE_TEMPLATES_DIR), HasSubstr("better\">−23.1 %<"));
}

TEST(compare_views, tell_shares_in_points_and_degrees_without_a_ratio) {
  const std::string text = compare_markdown(
      compare::compare_sides(recorded("qwen3-0.6b.decode-b1.nsys"), recorded("llama-3.1-8b.decode-b1")),
      PROFGATE_TEMPLATES_DIR);
  EXPECT_THAT(
      text, ::testing::ContainsRegex(
                "decode\\\\_all: MBU, measured ceiling \\| +[0-9.]+ % \\| +[0-9.]+ % \\| \\+[0-9.]+ points"))
      << "among what changed";
  EXPECT_THAT(text, ::testing::ContainsRegex("temperature, median[^\n]* \\+9 \\| +– \\|"));
  EXPECT_THAT(text, HasSubstr("| category ")) << "and no columns that hold nothing";
}

TEST(compare_views, name_the_stage_whose_share_of_a_ceiling_stands_among_what_changed) {
  compare::compared_side a = recorded("llama-3.1-8b.decode-b1");
  a.stages[0].figures["/utilisation/mfu_over_measured_ratio"] = 0.892;
  a.stages[1].figures["/utilisation/mbu_over_measured_ratio"] = 0.905;
  a.figures["/throughput/utilisation/mbu_over_measured_ratio"] = 0.787;
  compare::compared_side b = a;
  b.figures["/throughput/utilisation/mbu_over_measured_ratio"] = 0.777;
  const auto what_changed = [](const compare::compared_side& one, const compare::compared_side& other) {
    const std::string text = compare_markdown(compare::compare_sides(one, other), PROFGATE_TEMPLATES_DIR);
    return text.substr(0, text.find("## What is different"));
  };
  EXPECT_THAT(what_changed(a, b),
              AllOf(::testing::ContainsRegex("\\| prefill: MFU, measured ceiling +\\| +89.2 % "),
                    ::testing::ContainsRegex("\\| decode\\\\_all: MBU, measured ceiling +\\| +90.5 % "),
                    Not(HasSubstr("78.7 %"))));
  EXPECT_THAT(compare_markdown(compare::compare_sides(a, b), PROFGATE_TEMPLATES_DIR),
              ::testing::ContainsRegex("\\| all stages: MBU, measured ceiling +\\| +78.7 % \\| +77.7 % "));
  for (compare::compared_side* side : {&a, &b})
    for (compare::side_stage& stage : side->stages) stage.name = "step " + stage.name;
  EXPECT_THAT(what_changed(a, b), HasSubstr("| all stages: MBU, measured ceiling |"));
}

TEST(compare_views, call_a_kernel_that_two_tools_spell_otherwise_by_its_short_name) {
  const std::string text = compare_markdown(compare::compare_sides(recorded("qwen3-0.6b.decode-b1.nsys"),
                                                                   recorded("qwen3-0.6b.decode-b1.embedded")),
                                            PROFGATE_TEMPLATES_DIR);
  EXPECT_THAT(text, AllOf(HasSubstr("| split\\_attention&lt;\\_\\_nv\\_bfloat16, 128, 2, 8&gt; "),
                          Not(HasSubstr(", in A "))));
}

TEST(compare_views, list_whole_names_and_say_how_many_kernels_are_left_out) {
  compare::compared_side a = recorded("qwen3-0.6b.decode-b1.nsys");
  for (int i = 0; i < 30; ++i) {
    compare::side_kernel more = a.stages[1].kernels[0];
    more.name = "void ns::added_" + std::to_string(i) + "<int>(ns::args)";
    a.stages[1].kernels.push_back(more);
  }
  const std::string text = compare_markdown(compare::compare_sides(a, recorded("qwen3-0.6b.decode-b1.nsys")),
                                            PROFGATE_TEMPLATES_DIR);
  EXPECT_THAT(text, AllOf(HasSubstr("The 20 with the largest differences; compare.json has all"),
                          HasSubstr("| added\\_0&lt;int&gt; "),
                          HasSubstr("| void ns::added\\_0&lt;int&gt;(ns::args) ")));
}

TEST(compare_views, call_files_by_where_their_paths_differ) {
  compare::compared_side a = recorded("qwen3-0.6b.decode-b1.nsys");
  compare::compared_side b = a;
  a.name = "/runs/of/mine/first/profile.json";
  b.name = "/runs/of/mine/second/profile.json";
  const compare::profile_comparison both = compare::compare_sides(a, b);
  EXPECT_THAT(compare_markdown(both, PROFGATE_TEMPLATES_DIR),
              ::testing::StartsWith("# first/profile.json and second/profile.json\n"));
  EXPECT_THAT(compare_html(both, PROFGATE_TEMPLATES_DIR),
              HasSubstr("<dd>/runs/of/mine/first/profile.json</dd>"));
}

TEST(compare_html, gives_facts_the_whole_width_of_a_narrow_screen) {
  const std::string html = compare_html(
      compare::compare_sides(recorded("qwen3-0.6b.decode-b1.nsys"), recorded("llama-3.1-8b.decode-b1")),
      PROFGATE_TEMPLATES_DIR);
  const std::string narrow = html.substr(html.find("@media (max-width: 620px) {\n  .card"));
  EXPECT_THAT(narrow, HasSubstr("\n  .facts, .facts tbody, .facts tr, .facts td { display: block; }"));
  for (const char* table : {"facts that differ", "facts that are the same"})
    EXPECT_THAT(html, HasSubstr(std::string("aria-label=\"") + table + "\"><table class=\"facts\">"));
}

TEST(compare_views, show_imbalance_of_experts_where_both_have_it) {
  compare::compared_side a = recorded("qwen3-0.6b.decode-b1.nsys");
  compare::compared_side b = a;
  a.stages[0].figures["/experts/worst_imbalance_ratio"] = 1.5;
  EXPECT_THAT(compare_markdown(compare::compare_sides(a, b), PROFGATE_TEMPLATES_DIR),
              Not(HasSubstr("experts:")));
  b.stages[0].figures["/experts/worst_imbalance_ratio"] = 3.0;
  EXPECT_THAT(compare_markdown(compare::compare_sides(a, b), PROFGATE_TEMPLATES_DIR),
              HasSubstr("| experts: fullest over mean, worst layer |"));
}

TEST(compare_documents, hold_the_pictures_that_the_markdown_shows) {
  const compare_files files = compare_documents(of_other_lengths(), PROFGATE_TEMPLATES_DIR);
  ASSERT_EQ(files.size(), 5u);
  EXPECT_EQ(files[1].first, "compare-2.svg");
  EXPECT_THAT(files[1].second,
              AllOf(HasSubstr("<svg xmlns="), HasSubstr("Kernel time of decode_all per token")));
  EXPECT_EQ(files[2].first, "compare.md");
  EXPECT_THAT(files[2].second, HasSubstr("](compare-2.svg)"));
}

TEST(compare_views, fold_what_is_the_same_and_explain_what_is_empty) {
  const std::string text = compare_markdown(
      compare::compare_sides(recorded("qwen3-0.6b.decode-b1.nsys"), recorded("llama-3.1-8b.decode-b1")),
      PROFGATE_TEMPLATES_DIR);
  EXPECT_THAT(text, HasSubstr("Measured only in B: energy per token, because one run of the stage takes"));
  EXPECT_THAT(text, HasSubstr("- The same in both: "));
  EXPECT_THAT(text, Not(HasSubstr("| gpu.0.name ")));  // in the list of what is the same
}

}  // namespace
}  // namespace profgate::render
