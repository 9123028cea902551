#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

struct sqlite3;
struct sqlite3_stmt;

namespace profgate::parsers {

/// One row of a query's result; valid inside the callback only.
class sqlite_row {
 public:
  explicit sqlite_row(sqlite3_stmt* statement) : m_statement(statement) {}
  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  std::optional<std::int64_t> optional_integer(int column) const;
  /// Valid UTF-8; empty for NULL.
  std::string text(int column) const;

 private:
  sqlite3_stmt* m_statement;
};

/// A database that is only read: opened immutable, so that no journal or lock file appears beside it.
/// Whatever is wrong with it is a bad_input that names the file.
class sqlite_reader {
 public:
  explicit sqlite_reader(const std::filesystem::path& file);

  bool has_table(const std::string& table);
  void for_each(const std::string& query, const std::function<void(const sqlite_row&)>& take);
  [[noreturn]] void fail(const std::string& what) const;

 private:
  struct closer {
    void operator()(sqlite3* database) const;
  };
  std::string m_name;
  std::unique_ptr<sqlite3, closer> m_database;
};

}  // namespace profgate::parsers
