#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "artifacts/owner.h"
#include "core/utc_time.h"

namespace profgate::artifacts {

/// Who uses which run directory of a pair: the contents of .current/<pair>.json.
struct current_run {
  std::filesystem::path run_directory;
  process_owner owner;
  std::string claimed_utc;
  bool released = false;
};

/// The folder that holds all runs (artifacts.stage2_dir). The steps of one ctest share an owner, ctest
/// itself, and so find the same run; two runs of one pair never share a directory.
class run_store {
 public:
  explicit run_store(const std::filesystem::path& stage2_dir);

  /// Makes a new run directory with its stage1/, nsys/ and ncu/ and records `owner` as its user. bad_input
  /// where another living owner has not released its run of the pair. A dead owner's claim is replaced.
  std::filesystem::path claim(const std::string& pair, const process_owner& owner,
                              core::utc_clock::time_point now = core::utc_clock::now()) const;

  /// The run directory that `owner` claimed. bad_input, with what to run first, where there is none or it
  /// belongs to somebody else.
  std::filesystem::path open_current(const std::string& pair, const process_owner& owner) const;

  /// Ends the claim of `owner`. False where it holds none (another owner's claim stays).
  bool release(const std::string& pair, const process_owner& owner) const;

  /// The last claim of the pair, released or not; bad_input where its record is damaged.
  std::optional<current_run> current(const std::string& pair) const;

  /// Whether a living owner uses `run_directory` now.
  bool is_in_use(const std::string& pair, const std::filesystem::path& run_directory) const;

  const std::filesystem::path& stage2_dir() const { return m_stage2_dir; }

 private:
  std::filesystem::path record_path(const std::string& pair) const;
  void write_record(const std::string& pair, const current_run& run) const;

  std::filesystem::path m_stage2_dir;
};

}  // namespace profgate::artifacts
