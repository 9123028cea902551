#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <set>

#include "traced_program.h"

namespace profgate::test {
namespace {

using core::range_record;
using core::range_style;
using ::testing::HasSubstr;

class collector : public traced_program {};

TEST_F(collector, records_nested_ranges_with_domain_and_times) {
  ASSERT_TRUE(trace({"push:LLM:decode_all", "push:LLM:decode_step", "pop:LLM", "pop:LLM"}).is_good());
  const core::timeline recorded = timeline();
  ASSERT_EQ(names(recorded), (std::vector<std::string>{"decode_all", "decode_step"}));
  const range_record& outer = recorded.ranges[0];
  const range_record& inner = recorded.ranges[1];
  EXPECT_EQ(outer.domain, "LLM");
  EXPECT_EQ(outer.style, range_style::push_pop);
  EXPECT_GT(outer.process_id, 0U);
  EXPECT_EQ(outer.process_id, outer.thread_id) << "the main thread has its process's id";
  ASSERT_TRUE(outer.end_ns && inner.end_ns);
  EXPECT_LE(outer.start_ns, inner.start_ns);
  EXPECT_LE(inner.start_ns, *inner.end_ns);
  EXPECT_LE(*inner.end_ns, *outer.end_ns);
  EXPECT_EQ(recorded.tool, "embedded");
  EXPECT_TRUE(recorded.kernels_absent_reason);
}

TEST_F(collector, takes_every_kind_of_string_and_the_default_domain) {
  ASSERT_TRUE(trace({"ascii:LLM:plain", "pop:LLM", "wide:LLM:wide", "pop:LLM", "ascii::bare",
                     "pop:", "wide::broad", "pop:", "push::registered", "pop:"})
                  .is_good());
  const core::timeline recorded = timeline();
  EXPECT_EQ(names(recorded),
            (std::vector<std::string>{"plain", "wide\u20AC", "bare", "broad\u20AC", "registered"}));
  EXPECT_EQ(recorded.ranges[0].domain, "LLM");
  EXPECT_EQ(recorded.ranges[2].domain, "");
  for (const range_record& range : recorded.ranges) EXPECT_TRUE(range.end_ns) << range.name;
}

TEST_F(collector, keeps_a_stack_for_each_domain) {
  ASSERT_TRUE(trace({"push:A:a", "push:B:b", "pop:A", "push:A:a2", "pop:B", "pop:A", "pop:A"}).is_good());
  const core::timeline recorded = timeline();
  ASSERT_EQ(names(recorded), (std::vector<std::string>{"a", "b", "a2"}));
  EXPECT_LE(*recorded.ranges[0].end_ns, recorded.ranges[2].start_ns)
      << "pop:A closed a, though b lay above it";
  EXPECT_LE(*recorded.ranges[1].end_ns, *recorded.ranges[2].end_ns);
}

TEST_F(collector, records_start_end_ranges_and_ignores_a_second_end) {
  ASSERT_TRUE(
      trace({"start:LLM:request", "push:LLM:inside", "pop:LLM", "end", "end", "start:LLM:open"}).is_good());
  const core::timeline recorded = timeline();
  ASSERT_EQ(names(recorded), (std::vector<std::string>{"request", "inside", "open"}));
  EXPECT_EQ(recorded.ranges[0].style, range_style::start_end);
  EXPECT_GE(*recorded.ranges[0].end_ns, *recorded.ranges[1].end_ns);
  EXPECT_FALSE(recorded.ranges[2].end_ns);
}

TEST_F(collector, loses_nothing_of_many_threads) {
  ASSERT_TRUE(trace({"threads:8:work:5000"}).is_good());
  const core::timeline recorded = timeline();
  std::map<std::uint64_t, int> by_thread;
  for (const range_record& range : recorded.ranges) {
    ASSERT_TRUE(range.end_ns);
    ++by_thread[range.thread_id];
  }
  EXPECT_EQ(recorded.ranges.size(), 40000U);
  EXPECT_EQ(recorded.dropped_records, 0U);
  EXPECT_EQ(by_thread.size(), 8U);
  for (const auto& [thread, count] : by_thread) EXPECT_EQ(count, 5000);
}

TEST_F(collector, threads_that_ended_leave_their_room_to_the_next) {
  m_environment["PROFGATE_COLLECTOR_MAX_BYTES"] = "300000";  // four chunks
  std::vector<std::string> script;
  for (int i = 0; i < 50; ++i) script.emplace_back("threads:1:short:10");
  ASSERT_TRUE(trace(script).is_good());
  const core::timeline recorded = timeline();
  EXPECT_EQ(recorded.ranges.size(), 500U);
  EXPECT_EQ(recorded.dropped_records, 0U);
}

TEST_F(collector, counts_what_does_not_fit) {
  m_environment["PROFGATE_COLLECTOR_MAX_BYTES"] = "200000";
  ASSERT_TRUE(trace({"many:LLM:many:10000"}).is_good());
  const core::timeline recorded = timeline();
  EXPECT_GT(recorded.ranges.size(), 1000U);
  EXPECT_EQ(recorded.ranges.size() + recorded.dropped_records, 10000U);
  EXPECT_LE(std::filesystem::file_size(m_folder / "out.timeline"), 200000U);
}

TEST_F(collector, leaves_a_crash_visible_as_open_ranges) {
  const profilers::tool_run run =
      trace({"push:LLM:before", "pop:LLM", "push:LLM:decode_all", "push:LLM:inner", "abort"});
  EXPECT_EQ(run.signal, SIGABRT);
  const core::timeline recorded = timeline();
  ASSERT_EQ(names(recorded), (std::vector<std::string>{"before", "decode_all", "inner"}));
  EXPECT_TRUE(recorded.ranges[0].end_ns);
  EXPECT_FALSE(recorded.ranges[1].end_ns);
  EXPECT_FALSE(recorded.ranges[2].end_ns);
}

TEST_F(collector, records_only_inside_its_gates) {
  m_environment["PROFGATE_COLLECTOR_GATE"] = "decode_all@LLM,any@*,bare";
  ASSERT_TRUE(trace({"push:LLM:prefill", "push:LLM:op", "pop:LLM", "pop:LLM",  // outside
                     "push:Other:decode_all", "pop:Other",                     // another domain
                     "push:LLM:decode_all", "push:LLM:op", "pop:LLM",          //
                     "threads:1:worker:1", "pop:LLM",                          // other threads too
                     "push:LLM:after", "pop:LLM", "push:X:any", "pop:X", "push::bare", "pop:"})
                  .is_good());
  EXPECT_EQ(names(timeline()), (std::vector<std::string>{"decode_all", "op", "worker", "any", "bare"}));
}

TEST_F(collector, opens_a_gate_by_a_plain_string_or_a_start_end_range) {
  m_environment["PROFGATE_COLLECTOR_GATE"] = "decode_all@LLM";
  ASSERT_TRUE(trace({"ascii:LLM:decode_all", "push:LLM:a", "pop:LLM", "pop:LLM", "push:LLM:out", "pop:LLM",
                     "start:LLM:decode_all", "push:LLM:b", "pop:LLM", "end", "push:LLM:out", "pop:LLM"})
                  .is_good());
  EXPECT_EQ(names(timeline()), (std::vector<std::string>{"decode_all", "a", "decode_all", "b"}));
}

TEST_F(collector, gives_a_forked_child_a_file_of_its_own) {
  m_environment["PROFGATE_COLLECTOR_OUTPUT"] = (m_folder / "out.%p.timeline").string();
  ASSERT_TRUE(trace({"push:LLM:parent", "fork", "push:LLM:both", "pop:LLM", "pop:LLM"}).is_good());
  std::vector<core::timeline> recorded;
  for (const auto& entry : std::filesystem::directory_iterator(m_folder.path())) {
    recorded.push_back(parsers::read_embedded_timeline(entry.path()));
    EXPECT_THAT(entry.path().string(),
                HasSubstr("." + std::to_string(recorded.back().ranges.at(0).process_id) + "."));
  }
  ASSERT_EQ(recorded.size(), 2U);
  std::sort(recorded.begin(), recorded.end(),
            [](const auto& a, const auto& b) { return a.ranges.size() > b.ranges.size(); });
  EXPECT_EQ(names(recorded[0]), (std::vector<std::string>{"parent", "both"}));
  EXPECT_TRUE(recorded[0].ranges[0].end_ns);
  EXPECT_EQ(names(recorded[1]), (std::vector<std::string>{"both"})) << "the parent's range is the parent's";
}

TEST_F(collector, makes_no_file_for_a_child_that_records_nothing) {
  ASSERT_TRUE(trace({"push:LLM:parent", "pop:LLM", "fork"}).is_good());
  const auto files = std::filesystem::directory_iterator(m_folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(collector, never_writes_over_a_file_that_is_there) {
  std::ofstream(m_folder / "out.timeline") << "someone's";
  ASSERT_TRUE(trace({"push:LLM:x", "pop:LLM"}).is_good());
  std::string kept;
  std::ifstream(m_folder / "out.timeline") >> kept;
  EXPECT_EQ(kept, "someone's");
  EXPECT_EQ(parsers::read_embedded_timeline(m_folder / "out.timeline.2").ranges.size(), 1U);
}

TEST_F(collector, survives_programs_that_pop_too_much_or_nest_too_deep) {
  std::vector<std::string> script = {"pop:LLM", "pop:", "end"};
  for (int i = 0; i < 300; ++i) script.emplace_back("push:LLM:deep");
  for (int i = 0; i < 301; ++i) script.emplace_back("pop:LLM");
  ASSERT_TRUE(trace(script).is_good());
  EXPECT_EQ(timeline().ranges.size(), 300U);
}

TEST_F(collector, says_why_it_does_not_record_and_lets_the_program_run) {
  m_environment["PROFGATE_COLLECTOR_OUTPUT"] = (m_folder / "no/such/folder/x").string();
  const profilers::tool_run run = trace({"push:LLM:x", "pop:LLM"});
  EXPECT_TRUE(run.is_good());
  EXPECT_THAT(run.tail, HasSubstr("No such file or directory; nothing is recorded"));
  m_environment["PROFGATE_COLLECTOR_OUTPUT"] = "";
  EXPECT_THAT(trace({"push:LLM:x"}).tail, HasSubstr("PROFGATE_COLLECTOR_OUTPUT names no file"));
}

TEST_F(collector, cuts_absurd_names) {
  ASSERT_TRUE(trace({"ascii:LLM:" + std::string(60000, 'x'), "pop:LLM"}).is_good());
  EXPECT_EQ(timeline().ranges.at(0).name, std::string(16384, 'x'));
}

TEST_F(collector, turns_a_file_that_may_not_grow_into_a_count) {
  // A limit of the file's size stands in for the full disk: past it the file may not grow.
  profilers::tool_command command;
  command.argv = {"prlimit", "--fsize=300000", NVTX_PROGRAM, "many:LLM:many:10000"};
  command.set_environment = {{"NVTX_INJECTION64_PATH", COLLECTOR_LIBRARY},
                             {"PROFGATE_COLLECTOR_OUTPUT", (m_folder / "out.timeline").string()}};
  const profilers::tool_run run = run_by_fork(command);
  if (!run.started) GTEST_SKIP() << "no prlimit on this machine";
  ASSERT_TRUE(run.is_good()) << run.tail << run.description;
  const core::timeline recorded = timeline();
  EXPECT_GT(recorded.dropped_records, 0U);
  EXPECT_EQ(recorded.ranges.size() + recorded.dropped_records, 10000U);
}

}  // namespace
}  // namespace profgate::test
