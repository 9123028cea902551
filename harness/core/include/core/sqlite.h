#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

struct sqlite3;
struct sqlite3_stmt;
extern "C" long long sqlite3_column_int64(sqlite3_stmt* statement, int column);

namespace profgate::core {

class sqlite_database;

/// A prepared statement and its result, one row at a time: nothing is allocated a row, for there may be
/// millions. Parameters count from 1, columns from 0.
class sqlite_statement {
 public:
  sqlite_statement& bind(int parameter, const std::string& text);
  sqlite_statement& bind(int parameter, std::int64_t number);
  sqlite_statement& bind(int parameter, double number);

  /// False after the last row. A fault in the file is a bad_input.
  bool next();

  bool is_null(int column) const;
  /// 0 for NULL; what is no number is a bad_input, a fraction is cut off. In the header and asking for the
  /// type of zeros alone, as SQLite reads a text that is no number: there are millions of cells.
  std::int64_t integer(int column) const {
    const std::int64_t value = sqlite3_column_int64(m_statement.get(), column);
    if (value == 0) require_number(column);
    return value;
  }
  /// The same, and a fraction is a bad_input: for what sums are made of.
  std::int64_t whole_number(int column) const {
    require_number(column);
    return integer(column);
  }
  std::optional<std::int64_t> optional_integer(int column) const;
  double real(int column) const;  ///< 0 for NULL
  /// Valid UTF-8; empty for NULL.
  std::string text(int column) const;

  /// Runs it from its start again, with its first parameter set.
  void restart_with(std::int64_t parameter);

 private:
  friend class sqlite_database;
  sqlite_statement(const sqlite_database& database, const std::string& sql);
  void require_number(int column) const;

  struct finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  const sqlite_database& m_database;
  std::unique_ptr<sqlite3_stmt, finalizer> m_statement;
};

enum class sqlite_access {
  frozen,  ///< nobody writes to it: no journal or lock file appears beside it; a truncated one is refused
  read,    ///< others may append meanwhile
  write,   ///< makes the file where there is none, or an empty one
};

/// Whatever is wrong with the file is a bad_input that names it, before anything is written to it.
class sqlite_database {
 public:
  /// `made_by` completes "not as …" where a table or column is missing: "nsys exports it".
  sqlite_database(const std::filesystem::path& file, sqlite_access access, std::string made_by,
                  std::string remedy);

  sqlite_statement query(const std::string& sql) const { return {*this, sql}; }
  void execute(const std::string& sql) const;
  int changes() const;  ///< rows, by the last statement
  std::int64_t pragma(const std::string& name) const;

  bool has_table(const std::string& table) const;
  bool has_column(const std::string& table, const std::string& column) const;
  /// The column's name, or NULL where this version of the table lacks it.
  std::string column_or_null(const std::string& table, const std::string& column) const;
  /// How many rows to make room for; never more than the file could hold.
  std::size_t rows_at_most(const std::string& table) const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  friend class sqlite_statement;
  void check_head(const std::filesystem::path& file) const;
  void open(const std::string& name, int flags);

  struct closer {
    void operator()(sqlite3* database) const;
  };
  std::string m_name;
  sqlite_access m_access;
  std::string m_made_by;
  std::string m_remedy;
  std::uintmax_t m_file_bytes = 0;
  std::unique_ptr<sqlite3, closer> m_database;
};

}  // namespace profgate::core
