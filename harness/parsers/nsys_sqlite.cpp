#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/units.h"
#include "core/utc_time.h"
#include "nsys_tables.h"
#include "parsers/timeline.h"

namespace profgate::parsers {
namespace {

constexpr int oldest_schema = 2;
constexpr int newest_schema = 3;

void check_schema(const core::sqlite_database& database, core::timeline& result) {
  const char* const table = database.has_table("META_DATA_EXPORT")   ? "META_DATA_EXPORT"  // 2023 and later
                            : database.has_table("EXPORT_META_DATA") ? "EXPORT_META_DATA"  // 2022
                                                                     : nullptr;
  if (table == nullptr) database.fail("an SQLite database, but not an export of nsys (no EXPORT_META_DATA)");
  std::string schema;
  core::sqlite_statement rows = database.query(fmt::format("SELECT name, value FROM {}", table));
  while (rows.next()) {
    const std::string name = rows.text(0);
    if (name == "EXPORT_SCHEMA_VERSION") schema = rows.text(1);
    if (name == "EXPORT_PRODUCT_VERSION") result.tool_version = rows.text(1);
  }
  int major = 0;
  std::from_chars(schema.data(), schema.data() + schema.size(), major);
  if (major < oldest_schema || major > newest_schema) {
    database.fail(fmt::format("its EXPORT_SCHEMA_VERSION is '{}'; this profgate reads {}.x to {}.x", schema,
                              oldest_schema, newest_schema));
  }
}

/// Whether the last launches of the trace all have their kernels: what is lost, was not fetched before the
/// end. Earlier ones may have none, because they were captured into a graph.
bool has_kernels_of_last_launches(const core::sqlite_database& database) {
  if (!database.has_table("CUPTI_ACTIVITY_KIND_KERNEL") ||
      !database.has_column("CUPTI_ACTIVITY_KIND_RUNTIME", "nameId"))
    return false;
  core::sqlite_statement launches = database.query(
      "SELECT count(*), sum(call IN (SELECT correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL)) FROM "
      "(SELECT correlationId AS call FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE nameId IN "
      "(SELECT id FROM StringIds WHERE value LIKE 'cudaLaunchKernel%' OR value LIKE 'cuLaunchKernel%' OR "
      "value LIKE 'cudaGraphLaunch%' OR value LIKE 'cuGraphLaunch%') ORDER BY start DESC LIMIT 1000)");
  return launches.next() && launches.integer(0) > 0 && launches.integer(0) == launches.integer(1);
}

/// nsys notes in its own words where it lost something. Of a session that a range, the program itself or
/// `nsys stop` ends it says "Not all CUDA events might have been collected." every time, and means those
/// outside (H200, 2025.3: 9,407 kernels of two such sessions, as many as CUPTI's own records of the whole run
/// hold).
void read_doubts(const core::sqlite_database& database, core::timeline& result) {
  if (!database.has_table("DIAGNOSTIC_EVENT") || !database.has_column("DIAGNOSTIC_EVENT", "text")) return;
  core::sqlite_statement stops =
      database.query("SELECT 1 FROM DIAGNOSTIC_EVENT WHERE text LIKE 'Stopping the profiling session%'");
  const bool is_gated = stops.next() || has_kernels_of_last_launches(database);
  core::sqlite_statement rows =
      database.query(fmt::format("SELECT DISTINCT text FROM DIAGNOSTIC_EVENT WHERE text LIKE '%dropped%' OR "
                                 "text LIKE '%events were lost%' {} LIMIT 20",
                                 is_gated ? "" : "OR text LIKE 'Not all %'"));
  while (rows.next()) result.doubts.push_back(rows.text(0));
}

/// Nothing of a time that no clock tells.
std::optional<std::string> utc_of_epoch(std::int64_t epoch_ns) {
  if (epoch_ns <= 0) return std::nullopt;
  const auto since_epoch =
      std::chrono::duration_cast<core::utc_clock::duration>(std::chrono::nanoseconds(epoch_ns));
  return core::utc_timestamp(core::utc_clock::time_point(since_epoch));
}

/// On which GPUs, when and until when it was recorded, for whoever was sent the file and nothing else.
void read_provenance(const core::sqlite_database& database, core::timeline& result) {
  if (database.has_table("TARGET_INFO_GPU") && database.has_column("TARGET_INFO_GPU", "name")) {
    core::sqlite_statement names = database.query(
        "SELECT DISTINCT substr(name, 1, 100) FROM TARGET_INFO_GPU WHERE typeof(name) = 'text' LIMIT 16");
    while (names.next()) result.gpu_names.push_back(names.text(0));
  }
  if (database.has_table("ANALYSIS_DETAILS") && database.has_column("ANALYSIS_DETAILS", "duration")) {
    core::sqlite_statement ends =
        database.query("SELECT max(duration) FROM ANALYSIS_DETAILS WHERE typeof(duration) = 'integer'");
    if (ends.next()) result.recording_end_ns = ends.optional_integer(0);
  }
  const char* const start = "TARGET_INFO_SESSION_START_TIME";
  if (!database.has_table(start) || !database.has_column(start, "utcEpochNs")) return;
  core::sqlite_statement times = database.query(
      fmt::format("SELECT min(utcEpochNs) FROM {} WHERE typeof(utcEpochNs) = 'integer'", start));
  if (times.next() && !times.is_null(0)) result.recorded_utc = utc_of_epoch(times.integer(0));
}

/// nsys lists every process of the machine: those of which it recorded something are kept.
void read_process_names(const core::sqlite_database& database, core::timeline& result) {
  if (!database.has_table("PROCESSES") || !database.has_column("PROCESSES", "globalPid") ||
      !database.has_column("PROCESSES", "name"))
    return;
  std::set<std::uint32_t> recorded;
  for (const core::range_record& range : result.ranges) recorded.insert(range.process_id);
  for (const core::kernel_execution& kernel : result.kernels) recorded.insert(kernel.process_id);
  for (const core::host_call& call : result.calls) recorded.insert(call.process_id);
  core::sqlite_statement rows = database.query(
      "SELECT globalPid, substr(name, 1, 300) FROM PROCESSES WHERE typeof(globalPid) = 'integer' AND "
      "typeof(name) = 'text'");
  while (rows.next()) {
    const std::uint32_t process_id = process_of(rows.integer(0));
    if (recorded.contains(process_id)) result.process_names.try_emplace(process_id, rows.text(1));
  }
}

}  // namespace

void check_times(const core::sqlite_database& database, const char* what, std::int64_t start_ns,
                 std::int64_t end_ns) {
  if (start_ns < 0 || end_ns < start_ns || end_ns - start_ns > core::longest_plausible_ns) {
    database.fail(fmt::format("corrupt: {} lasts from {} to {} ns", what, start_ns, end_ns));
  }
}

nsys_strings::nsys_strings(const core::sqlite_database& database, core::text_pool& texts)
    : m_database(database),
      m_texts(texts),
      m_lookup(database.query("SELECT value FROM StringIds WHERE id = ?")) {}

std::string_view nsys_strings::at(std::int64_t id) {
  const auto known = m_known.find(id);
  if (known != m_known.end()) return known->second;
  m_lookup.restart_with(id);
  if (!m_lookup.next()) m_database.fail(fmt::format("corrupt: string {} is not in StringIds", id));
  return m_known.emplace(id, m_texts.keep(m_lookup.text(0))).first->second;
}

core::timeline read_nsys_sqlite(const std::filesystem::path& file) {
  const core::sqlite_database database(
      file, core::sqlite_access::frozen, "nsys exports it",
      "export the report again: nsys export --type sqlite --force-overwrite true -o <sqlite> <nsys-rep>");
  core::timeline result;
  result.tool = "nsys";
  check_schema(database, result);
  nsys_strings strings(database, result.texts);
  read_nsys_ranges(database, strings, result);
  read_nsys_gpu_work(database, strings, result);
  read_nsys_calls(database, strings, result);
  read_doubts(database, result);
  read_provenance(database, result);
  read_process_names(database, result);
  rename_raised_calls(result);
  return result;
}

}  // namespace profgate::parsers
