#include <algorithm>
#include <fstream>
#include <map>

#include "capture_fixture.h"
#include "parsers/nsys_csv.h"
#include "parsers/timeline.h"

namespace profgate::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

/// Without the real tool: what nsys can do wrong.
class capture_with_fake_nsys : public capture_test {
 protected:
  capture_with_fake_nsys() {
    m_request.lock_file = m_folder / "lock";
    m_nsys.executable = "/opt/nsys";
    m_nsys.version = "1.2.3";
    set_script({"exit:0"});
  }

  /// Runs with an nsys that prints `output`, exits with `exit_code` and leaves `left_files`.
  std::string words(const std::string& output, int exit_code, const std::vector<std::string>& left_files) {
    return words_of_failure([&] {
      profilers::capture_with_nsys(m_request, m_nsys, [&](const profilers::tool_command& command) {
        profilers::tool_run run;
        run.started = true;
        if (command.argv.front() != "/opt/nsys") return run_by_fork(command);
        ++m_starts;
        run.tail = output;
        run.exit_code = exit_code;
        run.timed_out = m_times_out;
        for (const std::string& name : left_files) std::ofstream(m_folder / name) << "x";
        return run;
      });
    });
  }

  profilers::nsys_installation m_nsys;
  int m_starts = 0;
  bool m_times_out = false;
};

TEST_F(capture_with_fake_nsys, knows_the_wedge) {
  EXPECT_THAT(words("Agent launcher failed", 1, {}),
              AllOf(HasSubstr("could not start its agent"), HasSubstr("remove /dev/shm/NSys-*")));
}

TEST_F(capture_with_fake_nsys, knows_its_own_fault_from_the_workloads) {
  EXPECT_THAT(
      words("exception type: QuadDCommon::SystemException\n[errinfo_api_function_*] = sem_open\n", 1, {}),
      AllOf(HasSubstr("nsys itself failed before the workload began"), HasSubstr("timeline=embedded")));
}

TEST_F(capture_with_fake_nsys, runs_once_more_where_nsys_failed_at_once_and_left_nothing) {
  EXPECT_THAT(words("Processing events...\nno session\n\n", 1, {}),
              HasSubstr("the workload under nsys failed: exit code 1: no session"));
  EXPECT_EQ(m_starts, 2);
  m_starts = 0;
  EXPECT_THAT(words("boo\n", 1, {"run.qdstrm"}), HasSubstr("failed: exit code 1: boo"));
  EXPECT_EQ(m_starts, 1) << "a workload that fails leaves a report";
  EXPECT_THAT(words("boo\n  to fix it: say please\n", 1, {"run.qdstrm"}),
              AllOf(HasSubstr("failed: exit code 1: boo"), HasSubstr("say please (its output is in ")));
}

TEST_F(capture_with_fake_nsys, runs_once_more_where_its_agent_was_lost_although_it_says_that_all_is_well) {
  m_request.is_gated = false;
  EXPECT_THAT(words("Connection to the Agent lost.\nConnection to the Agent lost.\n", 0, {}),
              HasSubstr("nsys made no report"));
  EXPECT_EQ(m_starts, 2);
}

TEST_F(capture_with_fake_nsys, that_waits_for_what_the_workload_left_running_says_so_at_the_deadline) {
  m_times_out = true;
  EXPECT_THAT(words("Waiting for termination of re-parented processes.\n", -1, {}),
              AllOf(HasSubstr("the workload ended under nsys, but left processes running"),
                    HasSubstr("let the program end what it starts")));
  EXPECT_THAT(words("step 3\n", -1, {}), HasSubstr("the workload under nsys did not end in time"));
}

TEST_F(capture_with_fake_nsys, names_a_missing_importer_and_its_missing_library) {
  EXPECT_THAT(words("", 0, {"run.qdstrm"}),
              HasSubstr("its importer QdstrmImporter, which makes the report of it, is not there"));
  m_nsys.importer = "/opt/QdstrmImporter";
  m_nsys.missing_libraries = {"libdw.so.1"};
  EXPECT_THAT(words("", 0, {"run.qdstrm"}),
              AllOf(HasSubstr("misses libdw.so.1"), HasSubstr("apt-get install libdw1")));
  EXPECT_TRUE(fs::exists(m_folder / "run.qdstrm")) << "what was recorded is kept";
}

TEST_F(capture_with_fake_nsys, tries_again_where_the_range_did_open) {
  set_script({"push:LLM:decode_all", "pop:LLM"});
  EXPECT_THAT(words("", 0, {}),
              AllOf(HasSubstr("no report in 12 attempts, although the workload opened the range "
                              "'decode_all@LLM'"),
                    HasSubstr("timeline=embedded")));
  set_script({"push:LLM:prefill", "pop:LLM"});
  EXPECT_THAT(words("", 0, {}), HasSubstr("never opened the NVTX range 'decode_all'"));
}

