#include "render/models_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/profile.h"
#include "golden_cases.h"

namespace profgate::render {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// Made-up runs: without a device, and with one.
std::vector<profiled_run> two_runs() {
  return {{"first", analysis::profile_json(golden_cases().front().facts)},
          {"with <kernels>", analysis::profile_json(golden_cases().back().facts)}};
}

TEST(models_table, has_a_row_a_run_the_fastest_first_and_reasons_for_gaps) {
  const json rows = json::parse(models_json(two_runs()))["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_GE(rows[0]["tokens_median_per_s"], rows[1]["tokens_median_per_s"]);
  for (const json& row : rows)
    for (const auto& [key, value] : row.items())
      EXPECT_TRUE(!value.is_null() || row["not_measured"].value(key, "") != "") << key;
}

TEST(models_table, sums_idle_time_and_kinds_of_work_over_all_stages) {
  json profile = json::parse(two_runs()[1].profile_json);
  profile["stages"][0]["idle"] = {{"busy_ns", 60.0}, {"idle_ns", 40.0}};
  profile["stages"][1]["idle"] = {{"busy_ns", 90.0}, {"idle_ns", 10.0}};
  profile["stages"][0]["categories"] = {{{"category", "gemm"}, {"own_ns", 50}},
                                        {{"category", "attention"}, {"own_ns", 40}}};
  profile["stages"][1]["categories"] = {{{"category", "attention"}, {"own_ns", 20}}};
  const json row = json::parse(models_json({{"run", profile.dump()}}))["rows"][0];
  EXPECT_DOUBLE_EQ(row["idle_ratio"], 0.25);
  EXPECT_EQ(row["largest_category"], "attention");
}

TEST(models_table, bounds_idle_time_where_that_of_a_stage_is_only_bounded) {
  json profile = json::parse(two_runs()[1].profile_json);
  profile["stages"][0]["idle"] = {{"busy_ns", 60.0}, {"idle_ns", 30.0}, {"unexplained_ns", 10.0}};
  profile["stages"][1]["idle"] = {{"busy_ns", 100.0},
                                  {"idle_ns", nullptr},
                                  {"idle_at_most_ns", 4.0},
                                  {"not_measured", {{"idle_ns", "its kernels took long"}}}};
  const std::string text = models_json({{"run", profile.dump()}});
  const json row = json::parse(text)["rows"][0];
  EXPECT_TRUE(row["idle_ratio"].is_null());
  EXPECT_THAT(row["not_measured"]["idle_ratio"].get<std::string>(), HasSubstr(": its kernels took long"));
  EXPECT_DOUBLE_EQ(row["idle_at_most_ratio"], 0.17);
  EXPECT_THAT(models_markdown(text, PROFGATE_TEMPLATES_DIR), HasSubstr("| &lt; 17.0 % |"));
  EXPECT_THAT(models_html(text, PROFGATE_TEMPLATES_DIR), HasSubstr(">&lt; 17.0 %<"));
}

TEST(models_table, has_the_share_of_the_stage_that_the_ceiling_bounds) {
  json profile = json::parse(two_runs()[1].profile_json);
  profile["throughput"]["utilisation"] = {{"mfu_over_measured_ratio", 0.133},
                                          {"mbu_over_measured_ratio", 0.787}};
  profile["stages"][0]["name"] = "prefill";
  profile["stages"][0]["utilisation"] = {{"mfu_over_measured_ratio", 0.892}};
  profile["stages"][1]["name"] = "decode_all";
  profile["stages"][1]["utilisation"] = {{"mbu_over_measured_ratio", 0.905}};
  std::string text = models_json({{"run", profile.dump()}});
  const json row = json::parse(text)["rows"][0];
  EXPECT_EQ(row["prefill_mfu_over_measured_ratio"], 0.892);
  EXPECT_EQ(row["decode_mbu_over_measured_ratio"], 0.905);
  EXPECT_EQ(row["mbu_over_measured_ratio"], 0.787) << "as it was";
  for (const std::string& shown :
       {models_markdown(text, PROFGATE_TEMPLATES_DIR), models_html(text, PROFGATE_TEMPLATES_DIR)}) {
    EXPECT_THAT(shown, ::testing::AllOf(HasSubstr("89.2 %"), HasSubstr("90.5 %"), HasSubstr("prefill: MFU"),
                                        ::testing::Not(HasSubstr("78.7 %"))));
  }
  profile["stages"][1]["name"] = "step";
  text = models_json({{"run", profile.dump()}});
  EXPECT_THAT(
      models_markdown(text, PROFGATE_TEMPLATES_DIR),
      ::testing::AllOf(HasSubstr(" 78.7 % of all stages |"), HasSubstr("it has no stage decode\\_all")));
}

TEST(models_table, has_no_session_time_where_no_step_tells) {
  json profile = json::parse(two_runs()[0].profile_json);
  profile["steps"] = json::array();
  const json row = json::parse(models_json({{"run", profile.dump()}}))["rows"][0];
  EXPECT_TRUE(row["session_ns"].is_null());
  EXPECT_EQ(row["not_measured"]["session_ns"], "no step says how long it took");
}

TEST(models_table, takes_profiles_of_versions_that_had_fewer_fields) {
  json profile = json::parse(two_runs()[1].profile_json);
  for (const char* key : {"ttft", "tpot", "utilisation"}) profile["throughput"].erase(key);
  for (json& stage : profile["stages"])
    for (const char* key : {"step", "bare", "idle", "categories"}) stage.erase(key);
  profile["stages"][0]["categories"] = {json::object()};
  const json row = json::parse(models_json({{"run", profile.dump()}}))["rows"][0];
  EXPECT_TRUE(row["ttft_p50_ns"].is_null());
  EXPECT_TRUE(row["idle_ratio"].is_null());
  EXPECT_TRUE(row["largest_category"].is_null());
  EXPECT_EQ(row["stages"], json::array());
}

TEST(models_table, says_once_why_columns_are_empty_by_their_headings) {
  const std::string text = models_markdown(models_json(two_runs()), PROFGATE_TEMPLATES_DIR);
  EXPECT_THAT(text, HasSubstr("- Not measured: "));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("ratio")));
  EXPECT_THAT(models_html(models_json(two_runs()), PROFGATE_TEMPLATES_DIR), HasSubstr("<li>Not measured: "));
}

