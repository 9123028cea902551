#include <algorithm>

#include "traced_program.h"

namespace profgate::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

/// Waits for the device, with fakes in the places of libcuda and libcupti.
class device_sync : public traced_program {
 protected:
  device_sync() {
    m_environment["CUDA_INJECTION64_PATH"] = COLLECTOR_LIBRARY;
    m_environment["PROFGATE_CUPTI_LIBRARY"] = FAKE_CUPTI_LIBRARY;
    m_environment["PROFGATE_COLLECTOR_SYNC"] = "step@LLM";
    m_environment["FAKE_CUDA_DRIVER"] = FAKE_CUDA_DRIVER;
    m_environment["FAKE_CUDA_CONTEXT"] = "all";
  }

  /// What the program and the driver said, in one line; a wait is one word.
  std::string said(const std::vector<std::string>& script) {
    std::filesystem::remove(m_folder / "out.timeline");
    const profilers::tool_run run = trace(script);
    EXPECT_TRUE(run.is_good()) << run.tail << run.description;
    std::string words = run.tail;
    std::replace(words.begin(), words.end(), '\n', ' ');
    for (std::size_t at = 0; (at = words.find("sync synced", at)) != std::string::npos; ++at)
      words.replace(at, std::string("sync synced").size(), "wait");
    return words;
  }
  parsers::embedded_facts facts() {
    parsers::embedded_facts told;
    parsers::read_embedded_timeline(m_folder / "out.timeline", told);
    return told;
  }
};

TEST_F(device_sync, waits_at_both_ends_of_ranges_that_are_named_and_of_no_others) {
  EXPECT_EQ(said({"cuda", "push:LLM:step", "say:in", "push:LLM:op", "pop:LLM", "say:still", "pop:LLM",
                  "say:out", "push:Other:step", "pop:Other", "push::step", "pop:"}),
            "wait in still wait out ");
  EXPECT_EQ(facts().synchronised_ends, 2U);
  EXPECT_THAT(facts().unsynchronised_ends, IsEmpty());
  EXPECT_EQ(facts().sync_problem, "");
  EXPECT_EQ(timeline().ranges.size(), 4U);
  EXPECT_TRUE(timeline().kernels.empty());
}

TEST_F(device_sync, leaves_the_wait_before_a_range_out_of_it_and_takes_that_at_its_end_in) {
  m_environment["FAKE_CUDA_SYNC_US"] = "20000";
  constexpr std::int64_t wait_ns = 20'000'000;
  for (const std::vector<std::string>& script :
       {std::vector<std::string>{"cuda", "push:LLM:before", "push:LLM:step", "pop:LLM", "pop:LLM"},
        {"cuda", "push:LLM:before", "start:LLM:step", "end", "pop:LLM"}}) {
    EXPECT_EQ(said(script), "wait wait ");
    const core::timeline recorded = timeline();
    ASSERT_EQ(names(recorded), (std::vector<std::string>{"before", "step"}));
    EXPECT_GE(recorded.ranges[1].start_ns - recorded.ranges[0].start_ns, wait_ns);
    EXPECT_GE(*recorded.ranges[1].end_ns - recorded.ranges[1].start_ns, wait_ns);
  }
}

TEST_F(device_sync, of_every_range_of_a_domain_nested_ones_too) {
  m_environment["PROFGATE_COLLECTOR_SYNC"] = "*@LLM";
  EXPECT_EQ(said({"cuda", "push:LLM:a", "push:LLM:b", "pop:LLM", "pop:LLM", "push:Other:a", "pop:Other"}),
            "wait wait wait wait ");
  m_environment["PROFGATE_COLLECTOR_SYNC"] = "a@*,b";
  EXPECT_EQ(said({"cuda", "push:X:a", "pop:X", "push:X:b", "pop:X", "push::b", "pop:"}),
            "wait wait wait wait ");
}

TEST_F(device_sync, never_while_a_stream_captures) {
  EXPECT_EQ(said({"cuda", "push:LLM:step", "capture:begin", "pop:LLM", "push:LLM:step", "capture:end",
                  "say:captured", "pop:LLM"}),
            "wait captured wait ");
  EXPECT_EQ(facts().synchronised_ends, 2U);
  EXPECT_THAT(facts().unsynchronised_ends, ElementsAre(Pair("a stream was capturing a graph", 2U)));
}

TEST_F(device_sync, sees_captures_of_the_driver_and_of_the_runtime_once_each) {
  for (const char* who : {"both", "driver", "runtime"}) {
    const std::string by = std::string(":") + who;
    EXPECT_EQ(said({"cuda", "capture:begin" + by, "capture:begin" + by, "capture:end" + by, "push:LLM:step",
                    "capture:end" + by, "say:captured", "pop:LLM"}),
              "captured wait ")
        << who;
  }
}

TEST_F(device_sync, knows_whether_a_capture_began_and_ended) {
  EXPECT_EQ(said({"cuda", "capture:begin:both:1", "push:LLM:step", "pop:LLM"}), "wait wait ")
      << "it did not begin";
  EXPECT_EQ(said({"cuda", "capture:begin", "capture:end:both:908", "push:LLM:step", "pop:LLM"}), "")
      << "the wrong thread cannot end it";
  EXPECT_EQ(said({"cuda", "capture:begin", "capture:end:both:901", "push:LLM:step", "pop:LLM"}), "wait wait ")
      << "one that was spoiled ends";
  EXPECT_EQ(said({"cuda", "capture:end", "capture:begin", "push:LLM:step", "pop:LLM"}), "")
      << "an end too many hides no capture";
}

