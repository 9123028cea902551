#include <fstream>
#include <nlohmann/json.hpp>

#include "pair_fixture.h"
#include "process/command.h"

/// nsys and the embedded collector, gated and not, must see the same ranges of the same program.
namespace profgate::integration {
namespace {

class timeline_tools : public pair_fixture {
 protected:
  void SetUp() override {
    pair_fixture::SetUp();
    m_environment.clear();
    if (!process::find_program("nsys", getenv("PATH"))) GTEST_SKIP() << "nsys is not on PATH";
  }

  /// Calls by "stage/operator", and the stages themselves, as profile.json of a fresh run has them.
  std::map<std::string, std::int64_t> calls_seen_with(const std::vector<std::string>& overrides,
                                                      const std::string& tool) {
    const command_result result = run_pair(register_llm("llm/llama-tiny", "smoke"), overrides);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_EQ(status_of("timeline").tool, tool);
    std::map<std::string, std::int64_t> calls;
    const nlohmann::json profile = nlohmann::json::parse(text_of("profile.json"));
    for (const nlohmann::json& stage : profile.at("stages")) {
      const std::string name = stage.at("name");
      for (const nlohmann::json& op : stage.at("operators"))
        calls[name + "/" + op.at("op_name").get<std::string>()] = op.at("calls_count");
    }
    return calls;
  }
};

TEST_F(timeline_tools, agree_on_every_stage_and_operator_gated_or_not) {
  const auto nsys_gated = calls_seen_with({"timeline=nsys"}, "nsys");
  EXPECT_TRUE(std::filesystem::exists(latest_run() / "nsys/run.nsys-rep"));
  EXPECT_TRUE(std::filesystem::exists(latest_run() / "nsys/run.sqlite"));
  EXPECT_TRUE(std::filesystem::exists(latest_run() / "nsys/run_nvtxppsum.csv") ||
              std::filesystem::exists(latest_run() / "nsys/run_nvtx_pushpop_sum.csv"));
  EXPECT_EQ(nsys_gated.at("decode_all/lm_head"), 24);
  EXPECT_EQ(nsys_gated.at("prefill/attn.core"), 3);
  EXPECT_EQ(calls_seen_with({"timeline=nsys", "profiling/nsys=ungated"}, "nsys"), nsys_gated);
  EXPECT_EQ(calls_seen_with({"timeline=embedded"}, "embedded"), nsys_gated);
  EXPECT_EQ(calls_seen_with({"timeline=embedded", "profiling/nsys=ungated"}, "embedded"), nsys_gated);
}

/// What doctor says of nsys's agents: others on the machine may have left some before.
std::string agents_line(const std::string& doctor) {
  const std::size_t at = doctor.find("nsys agents");
  return at == std::string::npos ? "no line" : doctor.substr(at, doctor.find('\n', at) - at);
}

/// nsys writes its report only if it is asked to end; killed outright it leaves none, and an agent behind.
TEST_F(timeline_tools, a_hang_under_nsys_ends_at_the_deadline_with_a_report) {
  const std::string agents_before = agents_line(profgate({"doctor"}).output);
  const command_result result = run_pair(
      register_probe({"--fault", "hang-in-range", "--fault-mode", "profile"}),
      {"timeline=nsys", "profiling/nsys=ungated", "run.step_timeout_s=10", "run.interrupt_grace_s=60"});
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_EQ(status_of("timeline").state, core::step_state::failed);
  EXPECT_THAT(status_of("timeline").reason, ::testing::HasSubstr("did not end in time"));
  EXPECT_TRUE(std::filesystem::exists(latest_run() / "nsys/run.nsys-rep"));
  EXPECT_EQ(agents_line(profgate({"doctor"}).output), agents_before);
}

/// `nsys stats` imports every *.py of the folder that it stands in, one named like its report instead of it.
TEST_F(timeline_tools, run_nothing_that_lies_in_the_users_folder) {
  const std::filesystem::path marker = m_project / "was-imported";
  for (const char* name : {"train.py", "gpukernsum.py", "nvtxppsum.py"})
    std::ofstream(m_project / name) << "open('" << marker.string() << "', 'w')\n";
  EXPECT_THAT(profgate({"doctor"}).output, ::testing::HasSubstr("nsys"));
  EXPECT_FALSE(std::filesystem::exists(marker)) << "by doctor";
  const command_result result = run_pair(register_probe({}), {"timeline=nsys", "profiling/nsys=ungated"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(status_of("timeline").tool, "nsys");
  EXPECT_FALSE(std::filesystem::exists(marker)) << "by a run";
}

TEST_F(timeline_tools, the_collector_takes_over_where_nsys_is_hidden) {
  m_environment["PROFGATE_NSYS"] = "none";
  EXPECT_FALSE(calls_seen_with({}, "embedded").empty());
  EXPECT_THAT(status_of("timeline").notes, ::testing::Contains(::testing::HasSubstr("embedded collector")));
}

TEST_F(timeline_tools, asking_for_a_missing_nsys_by_name_is_a_skip_that_says_so) {
  m_environment["PROFGATE_NSYS"] = "none";
  const command_result result = run_pair(register_probe({}), {"timeline=nsys"});
  EXPECT_EQ(status_of("timeline").state, core::step_state::skipped);
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

}  // namespace
}  // namespace profgate::integration