TEST(models_table, says_of_which_pairs_a_column_is_empty_unless_of_all) {
  json first = json::parse(two_runs()[0].profile_json);
  json second = json::parse(two_runs()[1].profile_json);
  const auto without_energy = [](json& profile, const char* pair, const char* reason) {
    profile["run"]["pair"] = pair;
    profile["throughput"]["energy_per_decoded_token_j"] = nullptr;
    profile["throughput"]["not_measured"]["energy_per_decoded_token_j"] = reason;
  };
  without_energy(first, "a.smoke", "too short a run");
  without_energy(second, "b.smoke", "no NVML");
  const auto shown = [&] {
    const std::string text = models_json({{"one", first.dump()}, {"two", second.dump()}});
    return models_markdown(text, PROFGATE_TEMPLATES_DIR) + models_html(text, PROFGATE_TEMPLATES_DIR);
  };
  EXPECT_THAT(shown(), ::testing::AllOf(HasSubstr("energy per token of a.smoke, because too short a run.\n"),
                                        HasSubstr("energy per token of a.smoke, because too short a run.<"),
                                        HasSubstr("energy per token of b.smoke, because no NVML.<")));
  without_energy(second, "b.smoke", "too short a run");
  EXPECT_THAT(shown(), HasSubstr("energy per token, because too short a run."));
}

TEST(models_table, has_the_times_of_stages_where_a_program_tells_no_tokens) {
  json profile = json::parse(two_runs()[1].profile_json);
  EXPECT_THAT(models_markdown(models_json({{"run", profile.dump()}}), PROFGATE_TEMPLATES_DIR),
              ::testing::Not(HasSubstr("| stages")));
  profile["throughput"]["ttft"] = json::object();
  profile["throughput"]["tpot"] = json::object();
  profile["stages"] = json::array({profile["stages"][0]});
  profile["stages"][0]["name"] = "load|<b>";
  profile["stages"][0]["step"] = {{"median_ns", 1.5e6}};
  const std::string text = models_json({{"run", profile.dump()}});
  EXPECT_THAT(models_markdown(text, PROFGATE_TEMPLATES_DIR),
              ::testing::AllOf(HasSubstr("| stages"), HasSubstr("load\\|&lt;b&gt; 1.50 ms |")));
  EXPECT_THAT(models_html(text, PROFGATE_TEMPLATES_DIR), HasSubstr("<td>load|&lt;b&gt; 1.50 ms</td>"));
}

TEST(models_table, is_shown_with_links_to_the_reports) {
  const std::string text = models_json(two_runs());
  EXPECT_THAT(models_markdown(text, PROFGATE_TEMPLATES_DIR), HasSubstr("[report](first/report.html)"));
  const std::string page = models_html(text, PROFGATE_TEMPLATES_DIR);
  EXPECT_THAT(page, HasSubstr("href=\"with%20%3Ckernels%3E/report.html\""));
  EXPECT_THAT(page, HasSubstr("tokens/s</span>"));
}

}  // namespace
}  // namespace profgate::render
