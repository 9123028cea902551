#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/utc_time.h"

/// What becomes of old runs: compressed after each run of the pair, removed when somebody asks for it.
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
/// both; doing it again completes it. What people read (reports, pictures, profile.json, verdict.json, …),
/// files of one disk block or less, and the marker stay as they are.
retention_result apply_retention(const std::filesystem::path& stage2_dir,
                                 const std::vector<compression>& plan);

/// What apply_retention does with each file: <path>.gz.tmp, fsync, rename, and only then the original goes.
/// Where <path>.gz holds something else already, both stay.
void compress_file(const std::filesystem::path& path);

/// Which runs `profgate clean` is asked to remove. At least one of all, keep and older_than; a run goes
/// where every one that is given allows it.
struct clean_request {
  std::optional<std::string> pair;  ///< nothing: every pair
  bool all = false;
  std::optional<std::size_t> keep;  ///< the newest of each pair that stay
  std::optional<std::chrono::hours> older_than;
  std::vector<std::string> protected_run_ids;
};

struct clean_item {
  std::filesystem::path run_directory;
  std::string pair;
  std::uint64_t bytes = 0;
};

struct kept_item {
  std::filesystem::path run_directory;
  std::string reason;
};

/// What would be removed, to be shown before it happens.
struct clean_plan {
  std::vector<clean_item> remove;
  std::vector<kept_item> keep;  ///< runs of the pair, or pairs, that stay, and why
  std::uint64_t bytes = 0;      ///< of all in `remove`
};

clean_plan plan_clean(const std::filesystem::path& stage2_dir, const clean_request& request,
                      core::utc_clock::time_point now = core::utc_clock::now());

/// Removes what was planned and returns the bytes freed. Each directory is looked at again: only a run of
/// ours (run id, marker, no symlink) directly inside `stage2_dir` goes, and never one in use. The marker goes
/// last, so that a removal that was cut short can be taken up again.
std::uint64_t apply_clean(const std::filesystem::path& stage2_dir, const clean_plan& plan);

}  // namespace profgate::artifacts
