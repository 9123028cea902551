#include "profilers/backends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace profgate::profilers {
namespace {

bool lists(const profiler& tool, std::string_view path) {
  return std::any_of(tool.artifacts.begin(), tool.artifacts.end(),
                     [&](const artifact_row& row) { return row.path == path; });
}

TEST(backends, have_names_of_their_own_and_a_word_for_the_doctor) {
  std::set<std::string_view> names;
  for (const profiler* tool : all_profilers()) {
    EXPECT_TRUE(names.insert(tool->name).second) << tool->name;
    EXPECT_NE(tool->name, "auto") << "a value of `timeline` with another meaning";
    EXPECT_NE(tool->name, "none");
    EXPECT_FALSE(tool->title.empty()) << tool->name;
    ASSERT_NE(tool->diagnose, nullptr) << tool->name;
    if (tool->find == nullptr) continue;
    EXPECT_NE(tool->version, nullptr) << tool->name;
    EXPECT_FALSE(tool->remedy.empty()) << tool->name;
  }
}

TEST(backends, leave_what_they_read_among_the_runs_files) {
  for (const timeline_backend& backend : timeline_backends()) {
    ASSERT_TRUE(backend.capture != nullptr && backend.read != nullptr) << backend.tool.name;
    EXPECT_TRUE(lists(backend.tool, backend.timelines)) << backend.tool.name;
  }
  for (const counter_backend& backend : counter_backends()) {
    ASSERT_TRUE(backend.tool.find != nullptr && backend.require_access != nullptr &&
                backend.capture != nullptr && backend.read != nullptr && backend.conditions != nullptr)
        << backend.tool.name;
    EXPECT_TRUE(lists(backend.tool, backend.counters)) << backend.tool.name;
  }
}

TEST(backends, have_one_reader_for_files_that_are_nobodys) {
  EXPECT_EQ(std::count_if(timeline_backends().begin(), timeline_backends().end(),
                          [](const timeline_backend& backend) { return backend.is_own_file == nullptr; }),
            1);
}

}  // namespace
}  // namespace profgate::profilers
