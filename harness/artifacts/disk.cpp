#include "artifacts/disk.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <utility>

#include "artifacts/files.h"
#include "core/units.h"

namespace profgate::artifacts {

namespace fs = std::filesystem;

std::uint64_t free_bytes(const fs::path& path) {
  fs::path existing = fs::absolute(path);
  std::error_code ignored;
  while (!fs::exists(existing, ignored) && existing.has_relative_path()) existing = existing.parent_path();
  struct statvfs info {};
  if (::statvfs(existing.c_str(), &info) != 0) throw_io_error("ask for the free space of", path, errno);
  return std::uint64_t{info.f_bavail} * info.f_frsize;
}

std::uint64_t directory_size_bytes(const fs::path& path) {
  std::uint64_t total_bytes = 0;
  std::error_code failure;
  auto entry = fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, failure);
  for (; !failure && entry != fs::recursive_directory_iterator(); entry.increment(failure)) {
    std::error_code vanished;
    if (entry->symlink_status(vanished).type() != fs::file_type::regular) continue;
    const std::uint64_t bytes = entry->file_size(vanished);
    if (!vanished) total_bytes += bytes;
  }
  return total_bytes;
}

run_size_guard::run_size_guard(fs::path run_directory, std::uint64_t max_bytes,
                               std::chrono::milliseconds interval)
    : m_run_directory(std::move(run_directory)), m_max_bytes(max_bytes), m_interval(interval) {}

std::optional<std::string> run_size_guard::operator()() {
  const auto now = std::chrono::steady_clock::now();
  if (m_reason || (m_last_walk && now - *m_last_walk < m_interval)) return m_reason;
  m_last_walk = now;
  const std::uint64_t bytes = directory_size_bytes(m_run_directory);
  if (bytes > m_max_bytes) {
    m_reason = fmt::format("the run directory has grown to {}, over its limit of {}: {}",
                           core::format_bytes(static_cast<double>(bytes)),
                           core::format_bytes(static_cast<double>(m_max_bytes)), m_run_directory.string());
  }
  return m_reason;
}

}  // namespace profgate::artifacts
