#include "report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/profile.h"
#include "analysis/stage_step.h"
#include "golden_cases.h"
#include "judgement_cases.h"
#include "kernel_views.h"
#include "nested_operators.h"
#include "render/render.h"
#include "token_chart.h"

namespace profgate::render {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

json kernel_group(const std::string& name, const std::string& op, double own_ns, int calls) {
  return {
      {"kernel_name", name}, {"op_name", op}, {"category", "x"}, {"own_ns", own_ns}, {"calls_count", calls}};
}

/// decode_all: 900 µs, of which split_attention has 600 in two grids; prefill: one kernel of 100 µs.
json two_stages() {
  return {
      {"stages",
       {{{"name", "prefill"}, {"kernel_groups", {kernel_group("void a::gemm<int>(int)", "qkv", 100e3, 1)}}},
        {{"name", "decode_all"},
         {"kernel_groups",
          {kernel_group("split_attention", "attn.core", 400e3, 4),
           kernel_group("small", "attn.core", 299e3, 2),
           kernel_group("split_attention", "attn.core", 200e3, 4), kernel_group("tiny", "sample", 1e3, 1)}},
         {"counters",
          {{"kernels",
            {{{"kernel_name", "split_attention"},
              {"op", "attn.core"},
              {"share_ratio", 0.4},
              {"reached_ratio", 0.26},
              {"bound", "latency"}},
             {{"kernel_name", "split_attention"},
              {"op", "attn.core"},
              {"share_ratio", 0.2},
              {"reached_ratio", 0.5},
              {"bound", "memory"}}}}}}}}}};
}

TEST(kernel_table, has_one_row_a_kernel_and_operator_the_largest_first) {
  const json table = kernel_table_of(kernel_rows_of(two_stages(), {}));
  ASSERT_EQ(table["rows"].size(), 4U);
  const json& first = table["rows"][0];
  EXPECT_EQ(first["label"], "split_attention");
  EXPECT_EQ(first["calls"], "8");
  EXPECT_EQ(first["own"], "600 µs");
  EXPECT_EQ(first["launch"], "75.0 µs");
  EXPECT_EQ(first["share"], "66.7 %");
  EXPECT_EQ(first["roof"], "34.0 %") << "of all of its grids, by their shares";
  EXPECT_EQ(first["bound"], "latency");
  EXPECT_EQ(table["rows"][1]["label"], "small");
  EXPECT_EQ(table["rows"][1]["roof"], "") << "not counted";
  EXPECT_EQ(table["rows"][2]["label"], "gemm<int>");
  EXPECT_EQ(table["rows"][2]["share"], "100 %") << "of its own stage";
}

TEST(kernel_table, lists_a_thousand_and_says_how_many_are_left_out) {
  json profile{{"stages", {{{"name", "all"}, {"kernel_groups", json::array()}}}}};
  for (int i = 0; i < 1200; ++i)
    profile["stages"][0]["kernel_groups"].push_back(kernel_group("k" + std::to_string(i), "", 1 + i, 1));
  const json table = kernel_table_of(kernel_rows_of(profile, {}));
  EXPECT_EQ(table["rows"].size(), 1000U);
  EXPECT_EQ(table["left_out"], 200U);
  EXPECT_EQ(table["rows"][0]["label"], "k1199");
}

TEST(kernel_table, shows_operators_of_the_host_where_there_are_no_kernels) {
  const json profile{
      {"stages",
       {{{"name", "prefill"},
         {"operators",
          {{{"op_name", "attn.qkv"}, {"exclusive_ns", 5e6}, {"share_ratio", 0.5}, {"calls_count", 2}}}}}}}};
  const json table = kernel_table_of(kernel_rows_of(profile, {}));
  EXPECT_EQ(table["are_kernels"], false);
  EXPECT_EQ(table["rows"][0]["label"], "attn.qkv");
  EXPECT_EQ(icicle_of(kernel_rows_of(profile, {}))["height"], 60);
}

json module_times(const char* name, double whole_ns, double own_ns) {
  return {{"op_name", name}, {"calls_count", 4}, {"cuda_whole_own_ns", whole_ns}, {"cuda_own_ns", own_ns}};
}

TEST(nested_operators, are_those_with_others_inside_the_largest_first) {
  const json profile = {
      {"stages",
       {{{"name", "prefill"}, {"operators", {module_times("model.mlp", 40e3, 40e3)}}},
        {{"name", "decode_step"},
         {"operators",
          {module_times("model.attn", 60e3, 20e3), module_times("model.attn.core", 40e3, 40e3),
           module_times("model", 100e3, 40e3)}}}}}};
  const json nested = nested_operators_of(profile);
  EXPECT_TRUE(nested["is_on_device"]);
  ASSERT_EQ(nested["rows"].size(), 2U);
  EXPECT_EQ(nested["rows"][0]["name"], "model");
  EXPECT_EQ(nested["rows"][0]["share"], "100 %");
  EXPECT_EQ(nested["rows"][1]["name"], "model.attn");
  EXPECT_EQ(nested["rows"][1]["whole"], "60.0 µs");
  EXPECT_EQ(nested["rows"][1]["own"], "20.0 µs");
  EXPECT_TRUE(nested_operators_of({{"stages", {profile["stages"][0]}}}).is_null());
}

TEST(icicle, gives_each_layer_the_whole_width) {
  const json icicle = icicle_of(kernel_rows_of(two_stages(), {}));
  double width[3] = {};
  for (const json& block : icicle["rectangles"])
    width[block["layer"].get<int>()] += block["width"].get<double>();
  EXPECT_NEAR(width[0], 1000, 0.3);
  // tiny's operator is 1 wide: too narrow to draw.
  EXPECT_NEAR(width[1], 999, 0.3);
  EXPECT_NEAR(width[2], 999, 0.3);
}

TEST(icicle, draws_kernels_below_their_operator_and_the_narrow_ones_together) {
  json profile = two_stages();
  for (int i = 0; i < 30; ++i)
    profile["stages"][1]["kernel_groups"].push_back(
        kernel_group("n" + std::to_string(i), "attn.core", 1e3, 1));
  const json icicle = icicle_of(kernel_rows_of(profile, {}));
  const auto find = [&](const std::string& label) {
    for (const json& block : icicle["rectangles"])
      if (block["label"] == label) return block;
    return json();
  };
  const json op = find("attn.core");
  const json rest = find("30 smaller");
  ASSERT_FALSE(op.is_null());
  ASSERT_FALSE(rest.is_null());
  EXPECT_EQ(find("split_attention")["x"], op["x"]);
  EXPECT_NEAR(rest["x"].get<double>() + rest["width"].get<double>(),
              op["x"].get<double>() + op["width"].get<double>(), 0.3);
  EXPECT_THAT(rest["title"].get<std::string>(), HasSubstr("30 smaller: 30.0 µs, 3.2 % of decode_all"));
}

/// A click on a block shows its rows, and no others: those without an operator, and those drawn together.
TEST(icicle, has_blocks_over_the_places_of_their_rows) {
  json profile = two_stages();
  json& groups = profile["stages"][1]["kernel_groups"];
  groups.push_back(kernel_group("copy", "", 50e3, 1));
  for (const char* name : {"n1", "n2"}) groups.push_back(kernel_group(name, name, 2e3, 1));
  for (const char* name : {"short1", "short2"})
    profile["stages"].push_back({{"name", name}, {"kernel_groups", {kernel_group(name, "", 2e3, 1)}}});
  profile["stages"].push_back({{"name", "last"}, {"kernel_groups", {kernel_group("last", "", 90e3, 1)}}});
  const std::vector<kernel_row> rows = kernel_rows_of(profile, {});
  std::map<std::string, std::set<std::string>> kernels;
  const json icicle = icicle_of(rows);
  for (const json& block : icicle["rectangles"])
    for (const kernel_row& row : rows)
      if (row.place >= block["first_place"].get<std::size_t>() &&
          row.place < block["end_place"].get<std::size_t>())
        kernels[block["layer"].dump() + " " + block["label"].get<std::string>()].insert(row.kernel_name);
  const std::string gemm = "void a::gemm<int>(int)";
  using names = std::set<std::string>;
  EXPECT_EQ(kernels["0 prefill"], names{gemm});
  EXPECT_EQ(kernels["0 decode_all"], (names{"split_attention", "small", "copy", "n1", "n2", "tiny"}));
  EXPECT_EQ(kernels["0 2 smaller"], (names{"short1", "short2"})) << "where they are, not at the end";
  EXPECT_EQ(kernels["1 attn.core"], (names{"split_attention", "small"}));
  EXPECT_EQ(kernels["1 3 smaller"], (names{"n1", "n2", "tiny"}));
  EXPECT_EQ(kernels["1 (no operator)"], (names{"copy", "last"})) << "of two stages";
  EXPECT_EQ(kernels["2 small"], names{"small"});
}

TEST(icicle, gives_an_operator_one_colour_in_all_stages) {
  // attn.core is the first of one stage and the second of the other.
  const json profile{
      {"stages",
       {{{"name", "prefill"},
         {"kernel_groups", {kernel_group("a", "mlp", 5e6, 1), kernel_group("b", "attn.core", 4e6, 1)}}},
        {{"name", "decode"}, {"kernel_groups", {kernel_group("b", "attn.core", 3e6, 1)}}}}}};
  const json icicle = icicle_of(kernel_rows_of(profile, {}));
  std::map<std::string, std::set<std::string>> tints;
  for (const json& block : icicle["rectangles"])
    tints[block["label"]].insert(block["fill"].get<std::string>());
  EXPECT_EQ(tints["attn.core"].size(), 1U);
  EXPECT_EQ(tints["attn.core"], tints["b"]) << "and its kernel, too";
  EXPECT_NE(tints["attn.core"], tints["mlp"]);
  EXPECT_EQ(tints["prefill"], std::set<std::string>{"f0"}) << "a stage has no operator's colour";
  EXPECT_EQ(tints["decode"], std::set<std::string>{"f1"});
}

TEST(icicle, has_no_layer_of_operators_where_there_are_none) {
  const json profile{{"stages",
                      {{{"name", "all"},
                        {"kernel_groups", {kernel_group("a", "", 5e6, 1), kernel_group("b", "", 4e6, 1)}}}}}};
  const json icicle = icicle_of(kernel_rows_of(profile, {}));
  EXPECT_EQ(icicle["height"], 60);
  ASSERT_EQ(icicle["rectangles"].size(), 3U);
  EXPECT_EQ(icicle["rectangles"][1]["label"], "a");
  EXPECT_NE(icicle["rectangles"][1]["fill"], icicle["rectangles"][2]["fill"]);
}

TEST(token_chart, draws_each_token_within_its_frame) {
  json profile{
      {"throughput",
       {{"decode_tokens_count", 3},
        {"tpot",
         {{"by_token_ns", {10e6, 11e6, 30e6}}, {"p50_ns", 11e6}, {"p90_ns", 11.1e6}, {"p99_ns", 30e6}}}}}};
  const json chart = token_chart_of(profile);
  EXPECT_EQ(chart["last_text"], "token 4");
  EXPECT_EQ(chart["percentiles"].size(), 3U);
  const std::string points = chart["points"];
  EXPECT_EQ(std::count(points.begin(), points.end(), ','), 3);
  for (const json& line : chart["percentiles"]) {
    EXPECT_GE(line["y"], chart["top"]);
    EXPECT_LE(line["y"], chart["bottom"]);
  }
  // p50 and p90 lie together: their texts do not.
  EXPECT_GE(chart["percentiles"][2]["text_y"].get<double>() - chart["percentiles"][1]["text_y"].get<double>(),
            13.9);
  profile["throughput"]["tpot"]["by_token_ns"] = {1e3, 1e3, 10e6};
  EXPECT_EQ(token_chart_of(profile)["low_text"].get<std::string>()[0], '0') << "no time is below nothing";
  profile["throughput"]["tpot"]["by_token_ns"] = nullptr;
  EXPECT_TRUE(token_chart_of(profile).is_null());
}

/// report.html of a made-up run, judged as the made-up judgement of that name.
std::string page_judged(const std::string& name) {
  std::string page;
  render_reports(
      analysis::profile_json(golden_cases().back().facts), PROFGATE_TEMPLATES_DIR, "",
      [&](const std::filesystem::path& path, std::string_view text) {
        if (path == "report.html") page = text;
      },
      made_up_judgement(name));
  return page;
}

TEST(report_page, begins_with_the_verdict_and_its_first_cause) {
  const std::string regressed = page_judged("regressed");
  EXPECT_THAT(regressed, HasSubstr("<div class=\"banner bad\" role=\"status\"><b>regressed</b>"));
  EXPECT_THAT(regressed, HasSubstr("First cause: "));
  EXPECT_THAT(regressed, HasSubstr("against the baseline"));
  EXPECT_THAT(regressed, Not(HasSubstr("<CTestMeasurement")));
  EXPECT_LT(regressed.find("banner bad"), regressed.find("class=\"cards\""));
  EXPECT_THAT(page_judged("unchanged"), HasSubstr("<div class=\"banner good\""));
  const std::string none = page_judged("no_baseline");
  EXPECT_THAT(none, HasSubstr("<div class=\"banner unsure\""));
  EXPECT_THAT(none, Not(HasSubstr("First cause")));
  EXPECT_THAT(none, Not(HasSubstr(">against "))) << "a file that is not there";
}

TEST(report_page, says_once_what_stands_on_a_card) {
  const std::string page = page_judged("unchanged");
  EXPECT_THAT(page, HasSubstr("TTFT, p50"));
  EXPECT_THAT(page, Not(HasSubstr("p50 of unprofiled runs")));
  EXPECT_THAT(page, HasSubstr("dominates: "));
}

TEST(report_page, has_no_banner_where_nothing_was_judged) {
  const json profile = json::parse(analysis::profile_json(golden_cases().back().facts));
  EXPECT_TRUE(report_pictures(profile, {}, std::nullopt)["banner"].is_null());
}

TEST(report_page, tells_decode_by_the_token) {
  json profile = json::parse(analysis::profile_json(golden_cases().back().facts));
  const json decode = report_pictures(profile, {}, std::nullopt)["stages"][1];
  EXPECT_THAT(decode["time"].get<std::string>(), ::testing::EndsWith(" a token"));
  EXPECT_THAT(decode["whole"].get<std::string>(), HasSubstr(" for "));
}

TEST(closing_lines, tell_speed_bound_and_verdict) {
  const std::string profile = analysis::profile_json(golden_cases().back().facts);
  const std::vector<std::string> lines = closing_lines(profile, made_up_judgement("regressed"), "");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[0], ::testing::AllOf(HasSubstr("TTFT "), HasSubstr("TPOT "), HasSubstr(" tokens/s")));
  EXPECT_THAT(lines[1], HasSubstr(" of measured "));
  EXPECT_THAT(lines[2], ::testing::StartsWith("gate: regressed"));
}

