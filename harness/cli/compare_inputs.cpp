#include "compare_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "artifacts/files.h"
#include "artifacts/run_list.h"
#include "baselines/run_set_file.h"
#include "compare_baselines.h"
#include "config/config.h"
#include "config/schema.h"
#include "core/error.h"
#include "core/json.h"
#include "process/git.h"
#include "runs/run_folder_check.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

constexpr const char* what_it_may_be =
    "name a run directory, a profile.json, a baseline file, a run id, a pair or a commit that was profiled "
    "(--runs-dir says where runs are)";

void add_settings(const fs::path& run_dir, compare::compared_side& side) {
  const fs::path file = run_dir / "config.yaml";
  if (!artifacts::file_exists(file)) return;
  try {
    const config::resolved config = config::parse_resolved(artifacts::read_file(file), file.string());
    for (const config::schema_row& row : config::schema()) {
      if (row.kind != config::value_kind::output_path)
        side.facts["setting." + row.key] = config.plain_text(row.key, ", ");
    }
  } catch (const core::bad_input& of_another_version) {
    side.facts["setting"] = fmt::format("not read: {}", of_another_version.what());
  }
}

compare::compared_side side_of_run(const fs::path& run_dir, const std::string& name) {
  const fs::path file = run_dir / "profile.json";
  const fs::path arm = run_dir / baselines::candidate_runs_name;  // of a comparison's folder
  runs::check_run_folder(run_dir);
  if (!artifacts::file_exists(file) && artifacts::file_exists(arm))
    return compare::side_of_run_set(baselines::read_run_set(arm).runs, name);
  if (!artifacts::file_exists(file)) {
    throw core::bad_input(fmt::format("{} has no profile.json", run_dir.string()),
                          "`profgate analyze <run>` makes it where the run got as far as stage1");
  }
  compare::compared_side side = compare::side_of_profile(artifacts::read_file(file), file.string(), name);
  add_settings(run_dir, side);
  return side;
}

compare::compared_side side_of_file(const fs::path& file, const std::string& name) {
  const std::string text = artifacts::read_file(file);
  const json document = core::parse_json(text);
  if (!document.is_object()) throw core::bad_input(file.string(), 0, "is not a JSON object", what_it_may_be);
  const bool is_run_set = document.contains("content_sha256") && document.contains("processes");
  if (is_run_set) return compare::side_of_run_set(baselines::parse_run_set(text, file.string()).runs, name);
  return compare::side_of_profile(text, file.string(), name);
}

/// The commit that env.json of the run names; empty: none.
std::string commit_of(const fs::path& run_dir) {
  const fs::path file = run_dir / "env.json";
  if (!artifacts::file_exists(file)) return "";
  const json env = core::parse_json(artifacts::read_file(file));
  const json::json_pointer commit("/git/commit");
  return env.is_object() && env.contains(commit) && env[commit].is_string() ? env[commit].get<std::string>()
                                                                            : "";
}

bool is_hex(const std::string& name) {
  return name.size() >= 7 && name.size() <= 40 &&
         name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// The whole hash that git knows `name` by here, else the name itself where it looks like a hash.
std::optional<std::string> commit_named(const std::string& name) {
  if (name.empty() || name.front() == '-') return std::nullopt;
  if (const auto hash = process::git_output({}, {"rev-parse", "--verify", "--quiet", name + "^{commit}"}))
    return hash->substr(0, hash->find('\n'));
  return is_hex(name) ? std::optional<std::string>(name) : std::nullopt;
}

/// Runs with a profile at that commit, oldest first.
std::vector<artifacts::run_info> runs_of_commit(const std::string& commit, const fs::path& runs_dir,
                                                const std::optional<std::string>& pair) {
  std::vector<artifacts::run_info> runs;
  for (const artifacts::run_info& run : artifacts::list_runs(runs_dir, pair)) {
    if (artifacts::file_exists(run.path / "profile.json") && commit_of(run.path).starts_with(commit))
      runs.push_back(run);
  }
  return runs;
}

std::set<std::string> pairs_of(const std::vector<artifacts::run_info>& runs) {
  std::set<std::string> pairs;
  for (const artifacts::run_info& run : runs) pairs.insert(run.pair);
  return pairs;
}

std::optional<compare::compared_side> side_of_commit(const std::string& name, const compare_place& place) {
  const std::optional<std::string> commit = commit_named(name);
  if (!commit) return std::nullopt;
  const std::vector<artifacts::run_info> runs = runs_of_commit(*commit, place.runs_dir, place.pair);
  const std::set<std::string> pairs = pairs_of(runs);
  if (pairs.size() > 1) {
    throw core::bad_input(fmt::format("{} was profiled with several pairs: {}", name, fmt::join(pairs, ", ")),
                          "say which one with --pair");
  }
  if (runs.empty()) {
    if (auto side = side_of_baseline_at(*commit, name, place)) return side;
    throw core::bad_input(
        fmt::format("no run in {} is of commit {}{}, nor has it a baseline in {}", place.runs_dir.string(),
                    *commit, place.pair ? " and pair " + *place.pair : "", place.baselines_dir.string()),
        "profile it with `profgate run <pair>`, or say where the runs are with --runs-dir");
  }
  return side_of_run(runs.back().path, fmt::format("{} ({})", name, runs.back().run_id));
}

}  // namespace

compare::compared_side find_side(const std::string& name, const compare_place& place) {
  if (fs::is_directory(name)) {
    // "runs/x/" is called x, "." by the folder it is
    return side_of_run(name, fs::canonical(name).filename().string());
  }
  if (fs::is_regular_file(name)) return side_of_file(name, name);
  if (name.find('/') == std::string::npos && fs::is_directory(place.runs_dir / name))
    return side_of_run(place.runs_dir / name, name);
  std::vector<artifacts::run_info> runs = artifacts::list_runs(place.runs_dir, name);
  std::erase_if(runs, [](const auto& run) { return !artifacts::file_exists(run.path / "profile.json"); });
  if (!runs.empty()) return side_of_run(runs.back().path, runs.back().run_id);
  if (const auto side = side_of_baseline(name, place)) return *side;
  if (const auto side = side_of_commit(name, place)) return *side;
  throw core::bad_input(fmt::format("'{}' is nothing that can be compared", name), what_it_may_be);
}

std::optional<std::string> common_pair(const std::string& a, const std::string& b, const fs::path& runs_dir) {
  std::vector<std::set<std::string>> pairs;
  for (const std::string& name : {a, b}) {
    if (fs::exists(name) || fs::exists(runs_dir / name)) return std::nullopt;
    const std::optional<std::string> commit = commit_named(name);
    if (!commit) return std::nullopt;
    pairs.push_back(pairs_of(runs_of_commit(*commit, runs_dir, std::nullopt)));
  }
  std::vector<std::string> common;
  std::set_intersection(pairs[0].begin(), pairs[0].end(), pairs[1].begin(), pairs[1].end(),
                        std::back_inserter(common));
  return common.size() == 1 ? std::optional<std::string>(common.front()) : std::nullopt;
}

}  // namespace profgate::cli
