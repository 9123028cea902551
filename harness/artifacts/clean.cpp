#include "artifacts/clean.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "artifacts/disk.h"
#include "artifacts/files.h"
#include "artifacts/run_list.h"
#include "artifacts/run_store.h"
#include "artifacts/status.h"
#include "core/error.h"

namespace profgate::artifacts {

namespace fs = std::filesystem;

namespace {

/// Why the run stays, or nothing where the request covers it. `newer_runs` counts those of its pair.
std::optional<std::string> reason_to_keep(const run_info& run, const clean_request& request,
                                          std::size_t newer_runs, const std::string& oldest_kept_time,
                                          const run_store& store) {
  const std::vector<std::string>& named = request.protected_run_ids;
  if (std::find(named.begin(), named.end(), run.run_id) != named.end()) return "a baseline names it";
  if (store.is_in_use(run.pair, run.path) || has_running_step(run.path)) return "it is in use";
  if (request.keep && newer_runs < *request.keep) {
    return fmt::format("it is among the last {} of its pair", *request.keep);
  }
  if (request.older_than && parse_run_id(run.run_id)->time >= oldest_kept_time) {
    return fmt::format("it is not older than {} hours", request.older_than->count());
  }
  return std::nullopt;
}

void remove_run(const fs::path& run_directory) {
  const fs::path marker = run_directory / run_marker_name;
  std::vector<fs::path> contents;
  for (const fs::directory_entry& entry : fs::directory_iterator(run_directory)) {
    if (entry.path() != marker) contents.push_back(entry.path());
  }
  for (const fs::path& path : contents) fs::remove_all(path);  // of a symlink the link, not what it points to
  fs::remove_all(run_directory);
}

}  // namespace

clean_plan plan_clean(const fs::path& stage2_dir, const clean_request& request, utc_clock::time_point now) {
  if (!request.all && !request.keep && !request.older_than) {
    throw core::bad_input("nothing says which runs to remove",
                          "give one of --all, --keep <runs> and --older-than <days>");
  }
  if (request.pair) require_valid_pair(*request.pair);
  const run_store store(stage2_dir);
  const std::string oldest_kept_time =
      request.older_than ? utc_compact(now - *request.older_than) : std::string();
  std::vector<run_info> runs = list_runs(store.stage2_dir(), request.pair);
  std::map<std::string, std::size_t> newer_runs_of_pair;
  clean_plan plan;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {  // newest first
    const std::size_t newer_runs = newer_runs_of_pair[run->pair]++;
    if (const auto reason = reason_to_keep(*run, request, newer_runs, oldest_kept_time, store)) {
      plan.keep.push_back({run->path, *reason});
      continue;
    }
    plan.remove.push_back({run->path, run->pair, directory_size_bytes(run->path)});
    plan.bytes += plan.remove.back().bytes;
  }
  return plan;
}

std::uint64_t apply_clean(const fs::path& stage2_dir, const clean_plan& plan) {
  const run_store store(stage2_dir);
  std::uint64_t freed_bytes = 0;
  for (const clean_item& item : plan.remove) {
    const fs::path run_directory = store.stage2_dir() / item.run_directory.filename();
    if (fs::absolute(item.run_directory).lexically_normal() != run_directory) {
      throw core::bad_input(
          fmt::format("{} is not a run in {}", item.run_directory.string(), store.stage2_dir().string()),
          "remove it by hand if that is what you want");
    }
    const std::optional<run_info> run = read_run(run_directory);
    if (!run || store.is_in_use(run->pair, run_directory) || has_running_step(run_directory)) continue;
    const std::uint64_t bytes = directory_size_bytes(run_directory);
    with_io_errors("remove", [&] { remove_run(run_directory); });
    freed_bytes += bytes;
  }
  return freed_bytes;
}

}  // namespace profgate::artifacts