TEST_F(device_sync, a_capture_begins_when_another_thread_has_done_waiting) {
  m_environment["FAKE_CUDA_SYNC_US"] = "900000";
  EXPECT_EQ(said({"cuda", "aside:LLM:step", "work:300000", "capture:begin", "say:capturing"}),
            "wait capturing ");
  EXPECT_EQ(facts().synchronised_ends, 1U);
  EXPECT_THAT(facts().unsynchronised_ends, ElementsAre(Pair("a stream was capturing a graph", 1U)));
}

TEST_F(device_sync, on_the_thread_of_the_range_where_it_has_a_context) {
  EXPECT_EQ(said({"cuda", "threads:1:step:2"}), "wait wait wait wait ");
  m_environment["FAKE_CUDA_CONTEXT"] = "main";
  EXPECT_EQ(said({"cuda", "threads:1:step:2", "push:LLM:step", "pop:LLM"}), "wait wait ");
  EXPECT_THAT(facts().unsynchronised_ends,
              ElementsAre(Pair("no CUDA context was current on the range's thread", 4U)));
}

TEST_F(device_sync, a_program_that_does_not_use_cuda_has_nothing_to_wait_for) {
  EXPECT_EQ(said({"push:LLM:step", "pop:LLM"}), "");
  EXPECT_EQ(facts().synchronised_ends, 0U);
  EXPECT_EQ(facts().sync_problem, "");
  EXPECT_EQ(said({"push:LLM:step", "cuda", "pop:LLM"}), "wait ") << "from its first call on";
  m_environment.erase("FAKE_CUDA_DRIVER");
  EXPECT_EQ(said({"cuda", "push:LLM:step", "pop:LLM"}), "");
  EXPECT_EQ(facts().sync_problem, "the program has loaded no libcuda.so.1");
}

TEST_F(device_sync, without_cupti_does_not_wait_and_says_why) {
  m_environment["PROFGATE_CUPTI_LIBRARY"] = "none";
  EXPECT_EQ(said({"cuda", "push:LLM:step", "pop:LLM"}), "");
  EXPECT_EQ(facts().sync_problem, "CUPTI is hidden by PROFGATE_CUPTI_LIBRARY=none");
  EXPECT_EQ(timeline().ranges.size(), 1U);
  m_environment["PROFGATE_CUPTI_LIBRARY"] = FAKE_CUPTI_LIBRARY;
  m_environment["FAKE_CUPTI_FAIL"] = "cuptiSubscribe:39";
  EXPECT_EQ(said({"cuda", "push:LLM:step", "pop:LLM"}), "");
  EXPECT_THAT(facts().sync_problem, AllOf(HasSubstr("CUPTI cannot tell when a stream captures"),
                                          HasSubstr("another tool uses CUPTI in this process")));
  m_environment["FAKE_CUPTI_FAIL"] = "cuptiEnableCallback:2";
  EXPECT_EQ(said({"cuda", "push:LLM:step", "pop:LLM"}), "");
  EXPECT_THAT(facts().sync_problem, HasSubstr("CUPTI_ERROR_FAKE (2)"));
}

TEST_F(device_sync, stops_after_a_capture_that_nobody_told_of) {
  m_environment["FAKE_CUDA_SYNC_RESULT"] = "900";
  EXPECT_EQ(said({"cuda", "push:LLM:step", "pop:LLM", "push:LLM:step", "pop:LLM"}), "wait ");
  EXPECT_EQ(facts().sync_problem, "a stream captures, and CUPTI did not tell");
  m_environment["FAKE_CUDA_SYNC_RESULT"] = "700";
  EXPECT_EQ(said({"cuda", "push:LLM:step", "pop:LLM"}), "wait wait ");
  EXPECT_THAT(facts().unsynchronised_ends, ElementsAre(Pair("cuCtxSynchronize failed", 2U)));
}

TEST_F(device_sync, a_forked_child_does_not_wait) {
  EXPECT_EQ(said({"cuda", "fork", "push:LLM:step", "pop:LLM"}), "wait wait ") << "the parent's alone";
}

TEST_F(device_sync, a_child_that_is_forked_before_cuda_waits_for_its_own_or_says_why_not) {
  m_environment["PROFGATE_COLLECTOR_OUTPUT"] = (m_folder / "out.%p.timeline").string();
  const auto told_by_both = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(m_folder.path()))
      std::filesystem::remove(entry.path());
    EXPECT_TRUE(trace({"push:LLM:early", "pop:LLM", "fork", "cuda", "push:LLM:step", "pop:LLM"}).is_good());
    std::vector<std::pair<std::uint64_t, std::string>> told;
    for (const auto& entry : std::filesystem::directory_iterator(m_folder.path())) {
      parsers::embedded_facts facts;
      parsers::read_embedded_timeline(entry.path(), facts);
      told.emplace_back(facts.synchronised_ends, facts.sync_problem);
    }
    return told;
  };
  EXPECT_THAT(told_by_both(), ElementsAre(Pair(2U, ""), Pair(2U, "")));
  m_environment["PROFGATE_CUPTI_LIBRARY"] = "none";
  EXPECT_THAT(told_by_both(), ElementsAre(Pair(0U, HasSubstr("hidden")), Pair(0U, HasSubstr("hidden"))));
}

}  // namespace
}  // namespace profgate::test
