#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "core/error.h"

namespace profgate::artifacts {

/// A test with a folder of its own, gone afterwards.
class folder_test : public ::testing::Test {
 protected:
  folder_test() {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    m_folder = std::filesystem::path(::testing::TempDir()) / ("profgate-" + std::to_string(::getpid()) + "-" +
                                                              info->test_suite_name() + "-" + info->name());
    std::filesystem::remove_all(m_folder);
    std::filesystem::create_directories(m_folder);
  }
  ~folder_test() override {
    std::error_code ignored;
    std::filesystem::remove_all(m_folder, ignored);
  }

  const std::filesystem::path& folder() const { return m_folder; }

  static void put(const std::filesystem::path& path, const std::string& contents) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << contents;
  }

  static std::string get(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }

  static std::size_t entries_in(const std::filesystem::path& path) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
  }

 private:
  std::filesystem::path m_folder;
};

/// What `call` throws, as "<exit code>: <what> | <remedy>"; "no error" where it throws nothing.
template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const core::error& error) {
    return std::to_string(static_cast<int>(error.code())) + ": " + error.what() + " | " + error.remedy();
  }
  return "no error";
}

}  // namespace profgate::artifacts
