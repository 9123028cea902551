#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "pair_fixture.h"

/// A run's folder that somebody else made, and not to be read.
namespace profgate::integration {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class hostile_run : public pair_fixture {
 protected:
  void SetUp() override {
    pair_fixture::SetUp();
    m_run = m_project / "20250102-030405-hostile.run";
    for (const char* folder : {"nsys", "ncu", "stage1"}) fs::create_directories(m_run / folder);
    put("run.json",
        R"({"schema_version": "1.0", "run_id": "20250102-030405-hostile.run", "pair": "hostile.run",)"
        R"( "created_utc": "2025-01-02T03:04:05Z"})");
    put("config.yaml", "workload:\n  device: cpu\nnsys:\n  gating_nvtx: false\n");
    put("env.json", "{}");
    put("stage1/result.json", R"({"schema_version": 1, "samples_ns": {"prefill": [5], "decode_all": [7]}})");
  }

  void put(const std::string& file, const std::string& text) const {
    std::ofstream(m_run / file, std::ios::binary) << text;
  }
  void put_fifo(const std::string& file) const {
    fs::remove(m_run / file);
    ASSERT_EQ(::mkfifo((m_run / file).c_str(), 0600), 0);
  }
  /// What it says when it refuses the run. One that is killed, or that hangs until the test's end, fails.
  std::string refusal(const std::string& command) const {
    const command_result result = profgate({command, m_run.string()});
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_THAT(result.output, AllOf(HasSubstr("to fix it:"), Not(HasSubstr("a fault of profgate"))));
    return result.output;
  }

  fs::path m_run;
};

TEST_F(hostile_run, is_an_ordinary_one_before_it_is_tampered_with) {
  const command_result analyzed = profgate({"analyze", m_run.string()});
  EXPECT_EQ(analyzed.exit_code, 0) << analyzed.output;
  const command_result rendered = profgate({"render", m_run.string()});
  EXPECT_EQ(rendered.exit_code, 0) << rendered.output;
}

TEST_F(hostile_run, may_be_named_in_every_way_that_leads_to_it) {
  const fs::path link = m_project / "link";
  fs::create_directory_symlink(m_run, link);
  for (const std::string& name : {m_run.string() + "/", link.string(), m_run.string() + "/."}) {
    const command_result analyzed = profgate({"analyze", name});
    EXPECT_EQ(analyzed.exit_code, 0) << name << ": " << analyzed.output;
  }
  const command_result inside =
      run({"sh", "-c", "cd '" + m_run.string() + "' && '" + m_program.string() + "' analyze ."});
  EXPECT_EQ(inside.exit_code, 0) << inside.output;
}

TEST_F(hostile_run, that_was_renamed_is_refused_with_the_reason) {
  const std::string name = m_run.filename().string();
  const fs::path renamed = m_run.parent_path() / "the-slow-one";
  fs::rename(m_run, renamed);
  m_run = renamed;
  EXPECT_THAT(refusal("analyze"), AllOf(HasSubstr("was renamed: it is the run " + name), HasSubstr("mv ")));
}

TEST_F(hostile_run, has_nothing_written_through_its_links) {
  const fs::path outside = m_project / "outside";
  fs::create_directories(outside);
  for (const char* file : {"report.md", "report.json", "metrics.json"})
    std::ofstream(outside / file) << "mine";
  fs::create_directory_symlink(outside, m_run / "ncu" / "regions");
  EXPECT_THAT(refusal("analyze"), HasSubstr("ncu/regions: is a link that leads out of the run's folder"));
  fs::remove(m_run / "ncu" / "regions");
  fs::remove_all(m_run / "stage1");
  fs::create_directory_symlink(outside, m_run / "stage1");
  EXPECT_THAT(refusal("analyze"), HasSubstr("stage1: is a link"));
  for (const fs::directory_entry& entry : fs::directory_iterator(outside)) {
    EXPECT_EQ(fs::file_size(entry.path()), 4U) << entry.path();
  }
}

TEST_F(hostile_run, has_no_file_of_others_read_through_its_links) {
  std::ofstream(m_project / "secrets.json") << R"({"key": "of somebody else"})";
  fs::remove(m_run / "env.json");
  fs::create_symlink(m_project / "secrets.json", m_run / "env.json");
  EXPECT_THAT(refusal("analyze"), HasSubstr("env.json: is a link that leads out"));
  EXPECT_FALSE(fs::exists(m_run / "profile.json"));
}

TEST_F(hostile_run, does_not_hang_on_a_fifo) {
  for (const std::string file :
       {"stage1/result.json", "nsys/run.sqlite", "ncu/counters.csv", "config.yaml", "nsys/status.json"}) {
    const fs::path kept = m_project / "kept";
    const bool was_there = fs::exists(m_run / file);
    if (was_there) fs::rename(m_run / file, kept);
    put_fifo(file);
    EXPECT_THAT(refusal("analyze"), HasSubstr(file + ": is a FIFO, not a file"));
    fs::remove(m_run / file);
    if (was_there) fs::rename(kept, m_run / file);
  }
  put_fifo("profile.json");
  EXPECT_THAT(refusal("render"), HasSubstr("profile.json: is a FIFO"));
}

TEST_F(hostile_run, does_not_end_in_a_crash_by_depth) {
  const std::string deep = R"({"machine": )" + std::string(200'000, '[') + std::string(200'000, ']') + "}";
  put("env.json", deep);
  EXPECT_THAT(refusal("analyze"), HasSubstr("env.json: not valid JSON for profgate: nested more than"));
  put("env.json", "{}");
  put("stage1/result.json", deep);
  EXPECT_THAT(refusal("analyze"), HasSubstr("result.json: not valid JSON"));
  put("profile.json", deep);
  EXPECT_THAT(refusal("render"), HasSubstr("profile.json: not valid JSON"));
}

TEST_F(hostile_run, does_not_fill_the_memory) {
  fs::resize_file(m_run / "env.json", std::uintmax_t{1} << 40);  // no room is taken on the disk
  EXPECT_THAT(refusal("analyze"), HasSubstr("env.json: is larger than"));
}

/// compare and accept read single files of the folder, whatever else lies in it.
class hostile_run_set : public hostile_run {
 protected:
  void SetUp() override {
    hostile_run::SetUp();
    use_git_identity();
    fs::create_directories(m_run / "gate");
    ASSERT_EQ(profgate({"analyze", m_run.string()}).exit_code, 0);
    fs::copy_file(fs::path(PROFGATE_TEST_DATA) / "gate/stored-same-build/candidate.runs.json", run_set());
  }
  fs::path run_set() const { return m_run / "gate" / "candidate.runs.json"; }
  /// Of both commands; neither writes anything.
  std::string refusals() const {
    std::string said;
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"compare", m_run.string(), m_run.string()},
          {"baseline", "accept", m_run.string(), "--reason", "hostile"}}) {
      const command_result result = profgate(words);
      EXPECT_EQ(result.exit_code, 2) << words.front() << ": " << result.output;
      EXPECT_THAT(result.output, AllOf(HasSubstr("to fix it:"), Not(HasSubstr("a fault of profgate"))));
      said += result.output;
    }
    EXPECT_FALSE(fs::exists(m_project / "conf/baselines"));
    return said;
  }
  /// Both files of the run that these commands read.
  void put_both(const std::string& text) const {
    put("profile.json", text);
    put("gate/candidate.runs.json", text);
  }
};

