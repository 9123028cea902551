// A name stands for one number: what two places of a run's reports call alike is the same value, and the one
// that profile.json has.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "analysis/profile.h"
#include "core/units.h"
#include "golden_cases.h"
#include "golden_files.h"
#include "markdown_tables.h"

namespace profgate::render {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A run of an H200 whose kernels overlap: each starts while the one before ends, and waits inside.
json recorded_profile() {
  return json::parse(read(std::filesystem::path(PROFGATE_TEST_DATA) /
                          "nsight/h200-2025.3.1/llama-3.1-8b.decode-b1/profile.json"));
}

json profile_of_a_cpu() {
  return json::parse(
      read(std::filesystem::path(PROFGATE_TEST_DATA) / "profiles/cpu/llama-tiny.smoke/profile.json"));
}

/// A run whose gemm reaches 91 % of its roof among its neighbours and 78 % of it alone.
std::string profile_with_two_roofs() {
  json profile = json::parse(analysis::profile_json(golden_cases().back().facts));
  for (json& stage : profile["stages"]) {
    if (!stage["counters"].is_object()) continue;
    for (json& kernel : stage["counters"]["kernels"]) {
      kernel["reached_ratio"] = 0.91;
      kernel["reached_alone_ratio"] = kernel["roof_ratio"] = 0.78;
    }
  }
  return profile.dump();
}

TEST(one_number, of_its_roof_is_what_a_kernel_reaches_in_the_run_wherever_it_stands) {
  auto reports = reports_of(profile_with_two_roofs());
  const std::vector<table_row> rows = table_below(reports["report.md"], "## Counters");
  ASSERT_FALSE(rows.empty());
  for (const table_row& row : rows) {
    EXPECT_EQ(row.at("of its roof"), "91.0 %") << row.at("kernel_name");
    EXPECT_EQ(row.at("of it alone under ncu"), "78.0 %") << row.at("kernel_name");
  }
  for (const char* report : {"report.md", "kernels.md"})
    EXPECT_THAT(reports[report], HasSubstr("Alone under ncu it is often less: ")) << report;
  const std::string& page = reports["report.html"];
  EXPECT_EQ(page.find("Alone under ncu it is"), std::string::npos) << "its table has no such column";
  EXPECT_THAT(page, HasSubstr("<td>91.0 %</td>"));
  EXPECT_EQ(page.find("<td>78.0 %</td>"), std::string::npos) << "the other stands under another name only";
}

/// Of a kernel that one operator launches in one stage, so that each table has one row of it.
TEST(one_number, a_launch_is_own_time_or_says_which_other) {
  const json profile = recorded_profile();
  auto reports = reports_of(profile.dump());
  const std::string name = R"(gemv&lt;\_\_nv\_bfloat16, 2, 1, 4&gt;)";
  const auto row_of = [&](const char* report, const char* heading) {
    for (const table_row& row : table_below(reports[report], heading))
      if (row.at("kernel_name") == name) return row;
    ADD_FAILURE() << report << " has no " << name << " below " << heading;
    return table_row{};
  };
  const json& kernel = profile["kernels"]["overall"][0];
  const double calls = kernel["calls_count"];
  const double own_ns = kernel["own_ns"].get<double>() / calls;
  ASSERT_LT(own_ns, 0.9 * kernel["mean_ns"].get<double>()) << "the two must not be mistaken for each other";
  table_row row = row_of("stakeholder_summary.md", "## Top Kernels");
  EXPECT_EQ(row["own time a launch"], core::format_duration(own_ns));
  EXPECT_EQ(row["own time"], core::format_duration(own_ns * calls));
  EXPECT_EQ(row["traced time"], core::format_duration(kernel["total_ns"].get<double>()));
  row = row_of("kernels.md", "## Overall");
  EXPECT_EQ(row["own_mean_ms"], fmt::format("{:.6f}", own_ns / 1e6));
  EXPECT_EQ(row["mean_ms"], fmt::format("{:.6f}", kernel["mean_ns"].get<double>() / 1e6));
  row = row_of("kernels.md", "### Counters of decode\\_all");
  EXPECT_FALSE(row.contains("mean_ms")) << "that is traced time";
  EXPECT_EQ(row["alone under ncu, ms"].size(), std::string("0.059552").size());
  const std::string& page = reports["report.html"];
  EXPECT_THAT(page, HasSubstr(">own time a launch</th>"));
  EXPECT_THAT(page, HasSubstr("<td>" + core::format_duration(own_ns) + "</td>"));
  for (const auto& [file, text] : reports) {
    EXPECT_EQ(text.find("| a launch |"), std::string::npos) << file;
    EXPECT_EQ(text.find(">a launch<"), std::string::npos) << file;
  }
}

/// With CUDA graphs the host submits a step in 0.2 ms, for which the device works 4 ms.
TEST(one_number, the_time_of_a_step_is_that_of_the_device_or_says_that_it_is_the_hosts) {
  json profile = recorded_profile();
  json& decode = profile["stages"][1];
  const double own_ns = decode["traced"]["kernel_own_ns"];
  const json& submitted = decode["traced"]["decode_steps"];
  const double steps = submitted["calls_count"];
  const std::string a_step = core::format_duration(own_ns / steps);
  std::string report = reports_of(profile.dump())["operators.md"];
  EXPECT_THAT(
      report,
      HasSubstr("The host spent " + core::format_duration(submitted["mean_ns"].get<double>()) +
                " on average in each of 64 decode_step ranges; the GPU worked " + a_step + " for each."));
  EXPECT_THAT(report, HasSubstr("took " + core::format_duration(own_ns) +
                                " of it (own time), all of it in operators. The host was in no operator's "
                                "range: CUDA graphs replay them."));
  const double embed_ns = decode["operators"].back()["cuda_own_ns"];
  decode["operators"].erase(decode["operators"].size() - 1);
  report = reports_of(profile.dump())["operators.md"];
  EXPECT_THAT(report, HasSubstr("of which " + core::format_duration(embed_ns) + " in no operator."));
}

TEST(one_number, kernels_are_counted_by_name_and_their_sum_is_own_time) {
  const json profile = recorded_profile();
  auto reports = reports_of(profile.dump());
  const json& overall = profile["kernels"]["overall"];
  double own_ns = 0;
  for (const json& kernel : overall) own_ns += kernel["own_ns"].get<double>();
  EXPECT_THAT(
      reports["kernels.md"],
      HasSubstr(fmt::format("{} kernels, each counted once by name and device, took {} of the device's time",
                            overall.size(), core::format_duration(own_ns))));
  double traced_ns = 0;
  for (const json& stage : profile["stages"]) {
    traced_ns += stage["traced"]["duration_ns"].get<double>();
    const std::string note = fmt::format(" of its {} kernels were counted", stage["kernels"].size());
    EXPECT_THAT(reports["report.md"], HasSubstr(note));
  }
  EXPECT_LT(own_ns, traced_ns) << "kernels do not take longer than the stages that they run in";
  const table_row row = table_below(reports["report.md"], "## Per-Stage Timings").at(1);
  EXPECT_EQ(row.count("kernels"), 0U);
}

TEST(one_number, above_a_ceiling_is_not_shown_as_all_of_it) {
  json profile = json::parse(profile_with_two_roofs());
  const char* const explanation = " ≥ 100 %: it was faster than what set the ceiling";
  for (const auto& [file, text] : reports_of(profile.dump()))
    EXPECT_EQ(text.find(explanation), std::string::npos) << file << ": no value is above";
  for (json& stage : profile["stages"])
    if (stage["counters"].is_object())
      for (json& kernel : stage["counters"]["kernels"]) {
        kernel["reached_ratio"] = 1.028;
        kernel["flops_over_ceiling_ratio"] = 0.9;
        kernel["bytes_over_ceiling_ratio"] = 0.1;
      }
  auto reports = reports_of(profile.dump());
  for (const table_row& row : table_below(reports["report.md"], "## Counters"))
    EXPECT_EQ(row.at("of its roof"), "≥ 100 %");
  EXPECT_THAT(reports["report.html"], HasSubstr("<td>≥ 100 %</td>"));
  for (const char* report : {"report.md", "kernels.md", "report.html"})
    EXPECT_THAT(reports[report],
                AllOf(HasSubstr(explanation), HasSubstr("is set by one product of large matrices"),
                      Not(HasSubstr("is set by a copy"))))
        << report;
  for (json& stage : profile["stages"])
    if (stage["counters"].is_object())
      for (json& kernel : stage["counters"]["kernels"]) kernel["bytes_over_ceiling_ratio"] = 0.95;
  EXPECT_THAT(reports_of(profile.dump())["report.md"],
              AllOf(HasSubstr("is set by a copy"), Not(HasSubstr("is set by one product"))));
}

TEST(one_number, a_stages_share_in_the_picture_is_told_where_the_text_has_another) {
  json profile = recorded_profile();
  const char* const same = "Widths are own time in the trace.";
  for (const char* report : {"report.md", "report.html"})
    EXPECT_THAT(reports_of(profile.dump())[report], HasSubstr(same)) << report;
  EXPECT_THAT(reports_of(profile.dump())["stakeholder_summary.md"], Not(HasSubstr(same)))
      << "a page has no room for what says nothing";
  json& stages = profile["stages"];
  const double own_ns = stages[0]["traced"]["kernel_own_ns"];
  const double traced = own_ns / (own_ns + stages[1]["traced"]["kernel_own_ns"].get<double>());
  stages[0]["share_ratio"] = 0.331;
  stages[1]["share_ratio"] = 0.669;
  EXPECT_THAT(reports_of(profile.dump())["report.html"],
              HasSubstr(fmt::format("Widths are own time in the trace: prefill {:.1f} % (33.1 % of the "
                                    "unprofiled run), decode_all {:.1f} % (66.9 % of the unprofiled run).",
                                    100 * traced, 100 - 100 * traced)));
}

/// A step that waits for its launches: the picture of kernels says nothing of most of its time.
TEST(one_number, of_the_time_that_the_picture_does_not_draw_is_told) {
  json profile = recorded_profile();
  EXPECT_THAT(reports_of(profile.dump())["report.html"], Not(HasSubstr("the rest is not drawn")));
  for (json& stage : profile["stages"]) stage["traced"]["duration_ns"] = 2'000'000'000;
  EXPECT_THAT(reports_of(profile.dump())["report.html"],
              HasSubstr(" of the 4.00 s that the stages took there; the rest is not drawn."));
}

TEST(one_number, of_savings_is_told_whether_it_adds_up_where_that_is_known) {
  json profile = json::parse(analysis::profile_json(golden_cases().back().facts));
  json& rows = profile["findings"]["recommendations"];
  const auto report = [&] { return reports_of(profile.dump())["report.md"]; };
  EXPECT_THAT(report(), HasSubstr("Savings are upper bounds, and add up.\n"));
  rows[1]["adds_up"] = false;
  EXPECT_THAT(report(), HasSubstr("add up unless a row says otherwise.\n"));
  EXPECT_THAT(report(), HasSubstr("Do not add it up: other rows of "));
  for (json& row : rows) row.erase("adds_up");  // as an earlier profgate wrote it
  EXPECT_THAT(report(), HasSubstr("whether they add up is not told.\n"));
}

TEST(one_number, of_less_work_is_in_no_sum_and_says_so) {
  json profile = json::parse(analysis::profile_json(golden_cases().back().facts));
  json& rows = profile["findings"]["recommendations"];
  json less = rows[0];
  less["stage"] = "decode_all";
  less["adds_up"] = false;
  less["changes_arithmetic"] = true;
  rows.push_back(less);
  const std::string report = reports_of(profile.dump())["report.md"];
  EXPECT_THAT(
      report,
      HasSubstr("It changes the arithmetic: check accuracy. Do not add it up: others shrink with it."));
  EXPECT_THAT(report, HasSubstr("(same arithmetic"));
  EXPECT_THAT(report, Not(HasSubstr("time that several rows hold counts once")));
}

TEST(one_number, of_every_kernel_that_a_recommendation_names_is_in_the_table_of_counters) {
  json profile = recorded_profile();
  json& decode = profile["stages"].back();
  json& counted = decode["counters"]["kernels"];
  const json kernel = counted.front();
  counted = json::array();
  for (int i = 0; i < 9; ++i) {
    counted.push_back(kernel);
    counted.back()["kernel_name"] = "kernel_" + std::to_string(i);
    counted.back()["op"] = i == 7 ? "other" : "mlp";
  }
  counted[7]["kernel_name"] = "kernel_6";
  json& rows = profile["findings"]["recommendations"];
  const json row = rows.front();
  rows = json::array({row, row});
  for (json& item : rows) item["stage"] = decode["name"];
  rows[0]["kernel_name"] = "kernel_6";
  rows[0]["op_name"] = "mlp";
  rows[1]["kernel_name"] = "kernel_0";
  rows[1]["neighbours"] = {"kernel_8", "kernel_0"};
  const auto listed = [&] {
    std::vector<std::string> names;
    for (const table_row& one : table_below(reports_of(profile.dump())["report.md"], "## Counters"))
      if (one.at("stage") == "decode\\_all")
        names.push_back(one.at("kernel_name") + " " + one.at("operator"));
    return names;
  };
  std::vector<std::string> expected{"kernel\\_0 mlp", "kernel\\_1 mlp", "kernel\\_2 mlp", "kernel\\_3 mlp",
                                    "kernel\\_4 mlp", "kernel\\_6 mlp", "kernel\\_8 mlp"};
  EXPECT_EQ(listed(), expected);
  for (json& item : rows) item["stage"] = "prefill";
  expected.resize(5);
  EXPECT_EQ(listed(), expected);
}

TEST(one_number, of_savings_together_ends_the_recommendations) {
  json profile = json::parse(analysis::profile_json(golden_cases().back().facts));
  json& findings = profile["findings"];
  findings["stage_savings"] = json::array({{{"stage", "prefill"},
                                            {"saves_at_most_ns", 1.25e6},
                                            {"saves_at_most_ratio", 0.125},
                                            {"saves_at_most_ratio_of", "the whole"},
                                            {"ends_at_roof", true},
                                            {"leaves_some_out", true}}});
  findings["recommendations"][1]["adds_up"] = false;
  const std::string words =
      "prefill 1.25 ms, 12.5 % of the whole (time that several rows hold counts once; no stage gets below "
      "its roof; what rows without a figure save is not in it).";
  const auto reports = reports_of(profile.dump());
  for (const char* name : {"report.md", "stakeholder_summary.md"})
    EXPECT_THAT(reports.at(name), HasSubstr("**All of them together save at most:** " + words)) << name;
  EXPECT_THAT(reports.at("report.html"), HasSubstr("<b>All of them together save at most:</b> " + words));
  findings.erase("stage_savings");  // as an earlier profgate wrote it
  EXPECT_THAT(reports_of(profile.dump()).at("report.md"), Not(HasSubstr("All of them together")));
}

TEST(one_number, of_its_roof_in_the_advice_is_that_of_the_tables) {
  const json profile = recorded_profile();
  int advice_count = 0;
  for (const json& item : profile["findings"]["recommendations"]) {
    if (!item["kernel_name"].is_string()) continue;
    std::string reached;
    for (const json& stage : profile["stages"])
      for (const json& kernel : stage["counters"]["kernels"])
        if (stage["name"] == item["stage"] && kernel["kernel_name"] == item["kernel_name"] &&
            kernel["op"] == item["op_name"] && reached.empty())
          reached =
              fmt::format("at {:.1f} % of its roof in the run", 100 * kernel["reached_ratio"].get<double>());
    EXPECT_THAT(item["evidence"].get<std::string>(), HasSubstr(reached));
    ++advice_count;
  }
  EXPECT_GE(advice_count, 3);
}

/// The definition that stands beside the tables, applied to every counted kernel of the recorded run; and
/// what the roofline's picture shows of it: below the slope of the bandwidth nothing is bound by compute.
TEST(one_number, of_its_roof_is_the_time_of_the_work_at_the_measured_ceilings_over_own_time) {
  const json profile = recorded_profile();
  const double flops_per_s = profile["ceilings"]["measured_flops_per_s"];
  const double bytes_per_s = profile["ceilings"]["measured_bytes_per_s"];
  int kernels = 0;
  for (const json& stage : profile["stages"]) {
    for (const json& kernel : stage["counters"]["kernels"]) {
      double own_ns = 0;
      double calls = 0;
      for (const json& group : stage["kernel_groups"]) {
        if (group["kernel_name"] != kernel["kernel_name"] || group["op_name"] != kernel["op"]) continue;
        own_ns += group["own_ns"].get<double>();
        calls += group["calls_count"].get<double>();
      }
      const double flops = kernel["work_mean_flops"];
      const double bytes = kernel["dram_mean_bytes"];
      const double roof_ns = 1e9 * std::max(flops / flops_per_s, bytes / bytes_per_s);
      const std::string name = kernel["kernel_name"];
      EXPECT_NEAR(kernel["reached_ratio"].get<double>(), roof_ns / (own_ns / calls), 1e-6) << name;
      if (kernel["bound"] == "compute") {
        EXPECT_GT(flops / flops_per_s, bytes / bytes_per_s) << name;
      }
      ++kernels;
    }
  }
  EXPECT_EQ(kernels, 19);
}

/// Of every operator of the page without kernels, and of the summary: what profile.json has.
TEST(one_number, an_operators_share_is_that_of_its_own_time_over_its_stages_traced_time) {
  const json profile = json::parse(
      read(std::filesystem::path(PROFGATE_TEST_DATA) / "profiles/cpu/llama-tiny.smoke/profile.json"));
  auto reports = reports_of(profile.dump());
  const std::vector<table_row> rows = table_below(reports["stakeholder_summary.md"], "## Top Operators");
  ASSERT_EQ(rows.size(), 4U);
  int compared = 0;
  for (const json& stage : profile["stages"]) {
    for (const json& op : stage["operators"]) {
      if (!op["share_ratio"].is_number()) continue;
      const double own_ns = op["exclusive_ns"].get<double>();
      const double share = op["share_ratio"].get<double>();
      EXPECT_NEAR(share, own_ns / stage["traced"]["duration_ns"].get<double>(), 1e-9);
      const std::string text = fmt::format("{:.1f} %", 100 * share);
      EXPECT_THAT(reports["report.html"],
                  HasSubstr(fmt::format("data-own=\"{:.0f}\" data-share=\"{:.4f}\"", own_ns, share)));
      for (const table_row& row : rows) {
        if (row.at("stage") != std::regex_replace(stage["name"].get<std::string>(), std::regex("_"), "\\_") ||
            row.at("op_name") != std::regex_replace(op["op_name"].get<std::string>(), std::regex("_"), "\\_"))
          continue;
        EXPECT_EQ(row.at("of the traced time"), text);
        EXPECT_EQ(row.at("own host time"), core::format_duration(own_ns));
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 4);
}

/// A phone shows the left 400 px of the chart, and of a row of the table only cells that hold something.
TEST(one_number, a_phone_shows_the_percentiles_of_tokens_and_no_calls_of_what_is_none) {
  const std::string page = reports_of(recorded_profile().dump())["report.html"];
  for (const char* name : {"p50", "p90", "p99"}) {
    std::smatch label;
    ASSERT_TRUE(
        std::regex_search(page, label, std::regex(std::string("<text x=\"([0-9.]+)\"[^>]*>") + name)));
    EXPECT_LT(std::stod(label[1]), 300) << name;
  }
  const std::string operators = reports_of(profile_of_a_cpu().dump())["report.html"];
  const std::size_t row = operators.find("<td>(no operator)</td>");
  ASSERT_NE(row, std::string::npos);
  EXPECT_THAT(operators.substr(row, operators.find("</tr>", row) - row), HasSubstr("<td></td><td></td>"));
}

/// Two workers that are in decode_all at once: what they do, and what they do beside it, is thread time.
TEST(one_number, shares_of_occurrences_that_overlap_are_of_thread_time_everywhere) {
  json profile = profile_of_a_cpu();
  json& traced = profile["stages"][1]["traced"];
  traced["thread_ns"] = 2'000'000'000;
  traced["duration_ns"] = 1'100'000'000;
  traced["uncovered_ns"] = 1'500'000'000;
  traced["occurrences_count"] = 4;
  auto reports = reports_of(profile.dump());
  const std::string note =
      "Its occurrences overlap, so that times of the host are thread time, a sum over threads, and shares "
      "are of that, 2.00 s; by the clock on the wall it took 1.10 s.";
  EXPECT_THAT(reports["operators.md"],
              HasSubstr("all 4 times that it ran together, of which 1.50 s in no operator. " + note));
  EXPECT_THAT(reports["stakeholder_summary.md"], HasSubstr("all: " + note));
  const std::string& page = reports["report.html"];
  EXPECT_THAT(page, HasSubstr("own times and calls are those of all of them. " + note));
  const std::size_t row = page.find("<td>(no operator)</td><td>1.50 s</td>");
  ASSERT_NE(row, std::string::npos);
  EXPECT_THAT(page.substr(row, page.find("</tr>", row) - row), HasSubstr("<b>75.0 %</b>"));
}

/// Ranks run a stage together, and that is one occurrence; but each of them ran it.
TEST(one_number, what_several_processes_ran_is_counted_for_each_of_them) {
  json profile = profile_of_a_cpu();
  json& traced = profile["stages"][1]["traced"];
  const json rank = {{"process", 7},       {"devices", json::array()}, {"occurrences_count", 4},
                     {"mean_ns", 1000},    {"duration_ns", 4000},      {"kernel_ns", 0},
                     {"kernels_count", 0}, {"launches_count", 0},      {"copies_count", 0},
                     {"copy_ns", 0}};
  traced["occurrences_count"] = 5;
  traced["slowest_process"] = 7;
  traced["spread_ns"] = 1000;
  traced["ranks"] = {rank, rank};
  traced["ranks"][1]["occurrences_count"] = 3;
  auto reports = reports_of(profile.dump());
  EXPECT_THAT(reports["operators.md"],
              HasSubstr(", all 7 times that it ran together, by 2 processes, of which"));
  EXPECT_THAT(reports["report.html"],
              HasSubstr("decode_all ran 7 times in the trace, by 2 processes: own times"));
  EXPECT_THAT(reports["report.md"], HasSubstr("by the clock on the wall, for the 7 times that they ran it;"));
}

TEST(one_number, percentiles_of_few_samples_are_not_shown_of_an_earlier_profile_either) {
  json profile = json::parse(analysis::profile_json(golden_cases().back().facts));
  json& ttft = profile["throughput"]["ttft"];
  ttft["samples_count"] = 5;
  ttft["p90_ns"] = ttft["p99_ns"] = 123456789;
  auto reports = reports_of(profile.dump());
  for (const char* report : {"report.md", "stakeholder_summary.md", "report.html"})
    EXPECT_EQ(reports[report].find("123 ms"), std::string::npos) << report;
  EXPECT_THAT(reports["report.md"], HasSubstr("TTFT: p99 needs 100 samples, and there are 5."));
  ttft["samples_count"] = 1;
  EXPECT_THAT(reports_of(profile.dump())["report.html"], HasSubstr("TTFT, n = 1"));
}

TEST(one_number, what_holds_of_the_run_stands_once_in_the_summary) {
  json profile = json::parse(analysis::profile_json(golden_cases().back().facts));
  const json takeaway{{"stage", nullptr},
                      {"text", "The trace is not whole."},
                      {"evidence", "17 lost"},
                      {"not_measured", {{"stage", "it is about the whole run"}}}};
  profile["findings"]["takeaways"].insert(profile["findings"]["takeaways"].end(), {takeaway, takeaway});
  const std::string summary = reports_of(profile.dump())["stakeholder_summary.md"];
  const std::size_t at = summary.find("The trace is not whole.");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(summary.find("The trace is not whole.", at + 1), std::string::npos);
}

}  // namespace
}  // namespace profgate::render
