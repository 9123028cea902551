#include "profilers/capture_counters.h"

#include <fstream>
#include <iterator>
#include <latch>
#include <mutex>

#include "capture_fixture.h"
#include "parsers/ncu.h"

namespace profgate::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

const fs::path ncu_recordings = fs::path(PROFGATE_TEST_DATA) / "nsight" / "h200-2025.3.1" / "ncu";

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool has_word(const profilers::tool_command& command, const std::string& word) {
  return std::find(command.argv.begin(), command.argv.end(), word) != command.argv.end();
}

/// Stands for an ncu on a machine with a GPU: says and leaves what the real one was recorded to.
class fake_ncu {
 public:
  std::string profile_output;  ///< what a profiled run prints
  profilers::tool_run ending;  ///< how it ends
  bool leaves_report = true;
  std::string table = content_of(ncu_recordings / "ncu_deep_raw.csv");
  std::vector<profilers::tool_command> commands;

  fake_ncu() { ending.started = true; }

  profilers::tool_run operator()(const profilers::tool_command& command) {
    const std::lock_guard lock(m_one_at_a_time);
    commands.push_back(command);
    profilers::tool_run good;
    good.started = true;
    if (has_word(command, "--list-sections")) {
      write(command.log_file, content_of(ncu_recordings / "ncu_list_sections.txt"));
      return good;
    }
    if (has_word(command, "--import")) {
      write(command.log_file, table);
      return good;
    }
    write(command.log_file, profile_output);
    if (leaves_report) {
      const auto base = std::find(command.argv.begin(), command.argv.end(), "--export");
      std::ofstream(*(base + 1) + ".ncu-rep") << "report";
    }
    return ending;
  }

 private:
  static void write(const fs::path& file, const std::string& text) {
    std::ofstream(file, std::ios::app | std::ios::binary) << text;
  }

  std::mutex m_one_at_a_time;
};

class capture_counters : public ::testing::Test {
 protected:
  capture_counters() {
    m_request.executable = "/opt/ncu";
    m_request.workload = {"app"};
    m_request.output_folder = m_folder.path();
    m_request.log_file = m_folder / "log.txt";
    m_request.columns = {"gpu__time_duration.sum"};
    m_request.ncu.metrics = {"gpu__time_duration.sum"};
    m_request.sessions = {{"", "decode_all", {{"LLM@decode_all/"}, {"_Zk"}, {}, 5, 6}}};
    m_ncu.profile_output = content_of(ncu_recordings / "ncu_deep.log");
  }

  profilers::counters_result capture() {
    return profilers::capture_counters(
        m_request, [this](const profilers::tool_command& command) { return m_ncu(command); });
  }
  template <typename error>
  std::string words() {
    try {
      capture();
    } catch (const error& problem) {
      EXPECT_NE(problem.remedy(), "") << problem.what();
      return problem.what();
    }
    return "";
  }
  /// The log as it was recorded, no report, exit code as given.
  void says(const std::string& log, int exit_code = 0) {
    m_ncu.profile_output = content_of(ncu_recordings / log);
    m_ncu.leaves_report = false;
    m_ncu.ending.exit_code = exit_code;
  }

  temp_folder m_folder;
  profilers::counters_request m_request;
  fake_ncu m_ncu;
};

TEST_F(capture_counters, leaves_the_bundle) {
  std::ofstream(m_folder / "raw.csv") << "stale";
  const profilers::counters_result result = capture();
  EXPECT_EQ(result.launches.size(), 6U);
  EXPECT_THAT(result.notes, IsEmpty());
  for (const char* name : {"run.ncu-rep", "raw.csv", "counters.csv", "sections.txt"}) {
    EXPECT_TRUE(fs::exists(m_folder / name)) << name;
    EXPECT_THAT(result.files, Contains(m_folder / name));
  }
  EXPECT_EQ(content_of(m_folder / "raw.csv"), m_ncu.table);
  EXPECT_EQ(parsers::read_ncu_counters(m_folder / "counters.csv").size(), 6U);
  EXPECT_FALSE(fs::exists(m_folder / "raw.csv.unfinished"));
  EXPECT_FALSE(fs::exists(m_folder / "home")) << "ncu's copies of its sections";
}

