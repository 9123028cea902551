#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace profgate::artifacts {

/// One run directory of ours: its name is a run id and it holds our marker, run.json.
struct run_info {
  std::filesystem::path path;
  std::string run_id;
  std::string pair;
  std::string created_utc;
};

constexpr const char* run_marker_name = "run.json";

/// Leaves the marker that makes `run_directory` a run of `pair`. The pair is in it because a run id alone is
/// ambiguous: "-2" ends both the second run of x.smoke and the first of x.smoke-2.
void write_run_marker(const std::filesystem::path& run_directory, std::string_view pair,
                      const std::string& created_utc);

/// What the marker says, or nothing where `run_directory` is not a run of ours: another name, a symlink, no
/// marker, or a marker that says another name.
std::optional<run_info> read_run(const std::filesystem::path& run_directory);

/// All runs in `stage2_dir` (of `pair` alone, where given), oldest first. Empty where there is no such
/// folder.
std::vector<run_info> list_runs(const std::filesystem::path& stage2_dir,
                                const std::optional<std::string>& pair = std::nullopt);

}  // namespace profgate::artifacts
