#include "sqlite_reader.h"

#include <fmt/format.h>
#include <sqlite3.h>

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

struct finalizer {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

}  // namespace

bool sqlite_row::is_null(int column) const {
  return sqlite3_column_type(m_statement, column) == SQLITE_NULL;
}

std::int64_t sqlite_row::integer(int column) const {
  return sqlite3_column_int64(m_statement, column);
}

std::optional<std::int64_t> sqlite_row::optional_integer(int column) const {
  return is_null(column) ? std::nullopt : std::optional<std::int64_t>(integer(column));
}

std::string sqlite_row::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(m_statement, column));
  const auto length = static_cast<std::size_t>(sqlite3_column_bytes(m_statement, column));
  return bytes == nullptr ? std::string() : core::to_valid_utf8(std::string_view(bytes, length));
}

void sqlite_reader::closer::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

void sqlite_reader::fail(const std::string& what) const {
  throw core::bad_input(
      m_name, 0, what,
      "export the report again: nsys export --type sqlite --force-overwrite true -o <sqlite> "
      "<nsys-rep>");
}

sqlite_reader::sqlite_reader(const std::filesystem::path& file) : m_name(file.string()) {
  std::error_code problem;
  const std::uintmax_t file_bytes = std::filesystem::file_size(file, problem);
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
  if (file_bytes < pages * page_bytes) {
    fail(fmt::format("truncated: {} of {} bytes", file_bytes, pages * page_bytes));
  }

  sqlite3* database = nullptr;
  const int opened = sqlite3_open_v2(to_uri(file).c_str(), &database,
                                     SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  m_database.reset(database);
  if (opened != SQLITE_OK) fail(fmt::format("cannot be opened: {}", sqlite3_errstr(opened)));
}

bool sqlite_reader::has_table(const std::string& table) {
  bool is_there = false;
  for_each(fmt::format("SELECT 1 FROM sqlite_master WHERE name = '{}'", table),
           [&](const sqlite_row&) { is_there = true; });
  return is_there;
}

void sqlite_reader::for_each(const std::string& query, const std::function<void(const sqlite_row&)>& take) {
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v2(m_database.get(), query.c_str(), -1, &prepared, nullptr) != SQLITE_OK) {
    fail(fmt::format("not as nsys exports it: {}", sqlite3_errmsg(m_database.get())));
  }
  const std::unique_ptr<sqlite3_stmt, finalizer> statement(prepared);
  int step = SQLITE_ROW;
  while ((step = sqlite3_step(statement.get())) == SQLITE_ROW) take(sqlite_row(statement.get()));
  if (step != SQLITE_DONE) fail(fmt::format("corrupt: {}", sqlite3_errmsg(m_database.get())));
}

}  // namespace profgate::parsers
