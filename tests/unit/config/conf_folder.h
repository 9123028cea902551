#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "config/config.h"
#include "core/error.h"

namespace profgate::config {

/// A conf/ of this test case alone, with the runner `stage2` already in it. Removed at the end.
class conf_folder : public ::testing::Test {
 protected:
  conf_folder() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    m_root = std::filesystem::path(::testing::TempDir()) /
             ("profgate-config-" + std::to_string(::getpid()) + "-" + test->name());
    std::filesystem::remove_all(m_root);
    write("runner/stage2.yaml", "run:\n  mode: deep\n");
    m_request.conf_dirs = {conf()};
    m_request.project_dir = m_root;
  }
  ~conf_folder() override {
    std::error_code ignored;
    std::filesystem::remove_all(m_root, ignored);
  }

  std::filesystem::path conf() const { return m_root / "conf"; }

  /// Writes conf/<name> and returns its path as messages show it.
  std::string write(const std::string& name, const std::string& text) {
    const std::filesystem::path file = conf() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file.string();
  }

  struct failure {
    std::string what;
    std::string remedy;
  };

  /// What composing fails with; a success fails the test.
  failure compose_failure() const {
    try {
      compose(m_request);
    } catch (const core::bad_input& refused) {
      return {refused.what(), refused.remedy()};
    }
    ADD_FAILURE() << "nothing was refused";
    return {};
  }

  std::filesystem::path m_root;
  request m_request;
};

}  // namespace profgate::config
