#include "sqlite_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <system_error>

#include "core/error.h"
#include "core/escape.h"

namespace profgate::parsers {
namespace {

constexpr std::string_view sqlite_magic{"SQLite format 3\0", 16};

std::string to_uri(const std::filesystem::path& file) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(file).string()) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?mode=ro&immutable=1";
}

}  // namespace

bool sqlite_rows::next() {
  const int step = sqlite3_step(m_statement.get());
  if (step == SQLITE_ROW) return true;
  if (step != SQLITE_DONE)
    m_reader.fail(fmt::format("corrupt: {}", sqlite3_errmsg(m_reader.m_database.get())));
  return false;
}

std::string sqlite_rows::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(m_statement.get(), column));
  const auto length = static_cast<std::size_t>(sqlite3_column_bytes(m_statement.get(), column));
  return bytes == nullptr ? std::string() : core::to_valid_utf8(std::string_view(bytes, length));
}

void sqlite_rows::restart_with(std::int64_t parameter) {
  sqlite3_reset(m_statement.get());
  sqlite3_bind_int64(m_statement.get(), 1, parameter);
}

void sqlite_reader::fail(const std::string& what) const {
  throw core::bad_input(
      m_name, 0, what,
      "export the report again: nsys export --type sqlite --force-overwrite true -o <sqlite> "
      "<nsys-rep>");
}

sqlite_reader::sqlite_reader(const std::filesystem::path& file) : m_name(file.string()) {
  std::error_code problem;
  m_file_bytes = std::filesystem::file_size(file, problem);
  if (problem) fail(fmt::format("cannot be read: {}", problem.message()));

  // SQLite reads what lies past a truncated file's end as if it were not there; its header says how long the
  // file was. Bytes 16 and 17: the page size (1 means 65536); 28 to 31: the number of pages, big-endian.
  std::array<char, 100> head{};
  std::ifstream in(file, std::ios::binary);
  in.read(head.data(), head.size());
  if (!in || std::string_view(head.data(), sqlite_magic.size()) != sqlite_magic) {
    fail("not an SQLite database");
  }
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(head[i]));
  };
  const std::uint32_t written_page_bytes = byte(16) << 8 | byte(17);
  const std::uintmax_t page_bytes = written_page_bytes == 1 ? 65536 : written_page_bytes;
  const std::uintmax_t pages = byte(28) << 24 | byte(29) << 16 | byte(30) << 8 | byte(31);
  if (m_file_bytes < pages * page_bytes) {
    fail(fmt::format("truncated: {} of {} bytes", m_file_bytes, pages * page_bytes));
  }

  sqlite3* database = nullptr;
  const int opened = sqlite3_open_v2(to_uri(file).c_str(), &database,
                                     SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  m_database.reset(database);
  if (opened != SQLITE_OK) fail(fmt::format("cannot be opened: {}", sqlite3_errstr(opened)));
}

sqlite_rows sqlite_reader::query(const std::string& text) const {
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v2(m_database.get(), text.c_str(), -1, &prepared, nullptr) != SQLITE_OK) {
    fail(fmt::format("not as nsys exports it: {}", sqlite3_errmsg(m_database.get())));
  }
  return {*this, prepared};
}

bool sqlite_reader::has_table(const std::string& table) const {
  return query(fmt::format("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '{}'", table)).next();
}

bool sqlite_reader::has_column(const std::string& table, const std::string& column) const {
  return query(fmt::format("SELECT 1 FROM pragma_table_info('{}') WHERE name = '{}'", table, column)).next();
}

std::string sqlite_reader::column_or_null(const std::string& table, const std::string& column) const {
  return has_column(table, column) ? column : "NULL";
}

std::size_t sqlite_reader::rows_at_most(const std::string& table) const {
  constexpr std::uintmax_t least_row_bytes = 16;
  sqlite_rows rows = query(fmt::format("SELECT max(rowid) FROM {}", table));
  if (!rows.next()) return 0;
  const std::int64_t last = std::max<std::int64_t>(0, rows.integer(0));
  return static_cast<std::size_t>(
      std::min<std::uintmax_t>(static_cast<std::uintmax_t>(last), m_file_bytes / least_row_bytes));
}

}  // namespace profgate::parsers
