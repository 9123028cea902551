#include "artifacts/retention.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "artifacts/disk.h"
#include "artifacts/files.h"
#include "artifacts/run_list.h"
#include "artifacts/run_store.h"
#include "artifacts/status.h"
#include "core/error.h"
#include "core/file_lock.h"
#include "gzip.h"

namespace profgate::artifacts {

namespace fs = std::filesystem;

namespace {

/// A file this small takes one block however well it is compressed.
constexpr std::uint64_t disk_block_bytes = 4096;

constexpr const char* compressed_suffix = ".gz";
constexpr const char* unfinished_suffix = ".gz.tmp";

fs::path with_suffix(const fs::path& path, const char* suffix) {
  return path.string() + suffix;
}

/// Calls `visit` with every regular file; a symlink is none and is not followed.
template <class Visit>
void for_each_file(const fs::path& folder, Visit visit) {
  std::vector<fs::path> files;  // taken first, since visiting changes the folder
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.symlink_status().type() == fs::file_type::regular) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) visit(file);
}

bool is_unfinished(const fs::path& file) {
  return file.string().ends_with(unfinished_suffix);
}

/// What people open or link to, and what `compare` reads: small beside a trace.
bool is_read_by_people(const fs::path& file) {
  constexpr std::array<std::string_view, 5> extensions{".md", ".html", ".svg", ".png", ".yaml"};
  constexpr std::array<std::string_view, 4> names{"profile.json", "verdict.json", "metrics.json", "env.json"};
  return std::find(extensions.begin(), extensions.end(), file.extension().string()) != extensions.end() ||
         std::find(names.begin(), names.end(), file.filename().string()) != names.end();
}

bool is_to_be_compressed(const fs::path& file) {
  if (is_unfinished(file) || file.extension() == compressed_suffix || is_read_by_people(file)) return false;
  if (file.filename() == run_marker_name || fs::file_size(file) <= disk_block_bytes) return false;
  const fs::path compressed = with_suffix(file, compressed_suffix);
  return !fs::exists(compressed) || gzip_holds(compressed, file);
}

bool has_work(const fs::path& run_directory) {
  bool found = false;
  for_each_file(run_directory, [&](const fs::path& file) {
    found = found || is_unfinished(file) || is_to_be_compressed(file);
  });
  return found;
}

void compress_run(const fs::path& run_directory) {
  for_each_file(run_directory, [](const fs::path& file) {
    if (is_unfinished(file)) {
      fs::remove(file);
    } else if (is_to_be_compressed(file)) {
      compress_file(file);
    }
  });
}

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

std::vector<compression> plan_retention(const fs::path& stage2_dir, const std::string& pair,
                                        std::size_t keep_runs,
                                        const std::vector<std::string>& protected_run_ids) {
  const run_store store(stage2_dir);
  std::vector<run_info> runs = list_runs(stage2_dir, pair);
  runs.resize(runs.size() - std::min(keep_runs, runs.size()));
  std::vector<compression> plan;
  for (const run_info& run : runs) {
    const bool is_protected =
        std::find(protected_run_ids.begin(), protected_run_ids.end(), run.run_id) != protected_run_ids.end();
    if (is_protected || store.is_in_use(pair, run.path) || has_running_step(run.path)) continue;
    const bool is_open = with_io_errors("look into", [&] { return has_work(run.path); });
    if (is_open) plan.push_back({run.path, directory_size_bytes(run.path)});
  }
  return plan;
}

void compress_file(const fs::path& path) {
  const fs::path compressed = with_suffix(path, compressed_suffix);
  if (fs::exists(compressed)) {
    if (gzip_holds(compressed, path)) fs::remove(path);
    return;
  }
  const fs::path unfinished = with_suffix(path, unfinished_suffix);
  try {
    write_gzip(path, unfinished);
    fs::rename(unfinished, compressed);
  } catch (...) {
    std::error_code ignored;
    fs::remove(unfinished, ignored);
    throw;
  }
  sync_folder(folder_of(path));
  fs::remove(path);
}

retention_result apply_retention(const fs::path& stage2_dir, const std::vector<compression>& plan) {
  retention_result result;
  if (plan.empty()) return result;
  make_folder(stage2_dir / ".current");
  // Two prunes at once would write the same temporary file.
  const core::file_lock lock = with_io_errors(
      "lock", [&] { return core::file_lock::of_file(stage2_dir / ".current" / "retention.lock"); });
  for (const compression& item : plan) {
    // It may have been cleaned away, or taken up again, since it was planned.
    if (!read_run(item.run_directory) || has_running_step(item.run_directory)) continue;
    result.bytes_before += directory_size_bytes(item.run_directory);
    with_io_errors("compress", [&] { compress_run(item.run_directory); });
    result.bytes_after += directory_size_bytes(item.run_directory);
  }
  return result;
}

clean_plan plan_clean(const fs::path& stage2_dir, const clean_request& request,
                      core::utc_clock::time_point now) {
  if (!request.all && !request.keep && !request.older_than) {
    throw core::bad_input("nothing says which runs to remove",
                          "give one of --all, --keep <runs> and --older-than <days>");
  }
  if (request.pair) require_valid_pair(*request.pair);
  const run_store store(stage2_dir);
  const std::string oldest_kept_time =
      request.older_than ? core::utc_compact(now - *request.older_than) : std::string();
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
