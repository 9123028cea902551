#include "compare_baselines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "artifacts/files.h"
#include "baselines/baseline_store.h"
#include "baselines/run_set_file.h"
#include "core/error.h"
#include "process/git.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void tell_which(const std::string& name, const std::vector<std::string>& files) {
  throw core::bad_input(fmt::format("{} has several baselines: {}", name, fmt::join(files, ", ")),
                        "say which pair with --pair, or name a baseline's file");
}

/// Those that `commit` has below the folder, of the pair if one is named. Outside of git: none.
std::vector<std::string> baselines_at(const std::string& commit, const compare_place& place) {
  const std::string folder = place.baselines_dir.lexically_normal().string() + "/";
  const std::optional<std::string> listed =
      process::git_output({}, {"ls-tree", "-r", "--name-only", commit, "--", folder});
  const std::string wanted = folder + (place.pair ? baselines::folder_of_pair(*place.pair) : "");
  std::vector<std::string> files;
  std::istringstream lines(listed.value_or(""));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(wanted) && line.ends_with(".json")) files.push_back(line);
  return files;
}

}  // namespace

std::optional<compare::compared_side> side_of_baseline(const std::string& pair, const compare_place& place) {
  std::vector<std::string> names;
  for (const fs::path& name : baselines::list_baselines(place.baselines_dir))
    if (name.string().starts_with(baselines::folder_of_pair(pair))) names.push_back(name.string());
  if (names.empty()) return std::nullopt;
  if (names.size() > 1) tell_which(pair, names);
  const fs::path file = place.baselines_dir / names.front();
  return compare::side_of_run_set(baselines::read_run_set(file).runs, fmt::format("baseline of {}", pair));
}

std::optional<compare::compared_side> side_of_baseline_at(const std::string& commit, const std::string& name,
                                                          const compare_place& place) {
  const std::vector<std::string> files = baselines_at(commit, place);
  if (files.empty()) return std::nullopt;
  if (files.size() > 1) tell_which(name, files);
  const std::string object = fmt::format("{}:./{}", commit, files.front());
  const std::optional<std::string> text = process::git_output({}, {"show", object});
  if (!text) throw core::step_failure(fmt::format("git show {} failed", object), "look at the repository");
  return compare::side_of_run_set(baselines::parse_run_set(*text, object).runs,
                                  fmt::format("baseline at {}", name));
}

}  // namespace profgate::cli