TEST_F(capture_with_fake_nsys, the_workloads_failure_comes_before_the_importers) {
  EXPECT_THAT(words("", 3, {"run.qdstrm"}), HasSubstr("the workload under nsys failed: exit code 3"));
  EXPECT_THAT(words("", 139, {}), HasSubstr("SIGSEGV"));
}

TEST_F(capture_with_fake_nsys, a_report_that_cannot_be_read_is_a_failure) {
  EXPECT_THROW(profilers::capture_with_nsys(m_request, m_nsys,
                                            [&](const profilers::tool_command&) {
                                              profilers::tool_run run;
                                              run.started = true;
                                              std::ofstream(m_folder / "run.nsys-rep") << "x";
                                              return run;
                                            }),
               core::bad_input)
      << "the export left no SQLite file";
}

/// With the real one. Each test runs it once or twice; all hold the machine-wide lock.
class capture_with_real_nsys : public capture_test {
 protected:
  void SetUp() override {
    const auto environment = profilers::tool_environment::of_this_process();
    const profilers::tool_location location = profilers::find_nsys(environment);
    if (!location.executable) GTEST_SKIP() << location.reason;
    m_nsys = profilers::inspect_nsys(*location.executable, environment, run_by_fork);
    ASSERT_TRUE(m_nsys.importer) << "no importer beside " << *location.executable;
    if (!m_nsys.missing_libraries.empty()) {
      GTEST_SKIP() << "nsys's importer lacks a library: "
                   << profilers::missing_library_remedy(m_nsys.missing_libraries);
    }
  }

  profilers::capture_result capture() { return profilers::capture_with_nsys(m_request, m_nsys, run_by_fork); }

  /// A program that fails is not run again, so it must not open its gate before nsys is ready.
  static std::vector<std::string> late(std::vector<std::string> script) {
    script.insert(script.begin(), {"push:LLM:warm_up", "pop:LLM", "work:300000"});
    return script;
  }
  std::string words() {
    return words_of_failure([&] { capture(); });
  }

  profilers::nsys_installation m_nsys;
};

TEST_F(capture_with_real_nsys, gates_once_for_each_stage_and_replaces_old_files) {
  std::ofstream(m_folder / "run.sqlite") << "stale";
  std::ofstream(m_folder / "run.nsys-rep") << "stale";
  set_script({"push:LLM:prefill", "pop:LLM", "push:LLM:between", "pop:LLM", "push:LLM:decode_all",
              "many:LLM:decode_step:3", "pop:LLM"});
  m_request.ranges.push_back({"prefill", "LLM"});
  const profilers::capture_result result = capture();
  EXPECT_EQ(result.capture_ranges, "decode_all@LLM,prefill@LLM");
  EXPECT_EQ(result.version, m_nsys.version);
  EXPECT_THAT(result.timeline_files, ElementsAre(m_folder / "run.sqlite", m_folder / "run.prefill.sqlite"));
  EXPECT_THAT(recorded_names(result),
              ElementsAre("decode_all", "decode_step", "decode_step", "decode_step", "prefill"));
  EXPECT_THAT(result.files, Contains(m_folder / "run.nsys-rep"));
  const auto csv_name = profilers::name_of_report(m_nsys, profilers::nsys_report::nvtx_push_pop_sum);
  const fs::path csv = m_folder / ("run_" + csv_name.value_or("") + ".csv");
  EXPECT_THAT(result.files, Contains(csv));
  EXPECT_EQ(parsers::read_nvtx_pushpop_csv(csv).size(), 2U);
  EXPECT_FALSE(fs::exists(m_folder / "run.qdstrm"));
}

TEST_F(capture_with_real_nsys, gates_once_on_a_range_around_all_stages) {
  set_script({"push:LLM:warm_up", "pop:LLM", "push:LLM:generate", "push:LLM:prefill", "pop:LLM",
              "push:LLM:decode_all", "many:LLM:decode_step:3", "pop:LLM", "pop:LLM"});
  m_request.ranges.push_back({"prefill", "LLM"});
  m_request.around_all = {"generate", "LLM"};
  const profilers::capture_result result = capture();
  EXPECT_EQ(result.capture_ranges, "generate@LLM");
  EXPECT_THAT(result.timeline_files, ElementsAre(m_folder / "run.sqlite"));
  EXPECT_THAT(recorded_names(result),
              ElementsAre("generate", "prefill", "decode_all", "decode_step", "decode_step", "decode_step"));
  m_request.ranges.push_back({"encode", "LLM"});
  EXPECT_THAT(words(), HasSubstr("encode")) << "a stage that is not in it is a failure as ever";
}

TEST_F(capture_with_real_nsys, ungated_counts_what_the_embedded_collector_counts) {
  set_script({"push:LLM:prefill", "many:LLM:op:5", "pop:LLM", "ascii:LLM:decode_all", "many:LLM:op:7",
              "pop:LLM", "threads:2:op:3"});
  m_request.is_gated = false;
  const auto counts = [&](const profilers::capture_result& result) {
    std::map<std::string, int> by_name;
    for (const std::string& name : recorded_names(result)) ++by_name[name];
    return by_name;
  };
  const std::map<std::string, int> with_nsys = counts(capture());
  EXPECT_EQ(with_nsys, (std::map<std::string, int>{{"prefill", 1}, {"decode_all", 1}, {"op", 18}}));
  EXPECT_EQ(with_nsys, counts(profilers::capture_embedded(m_request, run_by_fork)));
}

