#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace profgate::artifacts {

/// One old run that still holds files to compress.
struct compression {
  std::filesystem::path run_directory;
  std::uint64_t bytes_before = 0;
};

/// Which runs of `pair` to compress: all but the last `keep_runs`, but never one in `protected_run_ids` (a
/// baseline names it) nor one that somebody works in. Looks only; changes nothing.
std::vector<compression> plan_retention(const std::filesystem::path& stage2_dir, const std::string& pair,
                                        std::size_t keep_runs,
                                        const std::vector<std::string>& protected_run_ids);

struct retention_result {
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;
};

/// Compresses every file of the planned runs to <name>.gz. A crash at any moment leaves the file, its .gz or
/// both; doing it again completes it. Files of one disk block or less, and the marker, stay as they are.
retention_result apply_retention(const std::filesystem::path& stage2_dir,
                                 const std::vector<compression>& plan);

/// What apply_retention does with each file: <path>.gz.tmp, fsync, rename, and only then the original goes.
/// Where <path>.gz holds something else already, both stay.
void compress_file(const std::filesystem::path& path);

}  // namespace profgate::artifacts
