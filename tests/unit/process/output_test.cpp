#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "process/runner.h"
#include "support.h"

namespace profgate::process {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> lines_of(const command& what) {
  std::vector<std::string> lines;
  run_options options;
  options.on_line = [&](std::string_view line) { lines.emplace_back(line); };
  EXPECT_EQ(run(what, options).exit_code, 0);
  return lines;
}

TEST(output, of_both_streams_is_in_the_log_in_order) {
  const temp_dir directory;
  run_options options;
  options.log_file = directory / "log.txt";
  const outcome result = run(misbehave({"say-twice"}), options);
  EXPECT_EQ(read_file(options.log_file), "to stdout\nto stderr\n");
  EXPECT_EQ(result.tail, "to stdout\nto stderr\n");
  EXPECT_EQ(result.output_bytes, 20U);
  EXPECT_EQ(result.captured, "");
  EXPECT_FALSE(result.log_truncated);
  EXPECT_EQ(result.log_error, "");
}

TEST(output, on_stdout_is_captured_apart) {
  const temp_dir directory;
  run_options options;
  options.log_file = directory / "log.txt";
  options.capture_stdout = true;
  const outcome result = run(misbehave({"say-twice"}), options);
  EXPECT_EQ(result.captured, "to stdout\n");
  EXPECT_EQ(read_file(options.log_file).size(), 20U);
}

TEST(output, that_is_captured_is_bounded) {
  run_options options;
  options.capture_stdout = true;
  const outcome result = run(misbehave({"flood", "3"}), options);
  EXPECT_EQ(result.captured.size(), std::size_t{1} << 20);
  EXPECT_TRUE(result.captured_truncated);
  EXPECT_TRUE(result.captured.starts_with("first line\nxxx"));
}

TEST(output, comes_as_lines_whatever_its_bytes) {
  EXPECT_THAT(lines_of(misbehave({"binary"})), ElementsAre(std::string("a\0\xFF", 3), "b", "\x1B[31mend"));
  EXPECT_THAT(lines_of(misbehave({"say", "", "x", ""})), ElementsAre("", "x", ""));
}

TEST(output, in_an_endless_line_is_cut) {
  EXPECT_THAT(lines_of(misbehave({"repeat", "5000000"})), ElementsAre(std::string(4096, 'y')));
}

TEST(output, still_in_the_pipe_when_the_child_exits_is_not_lost) {
  const outcome result = run(misbehave({"repeat", "60000"}));
  EXPECT_EQ(result.output_bytes, 60000U);
  EXPECT_EQ(result.tail, std::string(4096, 'y'));
}

TEST(output, tail_begins_with_a_whole_line) {
  const outcome result = run(misbehave({"flood", "1"}));
  EXPECT_LE(result.tail.size(), 4096U);
  EXPECT_TRUE(result.tail.starts_with(std::string(99, 'x') + "\n"));
  EXPECT_TRUE(result.tail.ends_with("\nlast line\n"));
}

TEST(output, by_the_gigabyte_leaves_a_bounded_log) {
  const temp_dir directory;
  run_options options;
  options.log_file = directory / "log.txt";
  options.log_max_bytes = 4'000'000;
  const outcome result = run(misbehave({"flood", "300"}), options);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output_bytes, 300'000'000U + 21);
  EXPECT_TRUE(result.log_truncated);
  const std::string log = read_file(options.log_file);
  const std::string marker = "\n[... 296000021 bytes left out here ...]\n";
  EXPECT_EQ(log.size(), 4'000'000U + marker.size());
  EXPECT_NE(log.find(marker), std::string::npos);
  EXPECT_TRUE(log.starts_with("first line\nxxx"));
  EXPECT_TRUE(log.ends_with("xxx\nlast line\n"));
}

TEST(output, of_several_runs_can_share_a_log) {
  const temp_dir directory;
  run_options options;
  options.log_file = directory / "log.txt";
  run(misbehave({"say", "one"}), options);
  options.append_to_log = true;
  run(misbehave({"say", "two"}), options);
  EXPECT_EQ(read_file(options.log_file), "one\ntwo\n");
  options.append_to_log = false;
  run(misbehave({"say", "three"}), options);
  EXPECT_EQ(read_file(options.log_file), "three\n");
}

TEST(output, closed_by_the_child_is_not_its_end) {
  const outcome result = run(misbehave({"close-output"}));
  EXPECT_EQ(result.how, ending::exited);
  EXPECT_EQ(result.exit_code, 5);
}

TEST(output, to_a_full_disk_does_not_disturb_the_child) {
  run_options options;
  options.log_file = "/dev/full";
  const outcome result = run(misbehave({"flood", "2"}), options);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output_bytes, 2'000'000U + 21);
  EXPECT_EQ(result.log_error, "cannot write /dev/full: No space left on device");
  EXPECT_TRUE(
      describe(result).ends_with("; its log is incomplete: cannot write /dev/full: No space left on device"));
}

TEST(output, callback_that_throws_ends_the_child) {
  const temp_dir directory;
  life_line line(directory);
  run_options options = when_ready([] { throw std::runtime_error("the reader gave up"); });
  options.grace = std::chrono::milliseconds(0);
  EXPECT_THROW(run(misbehave({"stubborn-tree", line.path()}), options), std::runtime_error);
  EXPECT_EQ(line.ended_processes(), 4);
}

}  // namespace
}  // namespace profgate::process
