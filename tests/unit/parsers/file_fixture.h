#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "../collector/temp_folder.h"
#include "core/error.h"

namespace profgate::test {

/// What the tools wrote, by machine and version.
inline const std::filesystem::path samples = std::filesystem::path(PROFGATE_TEST_DATA) / "nsight";

/// Tests that write a file and read it back.
class file_test : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& content, const std::string& name = "input") {
    std::ofstream(m_folder / name, std::ios::binary) << content;
    return m_folder / name;
  }

  static std::string content_of(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  temp_folder m_folder;
};

/// As a cell of a CSV file.
inline std::string quoted(const std::string& cell) {
  std::string text = "\"";
  for (const char c : cell) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

/// The words of the bad_input that `action` throws; empty if it throws none.
template <typename callable>
std::string words_of_bad_input(callable action) {
  try {
    action();
  } catch (const core::bad_input& problem) {
    EXPECT_NE(problem.remedy(), "") << problem.what();
    return problem.what();
  }
  return "";
}

}  // namespace profgate::test
