#include <sys/mount.h>

#include <algorithm>
#include <fstream>

#include "capture_fixture.h"
#include "parsers/timeline.h"

namespace profgate::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class capture_embedded : public capture_test {
 protected:
  profilers::capture_result capture() { return profilers::capture_embedded(m_request, run_by_fork); }
  std::string words() {
    return words_of_failure([&] { capture(); });
  }
};

TEST_F(capture_embedded, records_all_gates_in_one_run) {
  set_script({"push:LLM:prefill", "pop:LLM", "push:LLM:between", "pop:LLM", "push:LLM:decode_all",
              "push:LLM:op", "pop:LLM", "pop:LLM"});
  m_request.ranges.push_back({"prefill", "LLM"});
  std::ofstream(m_folder / "embedded.timeline") << "stale";
  const profilers::capture_result result = capture();
  EXPECT_EQ(result.tool, "embedded");
  EXPECT_EQ(result.capture_ranges, "decode_all@LLM,prefill@LLM");
  EXPECT_THAT(result.files, ElementsAre(m_folder / "embedded.timeline"));
  EXPECT_THAT(recorded_names(result), ElementsAre("prefill", "decode_all", "op"));
  EXPECT_TRUE(result.notes.empty());
}

TEST_F(capture_embedded, ungated_records_everything) {
  set_script({"push:LLM:before", "pop:LLM", "push:LLM:decode_all", "pop:LLM"});
  m_request.is_gated = false;
  const profilers::capture_result result = capture();
  EXPECT_EQ(result.capture_ranges, "");
  EXPECT_THAT(recorded_names(result), ElementsAre("before", "decode_all"));
}

TEST_F(capture_embedded, notes_dropped_ranges_and_several_processes) {
  set_script(
      {"push:LLM:decode_all", "many:LLM:op:9000", "pop:LLM", "fork", "push:LLM:decode_all", "pop:LLM"});
  m_request.collector_max_bytes = 200000;
  const profilers::capture_result result = capture();
  EXPECT_EQ(result.files.size(), 2U);
  EXPECT_THAT(result.notes, ElementsAre(AllOf(HasSubstr("ranges did not fit"),
                                              HasSubstr("raise collector.max_bytes, which is 200000")),
                                        HasSubstr("2 processes used NVTX")));
}

TEST_F(capture_embedded, does_not_say_never_opened_of_a_range_that_found_no_room) {
  set_script({"many:LLM:op:9000", "push:LLM:decode_all", "pop:LLM"});
  m_request.is_gated = false;
  m_request.collector_max_bytes = 200000;
  EXPECT_THAT(
      words(),
      AllOf(HasSubstr("NVTX ranges, the stage's perhaps among them, found no room in the recording |"),
            HasSubstr("raise collector.max_bytes, which is 200000")));
}

TEST_F(capture_embedded, notes_that_a_bare_run_opened_more_ranges_than_its_recording_holds) {
  const auto notes_of = [&](const char* ranges) {
    set_script({ranges, "push:LLM:decode_all", "pop:LLM"});
    profilers::device_waits waits;
    profilers::observe_ranges(m_request, run_by_fork, waits);
    return waits.notes;
  };
  m_request.collector_max_bytes = 200000;
  EXPECT_THAT(notes_of("many:LLM:decode_all:90"), ::testing::IsEmpty());
  const auto is_told = AllOf(HasSubstr("ranges of a bare run did not fit into its recording"),
                             HasSubstr("raise collector.max_bytes, which is 200000"));
  EXPECT_THAT(notes_of("many:LLM:decode_all:9000"), ElementsAre(is_told));
  m_request.synchronised = {{"decode_all", "LLM"}};
  EXPECT_THAT(notes_of("many:LLM:decode_all:9000"), ElementsAre(HasSubstr("had no effect"), is_told));
}

/// A disk of its own that can be full; needs root.
class capture_on_small_disk : public capture_embedded {
 protected:
  bool mount_disk(const char* size) {
    const std::filesystem::path disk = m_folder / "disk";
    std::filesystem::create_directories(disk);
    m_request.output_folder = disk;
    return m_is_mounted = ::mount("tmpfs", disk.c_str(), "tmpfs", 0, size) == 0;
  }
  ~capture_on_small_disk() override {
    if (m_is_mounted) ::umount2((m_folder / "disk").c_str(), MNT_DETACH);
  }
  bool m_is_mounted = false;
};

TEST_F(capture_on_small_disk, says_that_it_was_full) {
  if (!mount_disk("size=1536k")) GTEST_SKIP() << "needs the right to mount";
  set_script({"many:LLM:op:90000", "push:LLM:decode_all", "pop:LLM"});
  m_request.is_gated = false;
  EXPECT_THAT(words(),
              AllOf(HasSubstr("found no room in the recording: the disk of"), HasSubstr("is full |")));
}

