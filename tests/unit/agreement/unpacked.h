#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "artifacts/files.h"

namespace profgate::analysis {

/// A recording below tests/data/nsight/h200-2025.3.1 that is kept compressed, as a file to read: SQLite opens
/// no other.
class unpacked {
 public:
  explicit unpacked(const std::filesystem::path& recording)
      : m_file(std::filesystem::path(::testing::TempDir()) /
               (std::to_string(getpid()) + "-" + recording.filename().string())) {
    std::ofstream(m_file, std::ios::binary)
        << artifacts::read_file(PROFGATE_TEST_DATA "/nsight/h200-2025.3.1" / recording);
  }
  ~unpacked() {
    std::error_code ignored;
    std::filesystem::remove(m_file, ignored);
  }
  unpacked(const unpacked&) = delete;
  unpacked& operator=(const unpacked&) = delete;

  const std::filesystem::path& file() const { return m_file; }

 private:
  std::filesystem::path m_file;
};

}  // namespace profgate::analysis
