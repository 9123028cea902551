#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/utc_time.h"

namespace profgate::artifacts {

/// Checks that `pair` is <model>.<config> of letters, digits and ._+- that is safe in a path and in a test
/// name; bad_input otherwise.
void require_valid_pair(std::string_view pair);

/// "20261115-015206-llama-tiny.smoke"; the second run of one second gets "-2".
std::string make_run_id(std::string_view pair, core::utc_clock::time_point when, int ordinal);

/// What the name of a run directory says without looking into it.
struct run_id_parts {
  std::string time;  ///< "20261115-015206", UTC; sorts as text
  std::string rest;  ///< the pair, and "-2" where it was not the first of its second
};

/// Nothing where `name` is not a run id.
std::optional<run_id_parts> parse_run_id(std::string_view name);

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

/// The run id in a folder's marker, whatever the folder is called; empty where it has no marker.
std::string marked_run_id(const std::filesystem::path& folder);

/// All runs in `stage2_dir` (of `pair` alone, where given), oldest first. A run from the future was made
/// while the clock was wrong: it comes before all others, so that nobody takes it for the newest. Empty where
/// there is no such folder.
std::vector<run_info> list_runs(const std::filesystem::path& stage2_dir,
                                const std::optional<std::string>& pair = std::nullopt,
                                core::utc_clock::time_point now = core::utc_clock::now());

}  // namespace profgate::artifacts