TEST_F(capture_on_small_disk, says_that_it_was_full_from_the_start) {
  if (!mount_disk("size=16k")) GTEST_SKIP() << "needs the right to mount";
  set_script({"push:LLM:decode_all", "pop:LLM"});
  EXPECT_THAT(words(), AllOf(HasSubstr("No space left on device"), HasSubstr("with room on its disk")));
}

#ifdef FAKE_CUPTI_LIBRARY
TEST_F(capture_embedded, records_the_gpu_inside_the_gates) {
  set_script({"cuda", "kernel:warm_up:5", "push:LLM:decode_all", "kernel:_Z4gemmv:3", "pop:LLM"});
  m_request.set_environment["PROFGATE_CUPTI_LIBRARY"] = FAKE_CUPTI_LIBRARY;
  const profilers::capture_result result = capture();
  const core::timeline recorded = profilers::read_timelines(result.timeline_files);
  EXPECT_EQ(recorded.kernels_absent_reason, std::nullopt);
  ASSERT_EQ(recorded.kernels.size(), 3U);
  EXPECT_EQ(recorded.kernels[0].shape->name, "gemm()");
  EXPECT_TRUE(result.notes.empty());
}

TEST_F(capture_embedded, notes_what_is_missing_of_the_gpu) {
  set_script({"cuda", "push:LLM:decode_all", "kernel:_Z4gemmv:3", "pop:LLM"});
  m_request.set_environment["PROFGATE_CUPTI_LIBRARY"] = FAKE_CUPTI_LIBRARY;
  m_request.set_environment["FAKE_CUPTI_NO_TIMES"] = "1";
  EXPECT_THAT(capture().notes, ElementsAre(HasSubstr("3 kernels, copies or calls were dropped")));
  m_request.set_environment.erase("FAKE_CUPTI_NO_TIMES");
  m_request.is_gated = false;
  set_script({"cuda", "push:LLM:decode_all", "kernel:_Z4gemmv:3", "pop:LLM", "quit"});
  EXPECT_THAT(capture().notes, ElementsAre(HasSubstr("ended without its exit handlers")));
  const std::filesystem::path image = m_folder / "module";
  std::ofstream(image) << "\x7F"
                          "ELF";
  set_script({"cuda", "module:" + image.string(), "push:LLM:decode_all", "pop:LLM"});
  EXPECT_THAT(capture().notes,
              ElementsAre(HasSubstr("the machine code of 1 kernels or modules was not recorded")));
}
#endif

TEST_F(capture_embedded, tells_the_program_which_ranges_to_synchronise_only_where_it_is_observed) {
  std::vector<profilers::tool_command> commands;
  const auto note_command = [&](const profilers::tool_command& command) {
    commands.push_back(command);
    return run_by_fork(command);
  };
  set_script({"push:LLM:decode_all", "pop:LLM"});
  profilers::device_waits waits;
  profilers::observe_ranges(m_request, note_command, waits);
  EXPECT_THAT(waits.notes, ::testing::IsEmpty());
  m_request.synchronised = {{"decode_all", "LLM"}, {"*", ""}, {"step", "*"}};
  profilers::observe_ranges(m_request, note_command, waits);
  profilers::capture_embedded(m_request, note_command);
  const auto is_unset = [](const profilers::tool_command& command, const std::string& name) {
    return std::count(command.unset_environment.begin(), command.unset_environment.end(), name) == 1 &&
           !command.set_environment.contains(name);
  };
  ASSERT_EQ(commands.size(), 3U);
  EXPECT_TRUE(is_unset(commands[0], "PROFGATE_COLLECTOR_SYNC"));
  EXPECT_TRUE(is_unset(commands[0], "CUDA_INJECTION64_PATH"));
  EXPECT_EQ(commands[1].set_environment["PROFGATE_COLLECTOR_SYNC"], "decode_all@LLM,*,step@*");
  EXPECT_EQ(commands[1].set_environment["CUDA_INJECTION64_PATH"], COLLECTOR_LIBRARY);
  EXPECT_TRUE(is_unset(commands[2], "PROFGATE_COLLECTOR_SYNC"));
  EXPECT_FALSE(waits.are_done);
  EXPECT_THAT(waits.notes,
              ElementsAre("sync: true had no effect: no process that uses CUDA opened such a range"));
}

