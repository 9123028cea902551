#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "artifacts/owner.h"

namespace profgate::artifacts {

/// Why the first step of a pair left no run, in which it could have said so: a configuration that was
/// refused, or a run of the pair in progress. Kept in the build folder, for a refused configuration has no
/// artifacts.stage2_dir.
struct refusal {
  process_owner owner;  ///< the ctest whose test it was
  std::string reason;   ///< with file and line
  std::string remedy;
};

void write_refusal(const std::filesystem::path& build_dir, const std::string& pair, const refusal& refused);

/// The last one of the pair, of whichever ctest; bad_input where its file is damaged.
std::optional<refusal> read_refusal(const std::filesystem::path& build_dir, const std::string& pair);

}  // namespace profgate::artifacts