TEST(report_page, says_of_which_batch_tokens_per_second_are) {
  json profile = json::parse(analysis::profile_json(golden_cases().back().facts));
  const auto note_of_rate = [&]() -> std::string {
    const json pictures = report_pictures(profile, {}, std::nullopt);
    for (const json& card : pictures["cards"])
      if (card["label"] == "tokens/s") return card["note"];
    return "";
  };
  EXPECT_EQ(note_of_rate(), "decoded, p50");
  profile["throughput"]["batch_count"] = 2;
  EXPECT_EQ(note_of_rate(), "decoded, p50, batch 2");
  EXPECT_THAT(closing_lines(profile.dump(), std::nullopt, "")[0], HasSubstr(" tokens/s (batch 2)"));
  std::map<std::string, std::string> files;
  render_reports(
      profile.dump(), PROFGATE_TEMPLATES_DIR, "out",
      [&](const std::filesystem::path& file, std::string_view text) { files[file.string()] = text; });
  EXPECT_THAT(files["out/report.md"], HasSubstr(" tokens/s decoded (p50 of 3 decodes, batch 2)"));
  EXPECT_THAT(files["out/stakeholder_summary.md"], HasSubstr(" tokens/s of batch 2"));
}

TEST(closing_lines, mark_times_after_which_the_device_works_on) {
  json profile = json::parse(analysis::profile_json(golden_cases().back().facts));
  profile["throughput"]["tokens_median_per_s"] = nullptr;
  json& step = profile["stages"][0]["step"];
  EXPECT_THAT(closing_lines(profile.dump(), std::nullopt, "")[0], Not(HasSubstr("the host's alone")));
  step["source"] = step["source"].get<std::string>() + analysis::host_alone_words;
  EXPECT_THAT(closing_lines(profile.dump(), std::nullopt, "")[0], HasSubstr(" ms (the host's alone)"));
}

