#include "sqlite_file.h"

#include <fmt/format.h>

#include <fstream>
#include <string_view>

#include "core/error.h"
#include "core/escape.h"

namespace profgate::baselines {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view sqlite_magic{"SQLite format 3\0", 16};
constexpr int busy_timeout_ms = 30000;  ///< another profgate that appends takes far less
constexpr std::int64_t schema_version = 1;

bool begins_like_sqlite(const fs::path& file) {
  std::string head(sqlite_magic.size(), '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  return stream.gcount() == static_cast<std::streamsize>(head.size()) && head == sqlite_magic;
}

}  // namespace

sqlite_statement::sqlite_statement(const sqlite_file& file, const std::string& sql) : m_file(file) {
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v2(file.m_database.get(), sql.c_str(), -1, &prepared, nullptr) != SQLITE_OK) {
    file.fail(sqlite3_errmsg(file.m_database.get()));
  }
  m_statement.reset(prepared);
}

sqlite_statement& sqlite_statement::bind(int index, const std::string& text) {
  sqlite3_bind_text(m_statement.get(), index, text.c_str(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  return *this;
}

sqlite_statement& sqlite_statement::bind(int index, std::int64_t number) {
  sqlite3_bind_int64(m_statement.get(), index, number);
  return *this;
}

sqlite_statement& sqlite_statement::bind(int index, double number) {
  sqlite3_bind_double(m_statement.get(), index, number);
  return *this;
}

bool sqlite_statement::next() {
  const int step = sqlite3_step(m_statement.get());
  if (step == SQLITE_ROW) return true;
  if (step != SQLITE_DONE) m_file.fail(sqlite3_errmsg(m_file.m_database.get()));
  return false;
}

std::string sqlite_statement::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(m_statement.get(), column));
  const auto length = static_cast<std::size_t>(sqlite3_column_bytes(m_statement.get(), column));
  return bytes == nullptr ? std::string() : core::to_valid_utf8(std::string_view(bytes, length));
}

void sqlite_file::fail(const std::string& what) const {
  throw core::bad_input(m_name, 0, what,
                        "name another file (gate.history_file, --history-file), or restore this one; nothing "
                        "was written to it");
}

sqlite_file::sqlite_file(const fs::path& file, access wanted, std::int32_t application_id,
                         const std::string& schema)
    : m_name(file.string()) {
  const bool is_new = !fs::exists(file) || fs::is_empty(file);
  if (is_new && wanted == access::read) fail("there is no history yet");
  if (!is_new && !begins_like_sqlite(file)) fail("is not an SQLite database");
  std::error_code failed;
  if (is_new && file.has_parent_path()) fs::create_directories(file.parent_path(), failed);

  sqlite3* database = nullptr;
  const int flags =
      wanted == access::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int opened = sqlite3_open_v2(m_name.c_str(), &database, flags, nullptr);
  m_database.reset(database);
  if (opened != SQLITE_OK) fail(fmt::format("cannot be opened: {}", sqlite3_errstr(opened)));
  sqlite3_busy_timeout(database, busy_timeout_ms);
  if (!is_new) check(application_id);
  if (wanted == access::read) return;
  // Two that make the same new file at once: the second waits here and finds it made.
  execute("BEGIN IMMEDIATE");
  if (pragma("application_id") == 0) {
    execute(schema);
    execute(fmt::format("PRAGMA application_id = {}", application_id));
    execute(fmt::format("PRAGMA user_version = {}", schema_version));
  }
  execute("COMMIT");
}

std::int64_t sqlite_file::pragma(const std::string& name) const {
  sqlite_statement statement(*this, "PRAGMA " + name);
  return statement.next() ? statement.integer(0) : 0;
}

void sqlite_file::check(std::int32_t application_id) const {
  if (pragma("application_id") != application_id)
    fail("is an SQLite database, but not a history of profgate");
  if (pragma("user_version") != schema_version) {
    fail(fmt::format("is a history of schema {}, this profgate writes {}", pragma("user_version"),
                     schema_version));
  }
  sqlite_statement whole(*this, "PRAGMA quick_check(1)");
  if (!whole.next() || whole.text(0) != "ok") fail(fmt::format("is damaged: {}", whole.text(0)));
}

void sqlite_file::execute(const std::string& sql) const {
  char* message = nullptr;
  if (sqlite3_exec(m_database.get(), sql.c_str(), nullptr, nullptr, &message) == SQLITE_OK) return;
  const std::string what = message == nullptr ? "cannot be written" : message;
  sqlite3_free(message);
  fail(what);
}

}  // namespace profgate::baselines