TEST_F(capture_counters, sets_home_and_locale_of_helpers_and_leaves_the_workload_its_own) {
  capture();
  for (const profilers::tool_command& command : m_ncu.commands) {
    EXPECT_EQ(command.set_environment.at("NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT"), "1");
    EXPECT_EQ(command.runs_workload, has_word(command, "--export"));
    EXPECT_EQ(command.set_environment.contains("HOME"), !command.runs_workload);
    if (!command.runs_workload) {
      EXPECT_EQ(command.set_environment.at("HOME"), (m_folder / "home").string());
    }
    EXPECT_THAT(command.unset_environment, Contains("NVTX_INJECTION64_PATH"));
    if (has_word(command, "--import")) {
      EXPECT_EQ(command.set_environment.at("LC_ALL"), "C");
    }
  }
}

TEST_F(capture_counters, runs_once_for_each_session) {
  m_request.sessions.push_back({"prefill", "prefill", {{"LLM@prefill/"}, {}, {}, 0, 9}});
  EXPECT_EQ(capture().launches.size(), 12U);
  for (const char* name : {"run-prefill.ncu-rep", "raw-prefill.csv", "counters-prefill.csv"}) {
    EXPECT_TRUE(fs::exists(m_folder / name)) << name;
  }
}

/// One after the other they would wait for each other for ever.
TEST_F(capture_counters, writes_all_tables_at_once_when_everything_is_recorded) {
  m_request.sessions.push_back({"prefill", "prefill", {{"LLM@prefill/"}, {}, {}, 0, 9}});
  std::latch tables(5);  // the sections, and two of each session
  const auto run = [&](const profilers::tool_command& command) {
    if (!command.runs_workload) tables.arrive_and_wait();
    return m_ncu(command);
  };
  EXPECT_EQ(profilers::capture_counters(m_request, run).launches.size(), 12U);
  ASSERT_EQ(m_ncu.commands.size(), 7U);
  EXPECT_TRUE(m_ncu.commands[0].runs_workload);
  EXPECT_TRUE(m_ncu.commands[1].runs_workload);
}

TEST_F(capture_counters, a_list_of_sections_that_fails_is_a_note) {
  const auto run = [&](const profilers::tool_command& command) {
    profilers::tool_run done = m_ncu(command);
    if (has_word(command, "--list-sections")) {
      done.exit_code = 4;
      done.description = "exited with code 4";
    }
    return done;
  };
  const profilers::counters_result result = profilers::capture_counters(m_request, run);
  EXPECT_EQ(result.launches.size(), 6U);
  EXPECT_THAT(result.notes, ElementsAre("no sections.txt: 'ncu --list-sections' exited with code 4"));
}

TEST_F(capture_counters, says_why_no_kernel_matched_though_ncu_ends_well) {
  says("ncu_nokernel.log");
  EXPECT_THAT(words<core::step_failure>(),
              AllOf(HasSubstr("ncu profiled nothing: decode_all: none of its kernels matched the names"),
                    HasSubstr("it launched choose_kernel, embed_kernel, gemv"), HasSubstr("and 6 more")));
  says("ncu_norange.log");
  EXPECT_THAT(words<core::step_failure>(), HasSubstr("no kernel was launched inside of the NVTX range"));
  const auto starts =
      std::count_if(m_ncu.commands.begin(), m_ncu.commands.end(),
                    [](const profilers::tool_command& command) { return has_word(command, "--export"); });
  EXPECT_EQ(starts, 2) << "another start would find as little";
}

/// torch.compile tunes by time: under ncu it tried its kernels less often than under nsys.
TEST_F(capture_counters, counts_earlier_where_the_program_ended_before_the_launches_to_count) {
  m_request.sessions[0].filter.skip = 1365;
  std::vector<std::string> skipped;
  const auto run = [&](const profilers::tool_command& command) {
    if (const auto skip = std::find(command.argv.begin(), command.argv.end(), "--launch-skip");
        skip != command.argv.end()) {
      says(skipped.empty() ? "ncu_all_skipped.log" : "ncu_deep.log");
      m_ncu.leaves_report = !skipped.empty();
      skipped.push_back(*(skip + 1));
    }
    return m_ncu(command);
  };
  const profilers::counters_result result = profilers::capture_counters(m_request, run);
  EXPECT_THAT(skipped, ElementsAre("1365", "682"));
  EXPECT_EQ(result.launches.size(), 6U);
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("decode_all: under ncu it launched fewer than the 1365")));
}