TEST(closing_lines, tell_what_the_program_told) {
  json profile = json::parse(analysis::profile_json(golden_cases().back().facts));
  profile["program_figures"] = {
      {{"name", "rate\n<"}, {"unit", "images/s"}, {"source", "out.json"}, {"median", 12.5}},
      {{"name", "bytes"}, {"unit", "B"}, {"source", "out.json"}, {"median", 3.5e9}},
      {{"name", "load"}, {"unit", "ns"}, {"source", "out.json"}, {"median", 305217000.5}}};
  EXPECT_THAT(closing_lines(profile.dump(), std::nullopt, "")[0],
              ::testing::EndsWith(", rate < 12.50 images/s, bytes 3500000000 B, load 305 ms"));
}

TEST(closing_lines, mark_times_that_spread_widely) {
  json profile = json::parse(analysis::profile_json(golden_cases().back().facts));
  profile["stages"][1]["bare"]["cv_ratio"] = 0.19;
  EXPECT_THAT(closing_lines(profile.dump(), std::nullopt, "")[0], Not(HasSubstr("unreliable")));
  profile["stages"][1]["bare"]["cv_ratio"] = 0.46;
  EXPECT_THAT(closing_lines(profile.dump(), std::nullopt, "")[0],
              ::testing::EndsWith("; unreliable: decode_all spreads by 46.0 %"));
}

