#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace profgate::parsers {

class sqlite_reader;

/// A query's result, one row at a time: nothing is allocated a row, for there may be millions.
class sqlite_rows {
 public:
  /// False after the last row. A fault in the file is a bad_input.
  bool next();

  bool is_null(int column) const { return sqlite3_column_type(m_statement.get(), column) == SQLITE_NULL; }
  std::int64_t integer(int column) const { return sqlite3_column_int64(m_statement.get(), column); }
  std::optional<std::int64_t> optional_integer(int column) const {
    return is_null(column) ? std::nullopt : std::optional<std::int64_t>(integer(column));
  }
  /// Valid UTF-8; empty for NULL.
  std::string text(int column) const;

  /// Runs the query from its start again, with its first parameter set.
  void restart_with(std::int64_t parameter);

 private:
  friend class sqlite_reader;
  sqlite_rows(const sqlite_reader& reader, sqlite3_stmt* statement)
      : m_reader(reader), m_statement(statement) {}

  struct finalizer {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  const sqlite_reader& m_reader;
  std::unique_ptr<sqlite3_stmt, finalizer> m_statement;
};

/// A database that is only read: opened immutable, so that no journal or lock file appears beside it.
/// Whatever is wrong with it is a bad_input that names the file.
class sqlite_reader {
 public:
  explicit sqlite_reader(const std::filesystem::path& file);

  sqlite_rows query(const std::string& text) const;
  bool has_table(const std::string& table) const;
  bool has_column(const std::string& table, const std::string& column) const;
  /// The column's name, or NULL where this version of the table lacks it.
  std::string column_or_null(const std::string& table, const std::string& column) const;
  /// How many rows to make room for; never more than the file could hold.
  std::size_t rows_at_most(const std::string& table) const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  friend class sqlite_rows;
  struct closer {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };
  std::string m_name;
  std::uintmax_t m_file_bytes = 0;
  std::unique_ptr<sqlite3, closer> m_database;
};

}  // namespace profgate::parsers
