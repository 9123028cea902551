#include "core/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <string_view>
#include <system_error>

#include "core/error.h"
#include "core/escape.h"
#include "core/interrupt.h"
#include "core/regular_file.h"

namespace profgate::core {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view sqlite_magic{"SQLite format 3\0", 16};
constexpr std::chrono::milliseconds busy_retry_interval{50};
constexpr int busy_retries = 600;            ///< 30 s: another profgate that writes takes far less
constexpr int steps_between_looks = 10'000;  ///< of SQLite's machine: well below a millisecond

std::string frozen_uri(const fs::path& file) {
  std::string uri = "file:";
  for (const char c : fs::absolute(file).string()) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?mode=ro&immutable=1";
}

int wait_for_writer(void* /*unused*/, int tries) {
  sleep_unless_interrupted(busy_retry_interval);
  return tries < busy_retries && interrupt_guard::first_signal() == 0 ? 1 : 0;
}

int is_interrupted(void* /*unused*/) {
  return interrupt_guard::first_signal() != 0 ? 1 : 0;
}

/// "unable to open database file (No space left on device)": SQLite does not say so of a journal that finds
/// no inode, nor does its sqlite3_system_errno(), for it tries other ways to open it after that.
std::string with_cause(sqlite3* database, const std::string& file, const std::string& what) {
  struct statvfs disk {};
  if (sqlite3_errcode(database) != SQLITE_CANTOPEN) return what;
  if (::statvfs(fs::absolute(file).parent_path().c_str(), &disk) != 0) return what;
  const bool has_inodes = disk.f_favail > 0 || disk.f_files == 0;  // some file systems do not count them
  if (has_inodes && disk.f_bavail > 0) return what;
  return fmt::format("{} ({})", what, std::generic_category().message(ENOSPC));
}

}  // namespace

void sqlite_statement::finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void sqlite_database::closer::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

sqlite_statement::sqlite_statement(const sqlite_database& database, const std::string& sql)
    : m_database(database) {
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v2(database.m_database.get(), sql.c_str(), -1, &prepared, nullptr) != SQLITE_OK) {
    database.fail(
        fmt::format("not as {}: {}", database.m_made_by, sqlite3_errmsg(database.m_database.get())));
  }
  m_statement.reset(prepared);
}

sqlite_statement& sqlite_statement::bind(int parameter, const std::string& text) {
  sqlite3_bind_text(m_statement.get(), parameter, text.c_str(), static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);
  return *this;
}

sqlite_statement& sqlite_statement::bind(int parameter, std::int64_t number) {
  sqlite3_bind_int64(m_statement.get(), parameter, number);
  return *this;
}

sqlite_statement& sqlite_statement::bind(int parameter, double number) {
  sqlite3_bind_double(m_statement.get(), parameter, number);
  return *this;
}

bool sqlite_statement::next() {
  stop_if_interrupted();  // whoever reads rows may do much with each
  const int step = sqlite3_step(m_statement.get());
  if (step == SQLITE_ROW) return true;
  if (step == SQLITE_DONE) return false;
  stop_if_interrupted();
  // Of one that others write to it may also be locked, or the disk full.
  const bool is_frozen = m_database.m_access == sqlite_access::frozen;
  sqlite3* const database = m_database.m_database.get();
  m_database.fail((is_frozen ? "corrupt: " : "") +
                  with_cause(database, m_database.m_name, sqlite3_errmsg(database)));
}

bool sqlite_statement::is_null(int column) const {
  return sqlite3_column_type(m_statement.get(), column) == SQLITE_NULL;
}

void sqlite_statement::require_number(int column) const {
  const int type = sqlite3_column_type(m_statement.get(), column);
  if (type == SQLITE_INTEGER || type == SQLITE_NULL) return;
  m_database.fail(fmt::format("corrupt: '{}' in the column {}, where whole numbers stand",
                              shorten_middle(text(column), 40),
                              sqlite3_column_name(m_statement.get(), column)));
}

std::optional<std::int64_t> sqlite_statement::optional_integer(int column) const {
  return is_null(column) ? std::nullopt : std::optional<std::int64_t>(integer(column));
}

double sqlite_statement::real(int column) const {
  return sqlite3_column_double(m_statement.get(), column);
}

std::string sqlite_statement::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(m_statement.get(), column));
  const auto length = static_cast<std::size_t>(sqlite3_column_bytes(m_statement.get(), column));
  return bytes == nullptr ? std::string() : to_valid_utf8(std::string_view(bytes, length));
}

void sqlite_statement::restart_with(std::int64_t parameter) {
  sqlite3_reset(m_statement.get());
  sqlite3_bind_int64(m_statement.get(), 1, parameter);
}

