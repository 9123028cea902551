#include <fmt/format.h>

#include <map>

#include "analysis/profile.h"
#include "artifacts/files.h"
#include "artifacts/run_list.h"
#include "commands.h"
#include "compare_inputs.h"
#include "core/error.h"
#include "installation.h"
#include "out_folder.h"
#include "render/compare_views.h"
#include "render/models_views.h"
#include "terminal.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

void write_files(const fs::path& folder, const std::vector<std::pair<std::string, std::string>>& files) {
  for (const auto& [name, text] : files) {
    artifacts::write_file_atomically(folder / name, text);
    print("{}\n", (folder / name).string());
  }
}

}  // namespace

core::exit_code compare(const compare_options& options) {
  if (options.out) require_folder_around(*options.out);
  compare_place place{options.runs_dir, options.pair, options.baselines_dir};
  if (!place.pair) place.pair = common_pair(options.a, options.b, options.runs_dir);
  const compare::profile_comparison comparison =
      compare::compare_sides(find_side(options.a, place), find_side(options.b, place));
  const fs::path templates_dir = find_installation().templates_dir;
  if (!options.out) {
    print("{}", options.as_json ? render::compare_json(comparison)
                                : render::compare_markdown(comparison, templates_dir));
    return core::exit_code::good;
  }
  artifacts::make_folder(*options.out);
  write_files(*options.out, render::compare_documents(comparison, templates_dir));
  return core::exit_code::good;
}

namespace {

/// The latest run of each pair that has a profile, by the pair's name.
std::map<std::string, artifacts::run_info> latest_runs(const fs::path& runs_dir) {
  std::map<std::string, artifacts::run_info> latest;
  for (const artifacts::run_info& run : artifacts::list_runs(runs_dir)) {
    if (!artifacts::file_exists(run.path / "profile.json")) continue;
    const auto found = latest.find(run.pair);
    if (found == latest.end() || found->second.run_id < run.run_id) latest.insert_or_assign(run.pair, run);
  }
  return latest;
}

}  // namespace

std::string models_table(const fs::path& runs_dir, const std::vector<std::string>& pairs,
                         const fs::path& place) {
  const std::map<std::string, artifacts::run_info> latest = latest_runs(runs_dir);
  std::vector<render::profiled_run> runs;
  const auto add = [&](const fs::path& folder) {
    const fs::path profile = folder / "profile.json";
    std::string text = artifacts::read_file(profile);
    analysis::validate_profile(text, profile.string());
    // Of a place that is yet to be made only the absolute path has anything in common with the run's.
    runs.push_back({fs::proximate(fs::absolute(folder), fs::absolute(place)).string(), std::move(text)});
  };
  for (const std::string& pair : pairs) {
    if (artifacts::file_exists(fs::path(pair) / "profile.json")) {
      add(pair);
      continue;
    }
    const auto found = latest.find(pair);
    if (found == latest.end())
      throw core::bad_input(
          runs_dir.string() + " has no run of " + pair + " with a profile.json",
          "name a pair that has run (profgate run <pair>), the directory of a run, or another folder of runs "
          "(--runs-dir)");
    add(found->second.path);
  }
  if (pairs.empty())
    for (const auto& [pair, run] : latest) add(run.path);
  if (runs.empty())
    throw core::bad_input(runs_dir.string() + " has no run with a profile.json",
                          "run a pair first (profgate list), or name another folder: --runs-dir");
  return render::models_json(runs);
}

core::exit_code compare_models(const compare_models_options& options) {
  if (options.out) require_folder_around(*options.out);
  const std::string json = models_table(options.runs_dir, options.pairs, options.out.value_or("."));
  const fs::path templates_dir = find_installation().templates_dir;
  const std::string markdown = render::models_markdown(json, templates_dir);
  if (!options.out) {
    print("{}", options.as_json ? json : markdown);
    return core::exit_code::good;
  }
  artifacts::make_folder(*options.out);
  write_files(*options.out, {{"models.md", markdown},
                             {"models.html", render::models_html(json, templates_dir)},
                             {"models.json", json}});
  return core::exit_code::good;
}

}  // namespace profgate::cli