TEST(closing_lines, call_a_peak_that_somebody_set_by_its_name) {
  json profile = json::parse(analysis::profile_json(golden_cases().back().facts));
  profile["ceilings"]["vendor_bytes_per_s"] = 1e12;
  for (json& stage : profile["stages"]) {
    stage["utilisation"]["roof_ns"] = nullptr;
    stage["utilisation"]["mbu_over_vendor_ratio"] = 0.7;
    stage["utilisation"]["mfu_over_vendor_ratio"] = 0.2;
  }
  profile["ceilings"]["vendor_source"] = "a datasheet";
  EXPECT_THAT(closing_lines(profile.dump(), std::nullopt, "")[1], HasSubstr("70.0 % of the vendor's peak"));
  profile["ceilings"]["vendor_source"] = nullptr;
  EXPECT_THAT(closing_lines(profile.dump(), std::nullopt, "")[1], HasSubstr("70.0 % of the configured peak"));
}

TEST(report_page, explains_the_second_row_of_a_stream) {
  json profile = json::parse(analysis::profile_json(golden_cases().back().facts));
  const auto has_lanes = [&](const json& is_further_lane) {
    json row = {{"kind", "stream"}, {"label", "GPU 0: stream 7/2"}};
    if (!is_further_lane.is_null()) row["is_further_lane"] = is_further_lane;
    profile["timeline"]["strips"] = {
        {{"what", "prefill"}, {"capture", "x"}, {"duration_ns", 5}, {"rows", json::array({row})}}};
    return report_pictures(profile, {}, std::nullopt)["has_lanes"].get<bool>();
  };
  EXPECT_TRUE(has_lanes(true));
  EXPECT_FALSE(has_lanes(false));
  EXPECT_FALSE(has_lanes(nullptr)) << "an earlier profgate did not tell";
}