TEST_F(capture_with_real_nsys, a_plain_string_opens_the_gate_too) {
  set_script({"ascii:LLM:decode_all", "push:LLM:op", "pop:LLM", "pop:LLM", "push:LLM:after", "pop:LLM"});
  EXPECT_THAT(recorded_names(capture()), ElementsAre("decode_all", "op"));
}

TEST_F(capture_with_real_nsys, says_which_domain_the_range_is_in) {
  set_script({"push:Other:decode_all", "pop:Other"});
  EXPECT_THAT(words(), HasSubstr("it opened it in the domain 'Other'"));
}

TEST_F(capture_with_real_nsys, says_that_no_range_was_opened) {
  set_script({"mark:m"});
  EXPECT_THAT(words(), HasSubstr("it opened no range at all"));
}

TEST_F(capture_with_real_nsys, names_the_range_that_was_probably_meant) {
  set_script({"push:LLM:decode_al", "pop:LLM"});
  EXPECT_THAT(words(), AllOf(HasSubstr("it opened 'decode_al'"), HasSubstr("ask for 'decode_al@LLM'")));
  EXPECT_FALSE(fs::exists(m_folder / "run.nsys-rep")) << "nsys itself says nothing and exits 0";
}

/// An older SQLite file, a good one, beside a new report: nsys stats would read the old run's.
TEST_F(capture_with_real_nsys, reports_the_second_run_of_two_in_one_folder) {
  set_script({"push:LLM:decode_all", "many:LLM:old:3", "pop:LLM"});
  capture();
  set_script({"push:LLM:decode_all", "many:LLM:new:2", "pop:LLM"});
  const profilers::capture_result result = capture();
  EXPECT_THAT(recorded_names(result), ElementsAre("decode_all", "new", "new"));
  const auto csv_name = profilers::name_of_report(m_nsys, profilers::nsys_report::nvtx_push_pop_sum);
  std::vector<std::string> in_csv;
  for (const auto& row :
       parsers::read_nvtx_pushpop_csv(m_folder / ("run_" + csv_name.value_or("") + ".csv"))) {
    in_csv.push_back(row.name);
  }
  EXPECT_THAT(in_csv, ::testing::UnorderedElementsAre("decode_all", "new"));
}

/// nsys stats says SKIPPED, exits 0 and leaves a file of 0 bytes.
TEST_F(capture_with_real_nsys, a_summary_without_data_is_a_note_and_no_file) {
  set_script({"push:LLM:decode_all", "pop:LLM"});
  const profilers::capture_result result = capture();
  const auto kernels = profilers::name_of_report(m_nsys, profilers::nsys_report::kernel_sum);
  ASSERT_TRUE(kernels);
  EXPECT_THAT(result.quiet_notes, Contains(AllOf(HasSubstr("nsys had no data"), HasSubstr(*kernels))));
  EXPECT_FALSE(fs::exists(m_folder / ("run_" + *kernels + ".csv")));
}

/// For a report that it does not know nsys stats has a message, and exit code 0.
TEST_F(capture_with_real_nsys, an_unknown_summary_is_a_failure) {
  const bool is_new =
      profilers::name_of_report(m_nsys, profilers::nsys_report::kernel_sum) == "cuda_gpu_kern_sum";
  if (is_new) GTEST_SKIP() << "this nsys may know the old names as well";
  m_nsys.reports = {"cuda_gpu_kern_sum"};
  set_script({"push:LLM:decode_all", "pop:LLM"});
  EXPECT_THAT(words(), AllOf(HasSubstr("'nsys stats'"), HasSubstr("run_cuda_gpu_kern_sum.csv")));
}

TEST_F(capture_with_real_nsys, names_the_exit_code_and_keeps_the_report) {
  set_script(late({"push:LLM:decode_all", "pop:LLM", "exit:3"}));
  EXPECT_THAT(words(), HasSubstr("the workload under nsys failed: exit code 3"));
  EXPECT_TRUE(fs::exists(m_folder / "run.nsys-rep"));
}

TEST_F(capture_with_real_nsys, keeps_what_a_crash_inside_of_the_range_left) {
  set_script(late({"push:LLM:decode_all", "work:20000", "abort"}));
  EXPECT_THAT(words(), HasSubstr("the workload under nsys failed: SIGABRT"));
  // Whether the open range itself is in it depends on when nsys last emptied the program's buffer.
  EXPECT_NO_THROW(parsers::read_nsys_sqlite(m_folder / "run.sqlite"));
  set_script(late({"push:LLM:decode_all", "work:20000", "segv"}));
  EXPECT_THAT(words(), HasSubstr("the workload under nsys failed: SIGSEGV"));
}

}  // namespace
}  // namespace profgate::test
