#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace profgate::baselines {

class sqlite_file;

/// A prepared statement: bind from 1, read columns from 0.
class sqlite_statement {
 public:
  sqlite_statement(const sqlite_file& file, const std::string& sql);
  sqlite_statement& bind(int index, const std::string& text);
  sqlite_statement& bind(int index, std::int64_t number);
  sqlite_statement& bind(int index, double number);
  bool next();  ///< false after the last row
  std::string text(int column) const;
  std::int64_t integer(int column) const { return sqlite3_column_int64(m_statement.get(), column); }
  double real(int column) const { return sqlite3_column_double(m_statement.get(), column); }

 private:
  struct finalizer {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  const sqlite_file& m_file;
  std::unique_ptr<sqlite3_stmt, finalizer> m_statement;
};

/// A database of ours that is also written. A file that is not ours, or is damaged, is a bad_input before
/// anything is written to it.
class sqlite_file {
 public:
  enum class access { read, append };

  /// `application_id` tells our files from others; append makes a file that does not exist, with `schema`.
  sqlite_file(const std::filesystem::path& file, access wanted, std::int32_t application_id,
              const std::string& schema);

  void execute(const std::string& sql) const;
  int changes() const { return sqlite3_changes(m_database.get()); }
  [[noreturn]] void fail(const std::string& what) const;

 private:
  friend class sqlite_statement;
  struct closer {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };
  std::int64_t pragma(const std::string& name) const;
  void check(std::int32_t application_id) const;

  std::string m_name;
  std::unique_ptr<sqlite3, closer> m_database;
};

}  // namespace profgate::baselines
