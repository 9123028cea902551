#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../collector/temp_folder.h"
#include "core/error.h"
#include "fork_runner.h"
#include "profilers/backends.h"
#include "profilers/capture.h"

namespace profgate::test {

class capture_test : public ::testing::Test {
 protected:
  capture_test() {
    m_request.output_folder = m_folder.path();
    m_request.log_file = m_folder / "log.txt";
    m_request.collector_library = COLLECTOR_LIBRARY;
    m_request.ranges = {{"decode_all", "LLM"}};
  }

  void set_script(std::vector<std::string> script) {
    script.insert(script.begin(), NVTX_PROGRAM);
    m_request.workload = std::move(script);
  }

  /// Words and remedy of the step_failure that `action` throws, in one string; empty: none.
  template <typename callable>
  static std::string words_of_failure(callable action) {
    try {
      action();
    } catch (const core::step_failure& problem) {
      EXPECT_NE(problem.remedy(), "") << problem.what();
      return std::string(problem.what()) + " | " + problem.remedy();
    } catch (const profilers::absent_range& problem) {
      EXPECT_NE(problem.remedy(), "") << problem.what();
      return std::string(problem.what()) + " | " + problem.remedy();
    }
    return "";
  }

  std::vector<std::string> recorded_names(const profilers::capture_result& result) {
    std::vector<std::string> names;
    const core::timeline recorded = profilers::read_timelines(result.timeline_files);
    for (const core::range_record& range : recorded.ranges) names.emplace_back(range.name);
    return names;
  }

  temp_folder m_folder;
  profilers::capture_request m_request;
};

}  // namespace profgate::test
