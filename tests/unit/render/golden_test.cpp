#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "analysis/profile.h"
#include "golden_cases.h"
#include "render/render.h"

namespace profgate::render {

/// Found by GoogleTest when it prints a failing case.
std::ostream& operator<<(std::ostream& out, const golden_case& entry) {
  return out << entry.name;
}

namespace {

namespace fs = std::filesystem;

bool updates_goldens() {
  const char* value = std::getenv("PROFGATE_UPDATE_GOLDENS");
  return value != nullptr && std::string(value) == "1";
}

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// The first line in which the two differ, as "line 7: expected …, got …"; empty where they are equal.
std::string first_difference(const std::string& expected, const std::string& actual) {
  std::istringstream expected_lines(expected);
  std::istringstream actual_lines(actual);
  for (int number = 1;; ++number) {
    std::string want;
    std::string got;
    const bool has_want = static_cast<bool>(std::getline(expected_lines, want));
    const bool has_got = static_cast<bool>(std::getline(actual_lines, got));
    if (!has_want && !has_got) return expected == actual ? "" : "the final newline differs";
    if (want == got && has_want == has_got) continue;
    return "line " + std::to_string(number) + ":\n  expected: " + (has_want ? want : "(end of file)") +
           "\n  got:      " + (has_got ? got : "(end of file)");
  }
}

void compare_or_update(const fs::path& golden, const std::string& actual) {
  if (updates_goldens()) {
    fs::create_directories(golden.parent_path());
    std::ofstream(golden, std::ios::binary) << actual;
    return;
  }
  const std::string difference = first_difference(read(golden), actual);
  EXPECT_EQ(difference, "") << golden.string() << " differs. If the change is meant, run this program with "
                            << "PROFGATE_UPDATE_GOLDENS=1 and read the diff.";
}

class golden : public ::testing::TestWithParam<golden_case> {};

TEST_P(golden, profile_and_reports_are_byte_for_byte_the_same) {
  const fs::path folder = fs::path(PROFGATE_GOLDEN_DIR) / GetParam().name;
  const std::string profile = analysis::profile_json(GetParam().facts);
  compare_or_update(folder / "profile.json", profile);
  const std::string stored_profile = read(folder / "profile.json");
  const auto written = render_reports(
      stored_profile, PROFGATE_TEMPLATES_DIR, folder / "expected",
      [](const fs::path& path, std::string_view text) { compare_or_update(path, std::string(text)); });
  EXPECT_EQ(written.size(), 6U);
}

INSTANTIATE_TEST_SUITE_P(cases, golden, ::testing::ValuesIn(golden_cases()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST(first_difference, finds_a_changed_a_missing_and_an_added_line) {
  EXPECT_EQ(first_difference("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(first_difference("a\nb\n", "a\nc\n"), "line 2:\n  expected: b\n  got:      c");
  EXPECT_EQ(first_difference("a\n", "a\nb\n"), "line 2:\n  expected: (end of file)\n  got:      b");
  EXPECT_EQ(first_difference("a\n", "a"), "the final newline differs");
}

}  // namespace
}  // namespace profgate::render