#ifdef FAKE_CUPTI_LIBRARY
TEST_F(capture_embedded, says_where_the_device_was_not_waited_for) {
  const auto waits_with = [&](const std::vector<std::string>& script) {
    set_script(script);
    profilers::device_waits waits;
    profilers::observe_ranges(m_request, run_by_fork, waits);
    return waits;
  };
  m_request.synchronised = {{"step", "LLM"}};
  m_request.set_environment = {{"PROFGATE_CUPTI_LIBRARY", FAKE_CUPTI_LIBRARY},
                               {"FAKE_CUDA_DRIVER", FAKE_CUDA_DRIVER},
                               {"FAKE_CUDA_CONTEXT", "main"}};
  const profilers::device_waits whole = waits_with({"cuda", "push:LLM:step", "pop:LLM"});
  EXPECT_TRUE(whole.are_done);
  EXPECT_THAT(whole.notes, ::testing::IsEmpty());
  const profilers::device_waits torn =
      waits_with({"cuda", "push:LLM:step", "capture:begin", "pop:LLM", "capture:end", "threads:1:step:1"});
  EXPECT_TRUE(torn.are_done);
  EXPECT_THAT(torn.notes,
              ElementsAre("sync: true: the device was not waited for 1 time: a stream was capturing a graph",
                          "sync: true: the device was not waited for 2 times: no CUDA context was current on "
                          "the range's thread"));
  m_request.set_environment["PROFGATE_CUPTI_LIBRARY"] = "none";
  const profilers::device_waits none = waits_with({"cuda", "push:LLM:step", "pop:LLM"});
  EXPECT_FALSE(none.are_done);
  EXPECT_THAT(none.notes, ElementsAre("sync: true had no effect, the times are the host's alone: CUPTI is "
                                      "hidden by PROFGATE_CUPTI_LIBRARY=none"));
}
#endif

TEST_F(capture_embedded, tells_the_usual_mistakes_apart) {
  set_script({"push:Other:decode_all", "pop:Other"});
  EXPECT_THAT(words(), AllOf(HasSubstr("it opened it in the domain 'Other'"),
                             HasSubstr("ask for 'decode_all@Other'")));
  set_script({"push:LLM:decode_al", "pop:LLM"});
  EXPECT_THAT(words(), AllOf(HasSubstr("it opened 'decode_al'"), HasSubstr("ask for 'decode_al@LLM'")));
  set_script({"push:LLM:train", "pop:LLM", "push:LLM:evaluate", "pop:LLM"});
  EXPECT_THAT(words(), HasSubstr("there it opened evaluate, train"));
  set_script({"push:X:train", "pop:X"});
  EXPECT_THAT(words(), HasSubstr("its ranges are in the domain 'X'"));
  const std::vector<profilers::range_name> own = m_request.ranges;
  m_request.ranges = {{"decod", profilers::any_domain}};
  set_script({"push:X:train", "pop:X", "push:Y:decode", "pop:Y"});
  EXPECT_THAT(words(), AllOf(HasSubstr("in any domain; it opened 'decode'"),
                             HasSubstr("ask for 'decode', or rename")));
  m_request.ranges = {{"sample", profilers::any_domain}};
  EXPECT_THAT(words(), HasSubstr("in any domain; there it opened decode, train"));
  m_request.ranges = own;
  set_script({"mark:m"});
  EXPECT_THAT(words(), HasSubstr("it opened no range at all"));
  set_script({"exit:0"});
  EXPECT_THAT(words(), HasSubstr("the workload made no NVTX call"));
  set_script({"push:LLM:decode_all"});
  EXPECT_THAT(words(),
              HasSubstr("opened the NVTX range 'decode_all' in the domain 'LLM' but never closed it"));
}

TEST_F(capture_embedded, names_how_the_workload_failed_and_keeps_what_it_left) {
  set_script({"push:LLM:decode_all", "pop:LLM", "exit:3"});
  EXPECT_THAT(words(), HasSubstr("the workload failed: exit code 3"));
  EXPECT_TRUE(std::filesystem::exists(m_folder / "embedded.timeline"));
  set_script({"push:LLM:decode_all", "abort"});
  EXPECT_THAT(words(), HasSubstr("the workload failed: SIGABRT"));
  EXPECT_EQ(parsers::read_embedded_timeline(m_folder / "embedded.timeline").ranges.size(), 1U);
  m_request.workload = {"/no/such/program"};
  EXPECT_THAT(words(), HasSubstr("the workload could not be started"));
  m_request.collector_library = "/no/such/library.so";
  EXPECT_THAT(words(), HasSubstr("the embedded collector /no/such/library.so does not exist"));
}

TEST_F(capture_embedded, names_a_folder_that_is_not_there) {
  set_script({"push:LLM:decode_all", "pop:LLM"});
  m_request.output_folder = m_folder / "absent";
  EXPECT_THAT(words(), AllOf(HasSubstr("absent: No such file or directory"), HasSubstr("writable")));
}

TEST_F(capture_embedded, an_interruption_is_no_failure_of_the_workload) {
  set_script({});
  const auto interrupted = [](const profilers::tool_command&) {
    profilers::tool_run run;
    run.started = true;
    run.interrupted = true;
    return run;
  };
  EXPECT_THROW(profilers::capture_embedded(m_request, interrupted), core::interrupted);
  const auto late = [](const profilers::tool_command&) {
    profilers::tool_run run;
    run.started = true;
    run.timed_out = true;
    return run;
  };
  EXPECT_THAT(words_of_failure([&] { profilers::capture_embedded(m_request, late); }),
              HasSubstr("did not end in time"));
}

}  // namespace
}  // namespace profgate::test
