#include "parsers/program_figures.h"

#include <sys/stat.h>

#include "file_fixture.h"

namespace profgate::parsers {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const core::json_path latencies("latencies[]", "here");

class program_figures : public test::file_test {
 protected:
  static std::string refusal(const std::filesystem::path& file, std::int64_t not_before_ns = 0) {
    return test::words_of_bad_input([&] { read_figure_file(file, latencies, not_before_ns); });
  }
  static std::vector<double> lines(const std::string& output, const std::string& pattern) {
    return read_figure_lines(output, core::expression(pattern, "here", core::expression::fits::part_of_text),
                             "standard output");
  }
};

TEST_F(program_figures, are_read_from_a_file) {
  const auto file = write(R"({"latencies": [0.5, 2, 1e-3]})");
  EXPECT_THAT(read_figure_file(file, latencies, 0), ElementsAre(0.5, 2, 0.001));
}

TEST_F(program_figures, of_a_file_that_is_missing_malformed_or_of_another_shape_are_refused) {
  EXPECT_THAT(refusal(m_folder / "absent.json"), AllOf(HasSubstr("absent.json"), HasSubstr("is not there")));
  EXPECT_THAT(refusal(m_folder / ""), HasSubstr("is not there"));
  EXPECT_THAT(refusal(write("{\n\"latencies\": [1,\n")), HasSubstr("input:3: not valid JSON"));
  EXPECT_THAT(refusal(write("")), HasSubstr("empty, no JSON"));
  EXPECT_THAT(refusal(write(R"({"latencies": [1, "fast"]})")), HasSubstr("latencies[1] must be a number"));
  EXPECT_THAT(refusal(write(R"({"latencies": []})")), HasSubstr("has no value"));
  EXPECT_THAT(refusal(write(R"({"latency": 1})")), HasSubstr("lacks the required key 'latencies'"));
}

TEST_F(program_figures, of_an_older_file_are_refused) {
  const auto file = write(R"({"latencies": [1]})");
  struct stat info {};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  const std::int64_t written_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec;
  EXPECT_EQ(refusal(file, written_ns), "");
  EXPECT_THAT(refusal(file, written_ns + 1), HasSubstr("is older than the program's start"));
}

TEST_F(program_figures, of_an_endless_file_are_refused) {
  EXPECT_THAT(refusal("/dev/zero"), HasSubstr("/dev/zero"));
  ASSERT_EQ(::mkfifo((m_folder / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(refusal(m_folder / "fifo"), HasSubstr("fifo"));
  const auto large = write("[");
  std::filesystem::resize_file(large, max_figure_source_bytes + 1);  // a hole
  EXPECT_THAT(refusal(large), HasSubstr("more than the 67.1 MB"));
}

TEST_F(program_figures, are_read_from_each_line_that_fits) {
  EXPECT_THAT(
      lines("start\nlatency: 1.5 s\r\nlatency: 2 s, good\nlatency: none\nlatency: 3 s", "y: ([0-9.]+) s"),
      ElementsAre(1.5, 2, 3));
  EXPECT_THAT(lines("", "(.*)"), ElementsAre());
  EXPECT_THAT(lines("nothing\n", "([0-9]+)"), ElementsAre());
  // A line without an end is looked at as far as results stand.
  EXPECT_THAT(lines(std::string(100'000, 'x') + "7\n8\n", "([0-9]+)"), ElementsAre(8));
}

TEST_F(program_figures, that_are_no_numbers_are_refused_with_their_line) {
  const auto refused = [&](const std::string& output) {
    return test::words_of_bad_input([&] { lines(output, "t=(.*)"); });
  };
  EXPECT_THAT(refused("t=1\nt=soon\n"),
              AllOf(HasSubstr("standard output:2"), HasSubstr("'soon' is no number")));
  EXPECT_THAT(refused("t="), HasSubstr("'' is no number"));
  EXPECT_THAT(refused("t=inf"), HasSubstr("'inf' is no number"));
  EXPECT_THAT(refused("t=1e999"), HasSubstr("is no number"));
  EXPECT_THAT(refused("t=\x1b[2J"), testing::Not(HasSubstr("\x1b")));
}

TEST_F(program_figures, that_are_times_are_never_negative) {
  const core::expression wanted("t=(.*)", "here", core::expression::fits::part_of_text);
  EXPECT_THAT(test::words_of_bad_input([&] {
                read_figure_lines("t=1\nt=-2\n", wanted, "standard output", figure_kind::duration);
              }),
              AllOf(HasSubstr("standard output:2"), HasSubstr("'-2': a time cannot be negative")));
  EXPECT_THAT(read_figure_lines("t=-2\n", wanted, "standard output"), ElementsAre(-2));
  const auto file = write(R"({"latencies": [0.5, -2]})");
  EXPECT_THAT(test::words_of_bad_input([&] { read_figure_file(file, latencies, 0, figure_kind::duration); }),
              AllOf(HasSubstr("latencies[1]"), HasSubstr("is -2: a time cannot be negative")));
}

TEST_F(program_figures, by_an_expression_that_explodes_are_refused) {
  EXPECT_THAT(test::words_of_bad_input([&] { lines(std::string(60, 'a') + "!b", "^(?:a+)+(b)$"); }),
              AllOf(HasSubstr("here"), HasSubstr("cannot be tried")));
}

}  // namespace
}  // namespace profgate::parsers