TEST(closing_lines, say_what_is_not_known_and_why) {
  json profile = json::parse(analysis::profile_json(golden_cases().back().facts));
  profile["throughput"] = {{"ttft", json::object()}, {"tpot", json::object()}};
  for (json& stage : profile["stages"]) {
    stage["step"] = nullptr;
    stage["idle"] = nullptr;
    stage["utilisation"] = {
        {"work_flops", 1e9}, {"roof_ns", nullptr}, {"not_measured", {{"roof_ns", "no ceiling"}}}};
  }
  EXPECT_THAT(
      closing_lines(profile.dump(), std::nullopt, "step timeline failed"),
      ::testing::ElementsAre("no times: nothing was measured", "what bounds it is not known: no ceiling",
                             "gate: not judged: step timeline failed"));
  const auto bound = [&] { return closing_lines(profile.dump(), std::nullopt, "")[1]; };
  profile["ceilings"] = json::object();
  EXPECT_EQ(bound(), "what bounds it is not known: what this machine can do at most was not measured");
  for (json& stage : profile["stages"]) stage["utilisation"]["work_flops"] = nullptr;
  EXPECT_EQ(bound(), "what bounds it is not known: nobody says how many FLOPs and bytes it takes");
}

}  // namespace
}  // namespace profgate::render
