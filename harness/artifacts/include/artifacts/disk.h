#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace profgate::artifacts {

/// What an unprivileged user may still write on the disk of `path`, or of its nearest existing parent.
std::uint64_t free_bytes(const std::filesystem::path& path);

/// The sum of the files' sizes under `path`. Symlinks count nothing and are not followed; a file that
/// vanishes meanwhile counts nothing. 0 where `path` does not exist.
std::uint64_t directory_size_bytes(const std::filesystem::path& path);

/// Asked again and again while a run grows, says once it has outgrown its limit (R11). It walks the folder
/// at most once an interval, so asking is cheap.
class run_size_guard {
 public:
  run_size_guard(std::filesystem::path run_directory, std::uint64_t max_bytes,
                 std::chrono::milliseconds interval = std::chrono::seconds(2));
  /// The reason to stop, or nothing. Once given, it stays.
  std::optional<std::string> operator()();

 private:
  std::filesystem::path m_run_directory;
  std::uint64_t m_max_bytes;
  std::chrono::milliseconds m_interval;
  std::optional<std::chrono::steady_clock::time_point> m_last_walk;
  std::optional<std::string> m_reason;
};

}  // namespace profgate::artifacts
