#include "parsers/nsys_environment.h"

#include "core/sqlite.h"

namespace profgate::parsers {
namespace {

constexpr const char* removed = "removed by profgate";

/// nsys 2022.4 keeps each running process's /proc/<pid>/environ among its strings, where nothing refers to
/// them: variables with NULs between. Nothing else that nsys exports holds a NUL.
void remove_environments_of_processes(const core::sqlite_database& database) {
  if (!database.has_table("StringIds")) return;
  core::sqlite_statement rows =
      database.query("UPDATE StringIds SET value = ? WHERE instr(CAST(value AS BLOB), x'00') > 0");
  rows.bind(1, removed);
  rows.next();
}

/// By the words of their names: "DeviceEnvironment" is nsys's own, "…CommandLine" and "…Arguments" say how it
/// and the program were called.
void remove_by_name(const core::sqlite_database& database, const char* table) {
  if (!database.has_table(table) || !database.has_column(table, "name")) return;
  core::sqlite_statement rows =
      database.query(std::string("UPDATE ") + table +
                     " SET value = ? WHERE replace(lower(name), '_', '') LIKE '%environment%'"
                     " OR replace(lower(name), '_', '') LIKE '%envvar%' OR replace(lower(name), '_', '') "
                     "LIKE '%commandline%'"
                     " OR replace(lower(name), '_', '') LIKE '%arguments%'");
  rows.bind(1, removed);
  rows.next();
}

}  // namespace

void remove_environment(const std::filesystem::path& nsys_sqlite) {
  const core::sqlite_database database(nsys_sqlite, core::sqlite_access::write, "nsys exports it",
                                       "export the report again");
  remove_environments_of_processes(database);
  for (const char* table : {"TARGET_INFO_SYSTEM_ENV", "META_DATA_CAPTURE"}) remove_by_name(database, table);
  // What was replaced would stay in pages that are free now, and nsys leaves copies of its own there.
  database.execute("VACUUM");
}

}  // namespace profgate::parsers
