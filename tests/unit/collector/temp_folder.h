#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace profgate::test {

/// A folder of this test alone, removed with it.
class temp_folder {
 public:
  temp_folder() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    m_path = std::filesystem::path(::testing::TempDir()) /
             (std::string(test->test_suite_name()) + "." + test->name() + "." + std::to_string(getpid()));
    std::filesystem::create_directories(m_path);
  }
  ~temp_folder() { std::filesystem::remove_all(m_path); }
  temp_folder(const temp_folder&) = delete;
  temp_folder& operator=(const temp_folder&) = delete;

  const std::filesystem::path& path() const { return m_path; }
  std::filesystem::path operator/(const std::string& name) const { return m_path / name; }

 private:
  std::filesystem::path m_path;
};

}  // namespace profgate::test
