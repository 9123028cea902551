#include <csignal>

#include "child_program.h"
#include "llm/json_file.h"
#include "support.h"

namespace profgate::llm {
namespace {

using namespace testing_support;

class probe : public ::testing::Test {
 protected:
  finished_program run(const std::string& mode, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {
        PROFGATE_PROBE_PROGRAM, "--config", "unused.yaml", "--mode", mode, "--result", result_path()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(m_directory.path(), arguments,
                       {{"NVTX_INJECTION64_PATH", PROFGATE_RANGE_RECORDER}, {"RANGE_RECORD", record_path()}});
  }
  std::string record_path() const { return m_directory.file("ranges.txt"); }
  std::string result_path() const { return m_directory.file("result.json"); }
  bool has_result() const { return std::filesystem::exists(result_path()); }

  temporary_directory m_directory;
};

TEST_F(probe, keeps_the_contract_when_it_is_well) {
  ASSERT_EQ(run("profile", {"--steps", "2"}).exit_code, 0);
  const auto result = read_json_file(result_path());
  EXPECT_EQ(result.at("samples_ns").at("prefill").size(), 1U);
  EXPECT_EQ(result.at("samples_ns").at("decode_all").size(), 1U);
  EXPECT_EQ(result.at("decode_step_ns").size(), 2U);
  std::string ranges = read_text(record_path());
  const auto background = ranges.find("0 LLM:background\n");  // of the other thread, at any point
  ASSERT_NE(background, std::string::npos);
  ranges.erase(background, std::string("0 LLM:background\n").size());
  EXPECT_EQ(ranges,
            "0 LLM:prefill\n1 LLM:attn.qkv\n1 LLM:attn.core\n1 LLM:mlp.gate_up\n"
            "0 LLM:decode_all\n"
            "1 LLM:decode_step\n2 LLM:attn.qkv\n2 LLM:attn.core\n2 LLM:mlp.gate_up\n"
            "1 LLM:decode_step\n2 LLM:attn.qkv\n2 LLM:attn.core\n2 LLM:mlp.gate_up\n");
}

TEST_F(probe, bench_takes_a_sample_a_repetition_and_opens_nothing) {
  ASSERT_EQ(run("bench", {"--repetitions", "3"}).exit_code, 0);
  EXPECT_EQ(read_json_file(result_path()).at("samples_ns").at("prefill").size(), 3U);
  EXPECT_EQ(read_text(record_path()), "");
}

TEST_F(probe, dies_inside_the_range_as_asked) {
  EXPECT_EQ(run("profile", {"--fault", "exit-3-in-range"}).exit_code, 3);
  EXPECT_EQ(run("profile", {"--fault", "crash-in-range"}).signal, SIGABRT);
  EXPECT_EQ(run("profile", {"--fault", "segv-in-range"}).signal, SIGSEGV);
  EXPECT_FALSE(has_result());
  EXPECT_THAT(read_text(record_path()), ::testing::EndsWith("0 LLM:decode_all\n"));
}

TEST_F(probe, misnames_its_ranges_as_asked) {
  EXPECT_EQ(run("profile", {"--fault", "no-range"}).exit_code, 0);
  EXPECT_EQ(read_text(record_path()), "");
  EXPECT_EQ(run("profile", {"--fault", "other-domain"}).exit_code, 0);
  EXPECT_THAT(read_text(record_path()), ::testing::HasSubstr("0 other:decode_all\n"));
  EXPECT_EQ(run("profile", {"--fault", "unregistered"}).exit_code, 0);
  EXPECT_THAT(read_text(record_path()), ::testing::HasSubstr("0 LLM:plain decode_all\n"));
}

TEST_F(probe, spoils_its_result_as_asked) {
  EXPECT_EQ(run("bench", {"--fault", "no-result"}).exit_code, 0);
  EXPECT_FALSE(has_result());
  EXPECT_EQ(run("bench", {"--fault", "truncated-result"}).exit_code, 0);
  EXPECT_THROW(read_json_file(result_path()), failure);
  EXPECT_EQ(run("bench", {"--fault", "exit-3"}).exit_code, 3);
  EXPECT_NO_THROW(read_json_file(result_path()));
}

TEST_F(probe, floods_as_asked) {
  EXPECT_EQ(run("bench", {"--fault", "flood", "--flood-bytes", "100000"}).out.size(), 25U * 4096U);
}

TEST_F(probe, misbehaves_only_in_the_mode_asked_for) {
  const std::vector<std::string> options = {"--fault", "exit-3", "--fault-mode", "profile"};
  EXPECT_EQ(run("bench", options).exit_code, 0);
  EXPECT_EQ(run("profile", options).exit_code, 3);
}

TEST_F(probe, refuses_misuse_with_the_list_of_faults) {
  const auto finished = run("bench", {"--fault", "sulk"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, ::testing::HasSubstr("there is no fault 'sulk'"));
  EXPECT_THAT(finished.err, ::testing::HasSubstr("crash-in-range"));
  EXPECT_EQ(run("sideways").exit_code, 2);
  EXPECT_EQ(run("bench", {"--steps", "0"}).exit_code, 2);
}

}  // namespace
}  // namespace profgate::llm
