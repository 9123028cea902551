#include <gtest/gtest.h>

#include "analysis/profile.h"
#include "golden_cases.h"
#include "golden_files.h"
#include "render/render.h"

namespace profgate::render {

/// Found by GoogleTest when it prints a failing case.
std::ostream& operator<<(std::ostream& out, const golden_case& entry) {
  return out << entry.name;
}

namespace {

namespace fs = std::filesystem;

class golden : public ::testing::TestWithParam<golden_case> {};

TEST_P(golden, profile_and_reports_are_byte_for_byte_the_same) {
  const fs::path folder = fs::path(PROFGATE_GOLDEN_DIR) / GetParam().name;
  const std::string profile = analysis::profile_json(GetParam().facts);
  compare_or_update(folder / "profile.json", profile);
  const std::string stored_profile = read(folder / "profile.json");
  const auto written = render_reports(
      stored_profile, PROFGATE_TEMPLATES_DIR, folder / "expected",
      [](const fs::path& path, std::string_view text) { compare_or_update(path, std::string(text)); });
  EXPECT_GE(written.size(), reports().size() + 1) << "and the regions for programs, and pictures";
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
