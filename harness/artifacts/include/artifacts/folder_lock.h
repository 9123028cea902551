#pragma once

#include <filesystem>

namespace profgate::artifacts {

/// Holds an exclusive lock on a folder that exists, without leaving a file in it: a folder that lies in git
/// stays clean. The kernel drops it when the process dies, however that happens.
class folder_lock {
 public:
  explicit folder_lock(const std::filesystem::path& folder);
  ~folder_lock();
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;

 private:
  int m_fd = -1;
};

}  // namespace profgate::artifacts
