#include "baselines/history.h"

#include "baselines/comparability.h"
#include "baselines/judge.h"
#include "gate/rank_statistics.h"
#include "sqlite_file.h"

namespace profgate::baselines {
namespace fs = std::filesystem;
namespace {

constexpr std::int32_t history_application_id = 0x70676831;  // "pgh1"
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

bool has_anchors(const sqlite_file& database) {
  return sqlite_statement(database, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'anchors'")
      .next();
}

void append_anchor(const sqlite_file& database, const std::string& id, const std::string& stage,
                   double median_ns, const gate::run_set& anchor) {
  const std::vector<double> medians = stage_medians_ns(anchor, stage, reduction_for(anchor));
  if (medians.empty()) return;
  sqlite_statement(database, "INSERT INTO anchors VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING")
      .bind(1, id)
      .bind(2, stage)
      .bind(3, anchor.identity.commit)
      .bind(4, median_ns / gate::median_of(medians))
      .next();
}

}  // namespace

bool append_history(const fs::path& file, const stored_run_set& stored, history_kind kind,
                    const gate::run_set* anchor) {
  const sqlite_file database(file, sqlite_file::access::append, history_application_id, schema);
  const bool is_anchored = anchor != nullptr && are_interleaved(*anchor, stored.runs) &&
                           compare_arms(*anchor, stored.runs).obstacles.empty();
  if (!is_anchored) anchor = nullptr;
  if (anchor != nullptr) database.execute(anchors_schema);
  const gate::build_identity& identity = stored.runs.identity;
  const std::string id = measurement_id(stored);
  bool is_new = false;
  database.execute("BEGIN IMMEDIATE");
  for (const std::string& stage : stages_of(stored.runs)) {
    const std::vector<double> medians = stage_medians_ns(stored.runs, stage, reduction_for(stored.runs));
    if (medians.empty()) continue;
    sqlite_statement insert(database,
                            "INSERT INTO entries VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON "
                            "CONFLICT DO NOTHING");
    insert.bind(1, id)
        .bind(2, identity.pair)
        .bind(3, stage)
        .bind(4, stored.runs.created_utc)
        .bind(5, identity.commit)
        .bind(6, std::int64_t{identity.is_dirty})
        .bind(7, std::int64_t{kind == history_kind::accepted})
        .bind(8, device_text(identity))
        .bind(9, identity.config_sha256)
        .bind(10, gate::median_of(medians))
        .bind(11, static_cast<std::int64_t>(medians.size()));
    insert.next();
    is_new = is_new || database.changes() > 0;
    if (anchor != nullptr) append_anchor(database, id, stage, gate::median_of(medians), *anchor);
  }
  if (kind == history_kind::accepted) {
    sqlite_statement(database, "UPDATE entries SET is_accepted = 1 WHERE measurement_id = ?1")
        .bind(1, id)
        .next();
  }
  database.execute("COMMIT");
  return is_new;
}

void require_appendable(const fs::path& file) {
  // An empty file is one that somebody else is making right now.
  if (!fs::exists(file) || fs::is_empty(file)) return;
  const sqlite_file database(file, sqlite_file::access::read, history_application_id, schema);
}

std::vector<history_entry> read_history(const fs::path& file, const std::string& pair) {
  const sqlite_file database(file, sqlite_file::access::read, history_application_id, schema);
  const bool is_anchored = has_anchors(database);
  const std::string anchor_columns = is_anchored ? "anchor_commit, ratio" : "NULL, NULL";
  const std::string anchor_table = is_anchored ? " LEFT JOIN anchors USING (measurement_id, stage)" : "";
  sqlite_statement rows(
      database,
      "SELECT measurement_id, measured_utc, commit_id, is_dirty, is_accepted, device, "
      "config_sha256, stage, median_ns, processes, " +
          anchor_columns + " FROM entries" + anchor_table +
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
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace profgate::baselines
