#include "baselines/history.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/interrupt.h"
#include "core/sqlite.h"
#include "gate/comparability.h"
#include "gate/process_runs.h"
#include "gate/rank_statistics.h"

namespace profgate::baselines {
namespace fs = std::filesystem;
namespace {

constexpr std::int32_t history_application_id = 0x70676831;  // "pgh1": tells our files from others
constexpr std::int64_t schema_version = 1;
constexpr const char* schema =
    "CREATE TABLE entries (measurement_id TEXT NOT NULL, pair TEXT NOT NULL, stage TEXT NOT NULL, "
    "measured_utc TEXT NOT NULL, commit_id TEXT NOT NULL, is_dirty INTEGER NOT NULL, is_accepted INTEGER NOT "
    "NULL, device TEXT NOT NULL, config_sha256 TEXT NOT NULL, median_ns REAL NOT NULL, processes INTEGER NOT "
    "NULL, PRIMARY KEY (measurement_id, stage)) WITHOUT ROWID";

/// Beside the entries: files of an earlier profgate do not have it.
constexpr const char* anchors_schema =
    "CREATE TABLE IF NOT EXISTS anchors (measurement_id TEXT NOT NULL, stage TEXT NOT NULL, anchor_commit "
    "TEXT "
    "NOT NULL, ratio REAL NOT NULL, PRIMARY KEY (measurement_id, stage)) WITHOUT ROWID";

/// As the anchors. A stage that is no figure has no row.
constexpr const char* units_schema =
    "CREATE TABLE IF NOT EXISTS figure_units (measurement_id TEXT NOT NULL, stage TEXT NOT NULL, unit TEXT "
    "NOT NULL, PRIMARY KEY (measurement_id, stage)) WITHOUT ROWID";

void require_history(const core::sqlite_database& database) {
  if (database.pragma("application_id") != history_application_id)
    database.fail("is an SQLite database, but not a history of profgate");
  if (const std::int64_t version = database.pragma("user_version"); version != schema_version) {
    database.fail(fmt::format("is a history of schema {}, this profgate writes {}", version, schema_version));
  }
  core::sqlite_statement whole = database.query("PRAGMA quick_check(1)");
  if (!whole.next() || whole.text(0) != "ok") database.fail(fmt::format("is damaged: {}", whole.text(0)));
}

core::sqlite_database open_history(const fs::path& file, core::sqlite_access access) {
  bool is_new = !fs::exists(file) || fs::is_empty(file);
  const std::string remedy =
      "name another file (gate.history_file, --history-file), or restore this one; nothing was written to it";
  const auto refuse_none = [&] {
    if (is_new && access == core::sqlite_access::read)
      throw core::bad_input(file.string(), 0, "there is no history yet", remedy);
  };
  refuse_none();
  core::sqlite_database database(file, access, "profgate writes a history", remedy);
  // Where the profgate that made it was killed, SQLite takes back all that it wrote when it first looks.
  is_new = is_new || database.pragma("page_count") == 0;
  refuse_none();
  if (!is_new) require_history(database);
  if (access == core::sqlite_access::read) return database;
  // Two that make the same new file at once: the second waits here and finds it made.
  database.execute("BEGIN IMMEDIATE");
  if (database.pragma("application_id") == 0) {
    database.execute(schema);
    database.execute(fmt::format("PRAGMA application_id = {}", history_application_id));
    database.execute(fmt::format("PRAGMA user_version = {}", schema_version));
  }
  database.execute("COMMIT");
  return database;
}

void append_anchor(const core::sqlite_database& database, const std::string& id, const std::string& stage,
                   double median_ns, const gate::run_set& anchor) {
  const std::vector<double> medians = gate::stage_medians_ns(anchor, stage, gate::reduction_for(anchor));
  if (medians.empty()) return;
  database.query("INSERT INTO anchors VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING")
      .bind(1, id)
      .bind(2, stage)
      .bind(3, anchor.identity.commit)
      .bind(4, median_ns / gate::median_of(medians))
      .next();
}

void append_unit(const core::sqlite_database& database, const std::string& id, const std::string& stage,
                 const gate::figure_units& units) {
  const auto found = units.find(stage);
  if (found == units.end()) return;
  database.query("INSERT INTO figure_units VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
      .bind(1, id)
      .bind(2, stage)
      .bind(3, found->second)
      .next();
}

}  // namespace

bool append_history(const fs::path& file, const stored_run_set& stored, history_kind kind,
                    const gate::run_set* anchor) {
  return append_history(file, stored, kind, anchor, [] {});
}

bool append_history(const fs::path& file, const stored_run_set& stored, history_kind kind,
                    const gate::run_set* anchor, const std::function<void()>& together) {
  const core::sqlite_database database = open_history(file, core::sqlite_access::write);
  const bool is_anchored = anchor != nullptr && gate::are_interleaved(*anchor, stored.runs) &&
                           gate::compare_arms(*anchor, stored.runs).obstacles.empty() &&
                           anchor->identity.config_sha256 == stored.runs.identity.config_sha256;
  if (!is_anchored) anchor = nullptr;
  if (anchor != nullptr) database.execute(anchors_schema);
  if (!stored.runs.units_of_figures.empty()) database.execute(units_schema);
  const gate::build_identity& identity = stored.runs.identity;
  const std::string id = measurement_id(stored);
  int rows_changed = 0;
  bool does_anything_count = false;
  database.execute("BEGIN IMMEDIATE");
  for (const std::string& stage : gate::stages_of(stored.runs)) {
    const std::vector<double> medians =
        gate::stage_medians_ns(stored.runs, stage, gate::reduction_for(stored.runs));
    if (medians.empty()) continue;
    does_anything_count = true;
    core::sqlite_statement insert = database.query(
        "INSERT INTO entries VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON "
        "CONFLICT DO NOTHING");
    insert.bind(1, id)
        .bind(2, identity.pair)
        .bind(3, stage)
        .bind(4, stored.runs.created_utc)
        .bind(5, identity.commit)
        .bind(6, std::int64_t{identity.is_dirty})
        .bind(7, std::int64_t{kind == history_kind::accepted})
        .bind(8, gate::device_text(identity))
        .bind(9, identity.config_sha256)
        .bind(10, gate::median_of(medians))
        .bind(11, static_cast<std::int64_t>(medians.size()));
    insert.next();
    rows_changed += database.changes();
    append_unit(database, id, stage, stored.runs.units_of_figures);
    if (anchor != nullptr) append_anchor(database, id, stage, gate::median_of(medians), *anchor);
  }
  if (!does_anything_count) {
    throw core::bad_input(
        fmt::format("the run set of {} has no process that counts: there is nothing to append",
                    identity.pair),
        "measure again: the first process never counts, nor one that the GPU was disturbed in");
  }
  if (kind == history_kind::accepted) {
    database.query("UPDATE entries SET is_accepted = 1 WHERE measurement_id = ?1 AND is_accepted = 0")
        .bind(1, id)
        .next();
    rows_changed += database.changes();
  }
  core::stop_if_interrupted();
  together();
  database.execute("COMMIT");
  return rows_changed > 0;
}

std::vector<history_entry> read_history(const fs::path& file, const std::string& pair) {
  const core::sqlite_database database = open_history(file, core::sqlite_access::read);
  const bool is_anchored = database.has_table("anchors");
  const bool has_units = database.has_table("figure_units");
  const std::string younger_columns =
      std::string(is_anchored ? "anchor_commit, ratio" : "NULL, NULL") + (has_units ? ", unit" : ", NULL");
  const std::string younger_tables =
      std::string(is_anchored ? " LEFT JOIN anchors USING (measurement_id, stage)" : "") +
      (has_units ? " LEFT JOIN figure_units USING (measurement_id, stage)" : "");
  core::sqlite_statement rows = database.query(
      "SELECT measurement_id, measured_utc, commit_id, is_dirty, is_accepted, device, "
      "config_sha256, stage, median_ns, processes, " +
      younger_columns + " FROM entries" + younger_tables +
      " WHERE pair = ?1 AND median_ns > 0 ORDER BY measured_utc, measurement_id, stage");
  rows.bind(1, pair);
  std::vector<history_entry> entries;
  while (rows.next()) {
    history_entry entry;
    entry.measurement_id = rows.text(0);
    entry.measured_utc = rows.text(1);
    entry.commit = rows.text(2);
    entry.is_dirty = rows.integer(3) != 0;
    entry.kind = rows.integer(4) != 0 ? history_kind::accepted : history_kind::nightly;
    entry.device = rows.text(5);
    entry.config_sha256 = rows.text(6);
    entry.stage = rows.text(7);
    entry.median_ns = rows.real(8);
    entry.processes = rows.integer(9);
    entry.anchor_commit = rows.text(10);
    if (const double ratio = rows.real(11); ratio > 0) entry.anchor_ratio = ratio;  // NULL reads as 0
    entry.unit = rows.text(12);
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace profgate::baselines
