#include "artifacts/run_store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "artifacts/files.h"
#include "artifacts/run_list.h"
#include "core/error.h"
#include "core/file_lock.h"
#include "core/json.h"
#include "owner_json.h"

namespace profgate::artifacts {

namespace fs = std::filesystem;

namespace {

constexpr const char* claims_folder = ".current";

/// Held while a pair's claim is read and written.
core::file_lock lock_claims(const fs::path& stage2_dir, const std::string& pair) {
  return with_io_errors(
      "lock", [&] { return core::file_lock::of_file(stage2_dir / claims_folder / (pair + ".lock")); });
}

/// Makes a directory that was not there before, whoever else tries at the same moment.
fs::path make_run_directory(const fs::path& stage2_dir, const std::string& pair,
                            core::utc_clock::time_point now) {
  for (int ordinal = 1;; ++ordinal) {
    fs::path run = stage2_dir / make_run_id(pair, now, ordinal);
    if (::mkdir(run.c_str(), 0777) == 0) return run;
    if (errno != EEXIST) throw_io_error("create the run directory", run, errno);
  }
}

std::string how_to_start(const std::string& pair) {
  return fmt::format("start a run as a whole: 'profgate run {0}', or 'ctest -R ^stage2\\.{0}$'", pair);
}

}  // namespace

run_store::run_store(const fs::path& stage2_dir) : m_stage2_dir(fs::absolute(stage2_dir).lexically_normal()) {
  if (!m_stage2_dir.has_filename()) m_stage2_dir = m_stage2_dir.parent_path();  // "runs/" is "runs"
}

fs::path run_store::record_path(const std::string& pair) const {
  require_valid_pair(pair);
  return m_stage2_dir / claims_folder / (pair + ".json");
}

fs::path run_store::claim(const std::string& pair, const process_owner& owner,
                          core::utc_clock::time_point now) const {
  require_valid_pair(pair);
  make_folder(m_stage2_dir / claims_folder);
  const core::file_lock lock = lock_claims(m_stage2_dir, pair);
  const std::optional<current_run> before = current(pair);
  if (before && !before->released && before->owner != owner && is_alive(before->owner, record_path(pair))) {
    throw core::bad_input(
        fmt::format("another run of {} is in progress (process {} on {}, started {}): {}", pair,
                    before->owner.pid, before->owner.host, before->claimed_utc,
                    before->run_directory.string()),
        fmt::format("wait for it or end it; if that process is no profgate run any more, remove {}",
                    record_path(pair).string()));
  }
  const fs::path run = make_run_directory(m_stage2_dir, pair, now);
  write_run_marker(run, pair, core::utc_timestamp(now));
  for (const char* folder : {"stage1", "nsys", "ncu"}) make_folder(run / folder);
  write_record(pair, {run, owner, core::utc_timestamp(now), false});
  return run;
}

fs::path run_store::open_current(const std::string& pair, const process_owner& owner) const {
  const std::optional<current_run> run = current(pair);
  if (!run || run->released) {
    throw core::bad_input(fmt::format("no run of {} is in progress in {}", pair, m_stage2_dir.string()),
                          how_to_start(pair));
  }
  if (run->owner != owner) {
    throw core::bad_input(
        fmt::format("the current run of {} belongs to process {}, which {}: {}", pair, run->owner.pid,
                    is_alive(run->owner, record_path(pair)) ? "is still at it" : "has ended",
                    run->run_directory.string()),
        how_to_start(pair));
  }
  if (!read_run(run->run_directory)) {
    throw core::bad_input(
        fmt::format("the run directory of {} is gone: {}", pair, run->run_directory.string()),
        how_to_start(pair));
  }
  return run->run_directory;
}

bool run_store::release(const std::string& pair, const process_owner& owner) const {
  if (!file_exists(record_path(pair))) return false;
  const core::file_lock lock = lock_claims(m_stage2_dir, pair);
  std::optional<current_run> run = current(pair);
  if (!run || run->released || run->owner != owner) return false;
  run->released = true;
  write_record(pair, *run);
  return true;
}

bool run_store::is_in_use(const std::string& pair, const fs::path& run_directory) const {
  const std::optional<current_run> run = current(pair);
  return run && !run->released && run->run_directory.filename() == run_directory.filename() &&
         is_alive(run->owner, record_path(pair));
}

void run_store::write_record(const std::string& pair, const current_run& run) const {
  nlohmann::ordered_json record;
  record["schema_version"] = "1.0";
  record["pair"] = pair;
  record["run_id"] = run.run_directory.filename().string();
  record["owner"] = owner_to_json(run.owner);
  record["claimed_utc"] = run.claimed_utc;
  record["released"] = run.released;
  write_file_atomically(record_path(pair), core::json_text(record));
}

std::optional<current_run> run_store::current(const std::string& pair) const {
  const fs::path path = record_path(pair);
  if (!file_exists(path)) return std::nullopt;
  const core::json_document document(
      read_file(path, 1 << 20), path.string(),
      fmt::format("make sure that no run of {} is in progress, then remove the file", pair));
  const core::json_cursor record = document.root();
  // The name alone, so that the whole folder may be moved.
  const fs::path run_id = record.require("run_id").text();
  return current_run{m_stage2_dir / run_id.filename(), owner_from_json(record.require("owner")),
                     record.require("claimed_utc").text(), record.require("released").boolean()};
}

}  // namespace profgate::artifacts
