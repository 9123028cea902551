#include "golden_files.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace profgate::render {
namespace {

namespace fs = std::filesystem;

bool updates_goldens() {
  const char* value = std::getenv("PROFGATE_UPDATE_GOLDENS");
  return value != nullptr && std::string(value) == "1";
}

}  // namespace

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

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

std::map<std::string, std::string> reports_of(const std::string& profile_text,
                                              const std::optional<gate::judgement>& judged) {
  std::map<std::string, std::string> texts;
  render_reports(
      profile_text, PROFGATE_TEMPLATES_DIR, "",
      [&](const fs::path& path, std::string_view text) { texts[path.string()] = text; }, judged);
  return texts;
}

}  // namespace profgate::render