sqlite_database::sqlite_database(const fs::path& file, sqlite_access access, std::string made_by,
                                 std::string remedy)
    : m_name(file.string()), m_access(access), m_made_by(std::move(made_by)), m_remedy(std::move(remedy)) {
  require_regular_file(file);
  std::error_code problem;
  m_file_bytes = fs::file_size(file, problem);
  const bool is_new = access == sqlite_access::write && (problem ? !fs::exists(file) : m_file_bytes == 0);
  if (is_new) {
    std::error_code failed;
    if (file.has_parent_path()) fs::create_directories(file.parent_path(), failed);
    if (failed) fail(fmt::format("its folder cannot be made: {}", failed.message()));
  } else {
    if (problem == std::errc::no_such_file_or_directory) m_remedy = "name a file that is there";
    if (problem) fail(fmt::format("cannot be read: {}", problem.message()));
    // A writer that was killed leaves any bytes, and a journal by which SQLite takes them back.
    const bool is_torn = access != sqlite_access::frozen && fs::exists(m_name + "-journal");
    if (!is_torn) check_head(file);
  }
  switch (access) {
    case sqlite_access::frozen:
      open(frozen_uri(file), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX);
      break;
    case sqlite_access::read:  // who may write does, where a killed writer's pages are to be taken back
      open(m_name, SQLITE_OPEN_READWRITE);
      break;
    case sqlite_access::write:
      open(m_name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
      break;
  }
}

void sqlite_database::check_head(const fs::path& file) const {
  // SQLite reads what lies past a truncated file's end as if it were not there; its header says how long the
  // file was. Bytes 16 and 17: the page size (1 means 65536); 28 to 31: the number of pages, big-endian.
  std::array<char, 100> head{};
  std::ifstream in(file, std::ios::binary);
  in.read(head.data(), head.size());
  if (!in || std::string_view(head.data(), sqlite_magic.size()) != sqlite_magic) {
    fail("is not an SQLite database");
  }
  if (m_access != sqlite_access::frozen) return;  // its last pages may still lie in a journal
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(head[i]));
  };
  const std::uint32_t written_page_bytes = byte(16) << 8 | byte(17);
  const std::uintmax_t page_bytes = written_page_bytes == 1 ? 65536 : written_page_bytes;
  const std::uintmax_t pages = byte(28) << 24 | byte(29) << 16 | byte(30) << 8 | byte(31);
  if (m_file_bytes < pages * page_bytes) {
    fail(fmt::format("truncated: {} of {} bytes", m_file_bytes, pages * page_bytes));
  }
}

void sqlite_database::open(const std::string& name, int flags) {
  sqlite3* database = nullptr;
  const int opened = sqlite3_open_v2(name.c_str(), &database, flags, nullptr);
  m_database.reset(database);
  if (opened != SQLITE_OK)
    fail(fmt::format("cannot be opened: {}", with_cause(database, m_name, sqlite3_errstr(opened))));
  sqlite3_busy_handler(database, wait_for_writer, nullptr);
  sqlite3_progress_handler(database, steps_between_looks, is_interrupted, nullptr);
}

void sqlite_database::fail(const std::string& what) const {
  throw bad_input(m_name, 0, what, m_remedy);
}

void sqlite_database::execute(const std::string& sql) const {
  char* message = nullptr;
  if (sqlite3_exec(m_database.get(), sql.c_str(), nullptr, nullptr, &message) == SQLITE_OK) return;
  const std::string what =
      with_cause(m_database.get(), m_name, message == nullptr ? "cannot be written" : message);
  sqlite3_free(message);
  stop_if_interrupted();
  fail(what);
}

int sqlite_database::changes() const {
  return sqlite3_changes(m_database.get());
}

std::int64_t sqlite_database::pragma(const std::string& name) const {
  sqlite_statement statement = query("PRAGMA " + name);
  return statement.next() ? statement.integer(0) : 0;
}

bool sqlite_database::has_table(const std::string& table) const {
  return query(fmt::format("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '{}'", table)).next();
}

bool sqlite_database::has_column(const std::string& table, const std::string& column) const {
  return query(fmt::format("SELECT 1 FROM pragma_table_info('{}') WHERE name = '{}'", table, column)).next();
}

std::string sqlite_database::column_or_null(const std::string& table, const std::string& column) const {
  return has_column(table, column) ? column : "NULL";
}

std::size_t sqlite_database::rows_at_most(const std::string& table) const {
  constexpr std::uintmax_t least_row_bytes = 16;
  sqlite_statement rows = query(fmt::format("SELECT max(rowid) FROM {}", table));
  if (!rows.next()) return 0;
  const std::int64_t last = std::max<std::int64_t>(0, rows.integer(0));
  return static_cast<std::size_t>(
      std::min<std::uintmax_t>(static_cast<std::uintmax_t>(last), m_file_bytes / least_row_bytes));
}

}  // namespace profgate::core