TEST_F(hostile_run_set, is_an_ordinary_one_before_it_is_tampered_with) {
  const command_result compared = profgate({"compare", m_run.string(), m_run.string()});
  EXPECT_EQ(compared.exit_code, 0) << compared.output;
  const command_result accepted = profgate({"baseline", "accept", m_run.string(), "--reason", "kind"});
  EXPECT_EQ(accepted.exit_code, 0) << accepted.output;
}

TEST_F(hostile_run_set, does_not_hang_on_a_fifo) {
  put_fifo("profile.json");
  put_fifo("gate/candidate.runs.json");
  refusals();
}

TEST_F(hostile_run_set, tells_nothing_of_the_files_that_its_links_lead_to) {
  std::ofstream(m_project / "secrets") << "password: hunter2\n";
  for (const fs::path& file : {m_run / "profile.json", run_set()}) {
    fs::remove(file);
    fs::create_symlink(m_project / "secrets", file);
  }
  EXPECT_THAT(refusals(), AllOf(HasSubstr("is a link that leads out"), Not(HasSubstr("hunter2"))));
}

TEST_F(hostile_run_set, does_not_end_in_a_crash_by_depth_or_numbers) {
  put_both(R"({"schema_version": )" + std::string(200'000, '[') + std::string(200'000, ']') + "}");
  EXPECT_THAT(refusals(), HasSubstr("nested more than"));
  for (const char* number : {"1e999", "-1e999", "99999999999999999999999999", "NaN"}) {
    put_both(R"({"schema_version": )" + std::string(number) + "}");
    refusals();
  }
}

TEST_F(hostile_run_set, commands_no_terminal) {
  put_both(R"({"schema_version": "\u001b]0;owned\u0007\u009b2J", "\u001b]0;owned\u0007": 1})");
  EXPECT_THAT(refusals(), AllOf(Not(HasSubstr("\x1B")), Not(HasSubstr("\x07")), Not(HasSubstr("\xC2\x9B"))));
}

TEST_F(hostile_run, commands_no_terminal) {
  put("stage1/result.json", R"({"schema_version": 1, "samples_ns": {"\u001b]0;owned\u0007\u009b2J": []}})");
  EXPECT_THAT(refusal("analyze"), AllOf(HasSubstr("owned"), Not(HasSubstr("\x1B")), Not(HasSubstr("\x07")),
                                        Not(HasSubstr("\xC2\x9B"))));
}

}  // namespace
}  // namespace profgate::integration
