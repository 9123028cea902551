#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ab/request.h"
#include "artifacts/provenance.h"
#include "config/config.h"
#include "pair_manifest.h"
#include "progress.h"

/// From pairs and build folders to what harness/ab runs.
namespace profgate::cli {

/// Whether the code of a project is what one of its commits holds.
enum class code_state {
  committed,
  uncommitted,  ///< it was changed since, or there is no commit yet
  unknown,      ///< it is in git, which refuses to say
  not_in_git,
};
code_state state_of_code(const std::filesystem::path& project_dir, const artifacts::git_facts& git);

/// The pair as it is built now, with the settings given: the candidate, or the one arm of a baseline to save.
ab::arm_build arm_of(const pair_manifest& manifest, const config::resolved& config, const std::string& name);

/// `wanted` is a build folder, or else a commit that is built in a worktree of its own.
ab::arm_build build_named(const pair_manifest& pair, const std::string& wanted,
                          const config::resolved& settings, const ab::surroundings& where);

/// <stage2_dir>/ab/<pair>, this installation's collector, and lines on `display`.
ab::surroundings surroundings_of(const pair_manifest& manifest, const config::resolved& config,
                                 progress& display);

struct comparison_options {
  std::string baseline;                ///< a build folder or a git ref
  config::resolved baseline_settings;  ///< as a rule the same for both: the candidate's
  config::resolved candidate_settings;
  std::optional<std::filesystem::path> out{};
  std::string candidate{};           ///< the same; empty: the pair as it is built
  std::vector<std::string> typed{};  ///< settings, as somebody who looks deeper types them again
};

/// Finds or builds both builds. `display` must outlive the request.
ab::request comparison_request(const pair_manifest& pair, const comparison_options& options,
                               progress& display);

/// Of two commands that were typed: `options` names no builds.
ab::request request_of_commands(const pair_manifest& baseline, const pair_manifest& candidate,
                                const comparison_options& options, progress& display);

}  // namespace profgate::cli
