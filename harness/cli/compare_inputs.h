#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "compare/profile_comparison.h"

/// What a person may name on the command line of `profgate compare`, and where it is found.
namespace profgate::cli {

struct compare_place {
  std::filesystem::path runs_dir = "tmp/stage2";
  std::optional<std::string> pair;  ///< which pair's runs or baselines a commit stands for
  std::filesystem::path baselines_dir = "conf/baselines";
};

/// `name` is, in this order: a run directory, a comparison's folder (its candidate), a profile.json, a run
/// set (JSON); a run id in runs_dir; a pair (its newest run, else its baseline); a commit or git ref (its
/// newest run, else the baseline that git has in it). bad_input where it is none of them, or where a commit
/// has several pairs and none was named.
compare::compared_side find_side(const std::string& name, const compare_place& place);

/// The pair of the newest runs of both commits that both have, where there is exactly one.
std::optional<std::string> common_pair(const std::string& a, const std::string& b,
                                       const std::filesystem::path& runs_dir);

}  // namespace profgate::cli
