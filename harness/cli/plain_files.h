#pragma once

#include <filesystem>
#include <vector>

namespace profgate::cli {

/// Retention compresses the files of old runs; who reads a timeline wants plain ones. Those that are
/// compressed are unpacked into a folder that goes with this object.
class plain_files {
 public:
  explicit plain_files(const std::vector<std::filesystem::path>& paths);
  ~plain_files();
  plain_files(const plain_files&) = delete;
  plain_files& operator=(const plain_files&) = delete;

  const std::vector<std::filesystem::path>& paths() const { return m_paths; }

 private:
  std::vector<std::filesystem::path> m_paths;
  std::filesystem::path m_folder;  ///< empty: nothing had to be unpacked
};

}  // namespace profgate::cli
