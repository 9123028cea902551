#include "render/gate_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "../gate/test_categories.h"
#include "core/escape.h"
#include "difference_words.h"
#include "drawing.h"
#include "gate/attribution.h"
#include "gate/since_anchor.h"
#include "golden_files.h"
#include "judgement_cases.h"
#include "parsers/timeline.h"
#include "render/verdict_json.h"

namespace profgate::render {

/// Found by GoogleTest when it prints a failing case.
std::ostream& operator<<(std::ostream& out, const judgement_case& entry) {
  return out << entry.name;
}

namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::map<std::string, std::string> rendered(const gate::judgement& whole) {
  std::map<std::string, std::string> files;
  render_gate(whole, PROFGATE_TEMPLATES_DIR, "",
              [&](const fs::path& path, std::string_view text) { files[path.string()] = text; });
  return files;
}

class gate_golden : public ::testing::TestWithParam<judgement_case> {};

TEST_P(gate_golden, everything_shown_is_byte_for_byte_the_same) {
  const fs::path folder = fs::path(PROFGATE_GOLDEN_DIR) / "gate" / GetParam().name;
  for (const auto& [name, text] : rendered(GetParam().whole)) compare_or_update(folder / name, text);
  compare_or_update(folder / "lines.txt",
                    ctest_measurements(GetParam().whole) + "\n" + joined(gate_lines(GetParam().whole)));
}

INSTANTIATE_TEST_SUITE_P(cases, gate_golden, ::testing::ValuesIn(judgement_cases()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST(gate_lines, say_verdict_size_causes_and_what_to_run) {
  EXPECT_THAT(
      gate_lines(made_up_judgement("regressed")),
      ElementsAre(
          "llama-3.1-8b.decode-b1: regressed: decode_all (16 tokens) is 5.1 % slower (90 % CI 4.8 to 5.4 %; "
          "10 + 10 runs): 4.064 → 4.270 ms a token, 65.02 → 68.32 ms in all",
          "  1. +3.20 ms: planted_delay_kernel in planted is new: 16 launches, 200 µs each",
          StartsWith("  2. +310 µs: gemv<__nv_bfloat16, 8, false> in mlp.gate_up is slower"),
          StartsWith("  3. +150 µs: longer idle: waiting for a launch"),
          StartsWith("  elsewhere −349 µs, most of it −210 µs: nvjet"), "  no counters: ncu was not found",
          "  new kernel: planted_delay_kernel", "  launches a token: 143 → 144",
          StartsWith("  prefill: unchanged: 0.1 % slower"),
          "  compared: build/dev against main (1a2b3c4), run in turns on NVIDIA H200",
          StartsWith("  warning: the driver"), StartsWith("  2 processes were repeated"),
          "  look deeper: profgate compare tmp/stage2/a tmp/stage2/b"));
}

TEST(gate_lines, say_at_once_that_it_is_not_the_code) {
  gate::judgement whole = made_up_judgement("regressed");
  whole.is_not_the_code = true;
  whole.circumstances = {"the median clock was 1980 MHz in the baseline and is 1700 MHz now", "pip torch"};
  EXPECT_THAT(
      gate_lines(whole).front(),
      HasSubstr("; not the code, of which the traces show no change: the median clock was 1980 MHz in the "
                "baseline and is 1700 MHz now and 1 more"));
}

TEST(gate_lines, say_at_once_what_else_than_the_code_differs) {
  gate::judgement whole = made_up_judgement("regressed");
  whole.packages = {{"pip a", "1", "2"}, {"pip b", "", "3"}, {"pip c", "4", ""}, {"pip d", "5", "6"}};
  whole.circumstances = {"pip a 1 → 2", "pip b none → 3", "pip c 4 → none", "pip d 5 → 6"};
  EXPECT_THAT(gate_lines(whole).front(),
              testing::EndsWith("; packages differ: pip a 1 → 2, pip b none → 3, pip c 4 → none and 1 more"));
  whole.packages.clear();
  whole.circumstances = {"driver was 570 in the baseline and is 580 now"};
  EXPECT_THAT(
      gate_lines(whole).front(),
      testing::EndsWith("; the code is not all that differs: driver was 570 in the baseline and is 580 now"));
  whole.failed_by = "the waiver of ada expired";
  EXPECT_THAT(gate_lines(whole).front(), HasSubstr("and is 580 now)"));
  whole.failed_by.reset();
  whole.overall = gate::verdict::unchanged;
  EXPECT_THAT(gate_lines(whole).front(), Not(HasSubstr("driver"))) << "nothing got slower";
}

TEST(gate_lines, say_at_once_that_the_cause_is_not_known) {
  gate::judgement whole = made_up_judgement("regressed");
  EXPECT_THAT(gate_lines(whole).front(), Not(HasSubstr("not known")));
  for (gate::stage_judgement& stage : whole.stages)
    if (stage.attributed)
      stage.attributed->unexplained_ns = 0.31 * stage.attributed->explained_difference_ns();
  EXPECT_THAT(gate_lines(whole).front(), testing::EndsWith("; the cause is not known"));
}

TEST(gate_md, says_why_a_stage_is_open_since_the_anchor) {
  gate::judgement whole = made_up_judgement("crept");
  gate::anchor_judgement since = *whole.since_anchor;
  since.stages[1].which = gate::verdict::inconclusive;
  since.stages[1].reason = "10.50 % slower, which is neither";
  whole = made_up_judgement("unchanged");
  gate::apply_anchor(since, {}, "2026-11-15", whole);
  EXPECT_THAT(
      rendered(whole).at("gate.md"),
      testing::ContainsRegex("\\| decode..?all +\\| inconclusive: 10\\.50 % slower, which is neither +\\|"));
  const std::string lines = joined(gate_lines(whole));
  const std::string words = ": inconclusive: 10.50 % slower, which is neither";
  EXPECT_THAT(lines, HasSubstr(words));
  EXPECT_EQ(lines.find(words), lines.rfind(words)) << "once";
}

TEST(gate_lines, sign_what_is_not_explained_as_the_page_does) {
  gate::judgement whole = made_up_judgement("regressed");
  gate::attribution& attributed = *whole.stages[1].attributed;
  attributed.bare_difference_ns = 3.3e6;
  attributed.unexplained_ns = -0.858e6;
  EXPECT_THAT(gate_lines(whole), testing::Contains("  not explained: −858 µs, −26 % of the difference"));
  EXPECT_THAT(rendered(whole).at("gate.md"), testing::ContainsRegex("\\| not explained +\\| +−858 µs \\|"));
}

TEST(gate_lines, say_what_part_of_the_difference_the_traces_show) {
  gate::judgement whole = made_up_judgement("regressed");
  gate::attribution& attributed = *whole.stages[1].attributed;
  attributed.bare_difference_ns = 3.3e6;
  attributed.scaled = {2.75e6, 1.2, 1.2};
  const std::string words =
      "he traces show 2.75 ms of the 3.30 ms measured without a tracer, so sizes are theirs × 1.20";
  EXPECT_THAT(gate_lines(whole), testing::Contains("  t" + words)) << "once";
  const auto files = rendered(whole);
  EXPECT_THAT(files.at("gate.md"), AllOf(HasSubstr("\nT" + words + ". "), Not(HasSubstr("| not explained"))));
  EXPECT_EQ(gate_lines(read_verdict(files.at("verdict.json"), "verdict.json")), gate_lines(whole));
  attributed.scaled->shown_ns = 1e6;
  attributed.unexplained_ns = 0.5 * *attributed.bare_difference_ns;
  EXPECT_THAT(gate_lines(whole),
              testing::Contains("  the cause is not known: the traces show 1.00 ms of the 3.30 ms measured "
                                "without a tracer, so sizes are theirs × 1.20"));
}

TEST(gate_lines, give_an_interval_in_the_direction_of_its_word) {
  gate::judgement whole = made_up_judgement("unchanged");
  gate::comparison& numbers = *whole.stages[0].numbers;
  numbers.slowdown_ratio = -0.013;
  numbers.lower_95_ratio = -0.017;
  numbers.upper_95_ratio = -0.010;
  EXPECT_THAT(gate_lines(whole).front(), HasSubstr("1.3 % faster (90 % CI 1.0 to 1.7 %;"));
  numbers.upper_95_ratio = 0.002;
  EXPECT_THAT(gate_lines(whole).front(), HasSubstr("1.3 % faster (90 % CI -0.2 to 1.7 %;"));
  numbers.slowdown_ratio = 0.013;
  numbers.lower_95_ratio = -0.001;
  numbers.upper_95_ratio = 0.017;
  EXPECT_THAT(gate_lines(whole).front(), HasSubstr("1.3 % slower (90 % CI -0.1 to 1.7 %;"));
}

TEST(gate_lines, say_by_which_rule_it_fails_where_the_interval_does_not) {
  gate::judgement whole = made_up_judgement("regressed");
  EXPECT_THAT(gate_lines(whole).front(), Not(HasSubstr("fails from")));
  whole.stages[1].fails_from_ratio = 0.02;
  EXPECT_THAT(gate_lines(whole).front(), HasSubstr("; a slowdown that was confirmed fails from 2.0 % on"));
}

TEST(gate_lines, say_what_counts_as_unchanged) {
  gate::judgement whole = made_up_judgement("unchanged");
  whole.stages[0].unchanged_below_ratio = 0.03;
  EXPECT_THAT(gate_lines(whole).front(),
              testing::EndsWith("; a slowdown is surely below 3.0 %, which counts as unchanged"));
  whole.stages[0].rate_unit = "tokens/s";
  EXPECT_THAT(gate_lines(whole).front(),
              testing::EndsWith("; a loss is surely below 2.9 %, which counts as unchanged"));
  whole.stages[0].rate_unit.reset();
  whole.stages[0].unchanged_below_ratio = 0.08;
  whole.stages[0].numbers->lower_95_ratio = 0.032;
  EXPECT_THAT(gate_lines(whole).front(),
              testing::EndsWith("; slower, but surely by less than 8.0 %, which passes"))
      << "nobody doubts that it is";
  whole.stages[0].numbers->lower_95_ratio = -0.108;
  whole.stages[0].numbers->upper_95_ratio = -0.106;
  EXPECT_THAT(gate_lines(whole).front(),
              testing::EndsWith("; faster, but not shown well enough to count as improved"));
}

TEST(gate_lines, an_arrow_never_contradicts_its_percentage) {
  gate::judgement whole = made_up_judgement("unchanged");
  gate::comparison& numbers = *whole.stages[0].numbers;
  numbers.baseline_median_ns = 975'600;
  numbers.candidate_median_ns = 972'300;
  numbers.slowdown_ratio = 0.001;
  EXPECT_THAT(gate_lines(whole).front(), AllOf(HasSubstr("0.1 % slower"), HasSubstr("975.6 → 976.6 µs")));
  numbers.slowdown_ratio = 0.0004;
  EXPECT_THAT(gate_lines(whole).front(), HasSubstr("as fast as before"));
  numbers.slowdown_ratio = 0.099;
  numbers.candidate_median_ns = 995'100;
  EXPECT_THAT(gate_lines(whole).front(), AllOf(HasSubstr("9.9 % slower"), HasSubstr("0.976 → 1.072 ms")))
      << "though the medians are 2.0 % apart";
  numbers.slowdown_ratio = -0.0034;
  EXPECT_THAT(gate_lines(whole).front(), AllOf(HasSubstr("0.3 % faster"), HasSubstr("975.6 → 972.3 µs")));
}

TEST(gate_views, on_a_cpu_speak_of_operators_and_calls) {
  gate::judgement whole = made_up_judgement("regressed");
  gate::cause slower;
  slower.delta_ns = 1e6;
  slower.name = slower.short_name = "mlp.down";
  slower.category = "host";
  slower.baseline_launches = slower.candidate_launches = 1512;
  slower.baseline_each_ns = 1000;
  slower.candidate_each_ns = 2000;
  slower.baseline_calls = slower.candidate_calls = 378;
  for (gate::stage_judgement& stage : whole.stages)
    if (stage.attributed) stage.attributed->causes = {slower};
  EXPECT_THAT(
      rendered(whole).at("gate.md"),
      AllOf(HasSubstr("| operators slower "), HasSubstr("slower: own time 4.00 → 8.00 µs a call, 378 calls"),
            Not(HasSubstr("kernels slower")), Not(HasSubstr(" launches |")),
            Not(HasSubstr("what the devices did"))));
}

TEST(gate_views, tell_how_full_experts_are_also_where_nothing_changed) {
  gate::judgement whole = made_up_judgement("unchanged");
  EXPECT_THAT(rendered(whole).at("gate.md"), Not(HasSubstr("moe:"))) << "nobody told";
  EXPECT_THAT(rendered(whole).at("verdict.json"), Not(HasSubstr("experts")));
  gate::stage_judgement& stage = whole.stages[0];
  stage.experts = stage.baseline_experts = gate::expert_fill{16, 2048};
  EXPECT_THAT(rendered(whole).at("gate.md"),
              HasSubstr("- " + stage.stage +
                        ": moe: the fullest expert gets 16.0 times the mean, 2048 rows; as before.\n"));
  const std::string told = verdict_json(whole);
  const gate::judgement read = read_verdict(told, "verdict.json");
  EXPECT_EQ(read.stages[0].experts, stage.experts);
  EXPECT_EQ(verdict_json(read), told);
}

TEST(gate_views, begin_a_told_rates_causes_with_the_time_of_its_stage) {
  gate::judgement whole = made_up_judgement("regressed");
  for (gate::stage_judgement& stage : whole.stages) {
    if (!stage.attributed) continue;
    stage.rate_unit = "tokens/s";
    stage.numbers->baseline_median_ns = 574e6;  // of a thousand
    stage.attributed->bare_difference_ns = stage.numbers->slowdown_ratio * 65.1e6;
  }
  EXPECT_THAT(rendered(whole).at("gate.md"), testing::ContainsRegex("\\| baseline +\\| +65\\.1 ms \\|"));
}

TEST(gate_views, draw_what_the_axis_counts_and_the_interval_over_its_dot) {
  gate::judgement whole = made_up_judgement("regressed");
  gate::cause more;
  more.kind = gate::cause_kind::launches;
  more.delta_ns = 1e6;
  more.name = more.short_name = "memset";
  more.baseline_launches = 4.4;
  more.candidate_launches = 8;
  more.baseline_each_ns = more.candidate_each_ns = 1000;
  for (gate::stage_judgement& stage : whole.stages)
    if (stage.attributed) stage.attributed->causes = {more};
  const std::string picture = rendered(whole).at("gate.svg");
  EXPECT_THAT(picture, HasSubstr(">candidate − baseline, of the baseline"));
  EXPECT_THAT(picture, HasSubstr(">candidate − baseline</text>"));
  EXPECT_THAT(picture, HasSubstr("more memsets: 4.4 on average → 8 times, 1.00 µs each"));
  const std::size_t dot = picture.find("<circle class=\"dot");
  ASSERT_NE(dot, std::string::npos);
  EXPECT_LT(dot, picture.find("<path class=\"arm")) << "what comes later is drawn over it";
  for (gate::stage_judgement& stage : whole.stages)
    if (stage.numbers) stage.numbers->lower_95_ratio = stage.numbers->upper_95_ratio = std::nullopt;
  EXPECT_THAT(rendered(whole).at("gate.svg"), Not(HasSubstr("class=\"arm"))) << "too few runs for bounds";
}

TEST(gate_lines, say_what_takes_away_from_causes_that_are_more_than_the_difference) {
  gate::judgement whole = made_up_judgement("regressed");
  const auto cause_of = [](double delta_ns, const char* name) {
    gate::cause cause;
    cause.delta_ns = cause.traced_delta_ns = delta_ns;
    cause.name = cause.short_name = name;
    cause.baseline_each_ns = 2e6;
    cause.candidate_each_ns = 2e6 + delta_ns;
    cause.baseline_launches = cause.candidate_launches = 1;
    return cause;
  };
  gate::attribution attributed;
  attributed.bare_difference_ns = 145e6;
  attributed.causes = {cause_of(180e6, "slow"), cause_of(-30e6, "quick"), cause_of(-5e6, "other")};
  for (gate::stage_judgement& stage : whole.stages)
    if (stage.attributed) stage.attributed = attributed;
  EXPECT_THAT(joined(gate_lines(whole)),
              ::testing::ContainsRegex("\n  1\\. \\+180 ms: slow [^\n]*\n  elsewhere −35\\.0 ms, most of it "
                                       "−30\\.0 ms: quick is faster: "));
  attributed.causes = {cause_of(180e6, "slow"), cause_of(-35e6, "quick"), cause_of(-1e3, "other")};
  for (gate::stage_judgement& stage : whole.stages)
    if (stage.attributed) stage.attributed = attributed;
  EXPECT_THAT(joined(gate_lines(whole)), HasSubstr("\n  elsewhere −35.0 ms: quick is faster: ")) << "once";
  attributed.causes = {cause_of(185e6, "slow"), cause_of(-15e6, "quick"), cause_of(-15e6, "b"),
                       cause_of(-10e6, "c")};
  for (gate::stage_judgement& stage : whole.stages)
    if (stage.attributed) stage.attributed = attributed;
  EXPECT_THAT(joined(gate_lines(whole)),
              HasSubstr("\n  elsewhere −40.0 ms, of it −15.0 ms: quick is faster: "))
      << "not most of it";
  attributed.causes = {cause_of(45e6, "a"), cause_of(40e6, "b"), cause_of(30e6, "c"), cause_of(20e6, "d"),
                       cause_of(10e6, "e")};
  for (gate::stage_judgement& stage : whole.stages)
    if (stage.attributed) stage.attributed = attributed;
  EXPECT_THAT(joined(gate_lines(whole)), HasSubstr("\n  and 2 more, +30.0 ms\n"));
  attributed.causes = {cause_of(145.1e6, "slow"), cause_of(-0.1e6, "quick")};
  for (gate::stage_judgement& stage : whole.stages)
    if (stage.attributed) stage.attributed = attributed;
  EXPECT_THAT(joined(gate_lines(whole)), Not(HasSubstr("elsewhere")));
}

TEST(gate_lines, of_a_skip_begin_with_the_reason) {
  EXPECT_THAT(gate_lines(made_up_judgement("inconclusive")).front(),
              AllOf(StartsWith("llama-3.1-8b.decode-b1: inconclusive: "),
                    HasSubstr("the smallest slowdown it could have seen is 6.3 %")));
  EXPECT_THAT(gate_lines(made_up_judgement("not_comparable")).front(),
              HasSubstr("the baseline is of an NVIDIA H100"));
  EXPECT_THAT(
      gate_lines(made_up_judgement("no_baseline")),
      ElementsAre(
          "llama-tiny.smoke: no baseline: there is no baseline for llama-tiny.smoke on this machine"));
  const std::string inconclusive = joined(gate_lines(made_up_judgement("inconclusive")));
  EXPECT_THAT(inconclusive, AllOf(HasSubstr("\n  why it stopped: "),
                                  HasSubstr("\n  to settle it: run it again when the machine is quiet")));
}

TEST(gate_lines, say_first_what_fails_the_test) {
  EXPECT_THAT(gate_lines(made_up_judgement("expired_waiver")).front(),
              AllOf(StartsWith("llama-3.1-8b.decode-b1: failed: the waiver of kim for decode_all expired on"),
                    HasSubstr("(its runs: inconclusive: decode_all is 1.2 % slower")));
  EXPECT_THAT(
      gate_lines(made_up_judgement("exact_failure")).front(),
      StartsWith("llama-3.1-8b.decode-b1: regressed: decode_all: not allowed: new kernel: spin_kernel; "
                 "it is 0.1 % slower"));
}

TEST(gate_lines, hold_no_control_characters_and_no_markup_of_ctest) {
  for (const std::string& line : gate_lines(made_up_judgement("hostile"))) {
    EXPECT_THAT(line, Not(HasSubstr("<CTest"))) << line;
    for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << line;
  }
}

TEST(ctest_measurements, name_every_gated_number) {
  const std::string lines = ctest_measurements(made_up_judgement("regressed"));
  EXPECT_THAT(lines, HasSubstr("<CTestMeasurement type=\"numeric/double\" "
                               "name=\"decode_all_slowdown_percent\">5.08</CTestMeasurement>"));
  EXPECT_THAT(lines, HasSubstr("name=\"decode_all_slowdown_lower_95_percent\">4.78<"));
  EXPECT_THAT(lines, HasSubstr("name=\"prefill_candidate_median_ms\">9.04084<"));
  EXPECT_THAT(lines, HasSubstr("type=\"text/string\" name=\"gate_verdict\">regressed<"));
  EXPECT_THAT(ctest_measurements(made_up_judgement("inconclusive")),
              HasSubstr("name=\"decode_all_detectable_slowdown_percent\">6.3<"));
}

TEST(gate_summary, puts_failures_first_in_one_table) {
  const std::string text = gate_summary({{"llama-tiny.smoke", std::nullopt, "skipped: no GPU | here"},
                                         {"a.ok", made_up_judgement("unchanged"), ""},
                                         {"b.bad", made_up_judgement("regressed"), ""},
                                         {"c.maybe", made_up_judgement("inconclusive"), ""}});
  compare_or_update(fs::path(PROFGATE_GOLDEN_DIR) / "gate" / "summary.md", text);
  EXPECT_THAT(text, StartsWith("# profgate: 1 of 4 pairs failed\n"));
  EXPECT_LT(text.find("b.bad"), text.find("a.ok"));
  EXPECT_THAT(text, HasSubstr("planted\\_delay\\_kernel"));
  EXPECT_THAT(gate_summary({}), StartsWith("# profgate: nothing was judged\n"));
}

TEST(gate_views, of_a_waived_stage_say_so_in_the_first_line) {
  EXPECT_THAT(gate_lines(made_up_judgement("waived")).front(), HasSubstr("; regressed, but waived"));
  EXPECT_THAT(gate_lines(made_up_judgement("waived")).front(), HasSubstr(": waived: "));
}

TEST(gate_views, hold_only_valid_text_whatever_kernels_are_called) {
  for (const auto& [name, text] : rendered(made_up_judgement("hostile"))) {
    EXPECT_EQ(core::to_valid_utf8(text), text) << name;
    if (name != "verdict.json") {
      EXPECT_THAT(text, Not(HasSubstr("<CTest"))) << name;
    }
    for (const char c : text) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n') << name;
  }
}

gate::cause slower_kernel(const std::string& name, double delta_ns) {
  gate::cause made;
  made.delta_ns = made.traced_delta_ns = delta_ns;
  made.name = made.short_name = name;
  return made;
}

TEST(gate_views, draw_no_cause_that_has_no_pixel) {
  const std::vector<waterfall_bar> bars =
      bars_of({slower_kernel("large", 9e6), slower_kernel("noise", 2000), slower_kernel("small", 4e4),
               slower_kernel("other noise", -500)},
              8);
  ASSERT_EQ(bars.size(), 3U);
  EXPECT_EQ(bars[1].label, "small");
  EXPECT_EQ(bars[2].label, "everything else");
  EXPECT_EQ(bars[2].detail, "2 smaller causes");
  EXPECT_DOUBLE_EQ(bars[2].delta_ns, 1500);
}

TEST(gate_views, cut_a_detail_where_a_word_ends) {
  gate::cause cause = slower_kernel("split", 9e5);
  cause.evidence = {"grid (16, 8, 1) → (8, 8, 1)", "half as many blocks", "alone 9.4 → 11.3 µs"};
  const auto detail = [&] {
    const nlohmann::json drawn = drawing_of("", {}, {{"", "", 1e6, "", 2e6, bars_of({cause}, 8), ""}});
    return drawn["panels"][0]["rows"][1]["detail"].get<std::string>();
  };
  EXPECT_THAT(detail(), testing::EndsWith("; …")) << "behind a clause";
  EXPECT_THAT(detail_of(cause), HasSubstr(detail().substr(0, detail().size() - 5)));
  cause.kind = gate::cause_kind::new_operation;
  cause.evidence = {"words that go on and on, without a clause that could end, to beyond where it is cut"};
  EXPECT_THAT(detail(), testing::EndsWith("…"));
  EXPECT_THAT(detail_of(cause) + " ", HasSubstr(detail().substr(0, detail().size() - 3) + " "));
}

TEST(gate_views, leave_out_causes_that_are_next_to_nothing) {
  gate::judgement whole = made_up_judgement("regressed");
  gate::attribution& attributed = *whole.stages[1].attributed;
  const double whole_ns = attributed.explained_difference_ns();
  attributed.causes = {slower_kernel("large", whole_ns), slower_kernel("tiny", 0.004 * whole_ns),
                       slower_kernel("tinier", -0.001 * whole_ns)};
  EXPECT_THAT(rendered(whole).at("gate.md"),
              AllOf(HasSubstr("large"), Not(HasSubstr("tini")), Not(HasSubstr("tiny")),
                    HasSubstr("2 smaller ones, together"), HasSubstr("one by one, 3<")));
}

TEST(gate_views, call_a_copy_a_copy) {
  gate::cause copy = slower_kernel("copy device to host", 9e5);
  EXPECT_EQ(group_of(copy), "copies slower");
  copy.kind = gate::cause_kind::new_operation;
  copy.candidate_launches = 64;
  EXPECT_EQ(group_of(copy), "new copies");
  EXPECT_THAT(detail_of(copy), StartsWith("new: 64 times, "));
  copy.name = "memset";
  EXPECT_EQ(group_of(copy), "new memsets");
}

TEST(gate_views, say_whose_idle_times_stand_beside_a_difference) {
  gate::cause idle;
  idle.kind = gate::cause_kind::idle;
  idle.name = "copy";
  idle.baseline_idle_ns = 36.5e6;
  idle.candidate_idle_ns = 16e6;
  idle.delta_ns = idle.traced_delta_ns = -20.5e6;
  EXPECT_EQ(detail_of(idle), "36.50 → 16.00 ms");
  idle.delta_ns = -37'500;  // a tracer stretches waits
  EXPECT_EQ(detail_of(idle), "36.50 → 16.00 ms in the traces");
}

/// Real traces: eager launches against a graph, of three layers.
TEST(gate_views, show_what_recorded_traces_say) {
  const std::string folder = PROFGATE_TEST_DATA "/nsight/h200-2025.3.1/qwen3-3layers/";
  const auto recorded = [&](const std::string& name) {
    const core::timeline timeline = parsers::read_nsys_sqlite(folder + name);
    const analysis::operation_labels labels{"LLM", &gate::test_categories()};
    return analysis::sum_up(analysis::label_operations(timeline, "decode_all", labels).occurrences);
  };
  gate::judgement whole = made_up_judgement("regressed");
  whole.pair = "qwen3-3layers.decode-b1";
  gate::stage_judgement& stage = whole.stages[1];
  stage.attributed = gate::attribute({recorded("graph.sqlite")}, {recorded("eager.sqlite")});
  const auto files = rendered(whole);
  const fs::path golden = fs::path(PROFGATE_GOLDEN_DIR) / "gate" / "recorded";
  for (const auto& [name, text] : files) compare_or_update(golden / name, text);
  EXPECT_THAT(files.at("gate.md"), HasSubstr("longer idle: host work"));
}

}  // namespace
}  // namespace profgate::render