TEST_F(capture_counters, one_empty_session_of_two_is_a_note) {
  m_request.sessions.push_back({"prefill", "prefill", {{"LLM@prefill/"}, {}, {}, 0, 9}});
  int runs = 0;
  const auto run = [&](const profilers::tool_command& command) {
    if (has_word(command, "--export")) {
      says(runs == 0 ? "ncu_deep.log" : "ncu_norange.log");
      m_ncu.leaves_report = runs++ == 0;
    }
    return m_ncu(command);
  };
  const profilers::counters_result result = profilers::capture_counters(m_request, run);
  EXPECT_EQ(result.launches.size(), 6U);
  EXPECT_THAT(result.notes,
              ElementsAre(HasSubstr("ncu counted nothing in prefill: no kernel was launched inside")));
}

TEST_F(capture_counters, notes_a_metric_that_the_chip_lacks) {
  m_request.ncu.metrics = {"gpu__time_duration.sum", "no_such__metric.sum"};
  m_ncu.profile_output = content_of(ncu_recordings / "ncu_nometric.log");
  m_ncu.table = content_of(ncu_recordings / "ncu_nometric_raw.csv");
  EXPECT_THAT(capture().notes, ElementsAre(HasSubstr("ncu did not count no_such__metric.sum")));
}

TEST_F(capture_counters, an_unknown_section_is_bad_input) {
  says("ncu_nosection.log", 1);
  EXPECT_THAT(words<core::bad_input>(),
              HasSubstr("ncu knows nothing that matches '--section NoSuchSection'"));
}

/// Cannot be provoked without a GPU whose driver denies counters; the words are the driver's.
TEST_F(capture_counters, denied_counters_are_a_skip) {
  const std::string denied =
      "==PROF== Connected to process 1\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to "
      "access "
      "NVIDIA GPU Performance Counters on the target device 0.\n" +
      std::string(10000, 'x') + "\nlogits: 0x1\n==PROF== Disconnected from process 1\n";
  for (const int exit_code : {0, 1}) {
    m_ncu.profile_output = denied;
    m_ncu.leaves_report = false;
    m_ncu.ending.exit_code = exit_code;
    EXPECT_THAT(words<core::not_possible>(), HasSubstr("administrators only (ERR_NVGPUCTRPERM)"));
  }
}

TEST_F(capture_counters, the_workloads_failure_is_its_own) {
  m_ncu.ending.exit_code = 3;
  m_ncu.profile_output = "==PROF== Report: x\n==ERROR== The application returned an error code (3).\n";
  EXPECT_THAT(words<core::step_failure>(), HasSubstr("the workload under ncu failed: exit code 3"));
  m_ncu.profile_output = "no GPU\n";
  EXPECT_THAT(words<core::step_failure>(), HasSubstr("the workload under ncu failed: exit code 3"));
  EXPECT_TRUE(fs::exists(m_folder / "run.ncu-rep")) << "what was recorded is kept";
  m_ncu.ending.exit_code = 1;
  m_ncu.profile_output = "==ERROR== Failed to prepare kernel for profiling\n";
  EXPECT_THAT(words<core::step_failure>(), HasSubstr("ncu failed (exit code 1): Failed to prepare kernel"));
}

TEST_F(capture_counters, a_killed_interrupted_or_late_tool_fails) {
  m_ncu.ending.signal = 9;
  EXPECT_THAT(words<core::step_failure>(), HasSubstr("SIGKILL"));
  m_ncu.ending = {};
  m_ncu.ending.started = true;
  m_ncu.ending.timed_out = true;
  EXPECT_THAT(words<core::step_failure>(), HasSubstr("did not end in time"));
  m_ncu.ending.timed_out = false;
  m_ncu.ending.interrupted = true;
  EXPECT_THAT(words<core::interrupted>(), HasSubstr("interrupted while the workload under ncu ran"));
  m_ncu.ending = {};
  EXPECT_THAT(words<core::step_failure>(), HasSubstr("could not be started"));
}

TEST_F(capture_counters, a_silent_end_without_a_report_fails) {
  m_ncu.leaves_report = false;
  m_ncu.profile_output = "hello\n";
  EXPECT_THAT(words<core::step_failure>(), HasSubstr("ncu ended well but made no "));
}

TEST_F(capture_counters, a_damaged_table_is_bad_input) {
  m_ncu.table = m_ncu.table.substr(0, m_ncu.table.size() / 2);
  EXPECT_THAT(words<core::bad_input>(), HasSubstr("counters.csv:"));
}

}  // namespace
}  // namespace profgate::test
