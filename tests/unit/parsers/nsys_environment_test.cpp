#include "parsers/nsys_environment.h"

#include <sqlite3.h>

#include "core/sqlite.h"
#include "file_fixture.h"
#include "parsers/timeline.h"

namespace profgate::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A recording to which nsys's tables of the environment are added, as nsys 2022.4 fills them.
class nsys_environment : public file_test {
 protected:
  std::filesystem::path recording_with_environment() {
    const std::filesystem::path file = m_folder / "run.sqlite";
    std::filesystem::copy_file(samples / "cpu-2022.4.2/gated.sqlite", file);
    std::filesystem::permissions(file, std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
    const core::sqlite_database database(file, core::sqlite_access::write, "it", "none");
    database.execute(
        "CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INT, devStateName TEXT, name TEXT, nameEnum INT, "
        "value "
        "TEXT);"
        "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1, 'Local', 'Hostname', 619, 'vm'),"
        " (1, 'Local', 'DeviceEnvironment', 610, CAST(x'484F4D453D2F780054313D7365637265743100' AS TEXT));"
        "INSERT INTO StringIds VALUES (900001, CAST(x'484F4D453D2F780054323D73656372657432' AS TEXT)),"
        " (900002, 'layer=3');"
        "CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);"
        "INSERT INTO META_DATA_CAPTURE VALUES ('COMMAND_LINE', 'run --password secret3'), ('RATE_HZ', '0');"
        // What nsys wrote over is still there, in pages that are free.
        "PRAGMA secure_delete = OFF; CREATE TABLE gone (value TEXT); INSERT INTO gone VALUES ('secret4');"
        "DROP TABLE gone;");
    return file;
  }

  static std::string value(const std::filesystem::path& file, const std::string& query) {
    const core::sqlite_database database(file, core::sqlite_access::frozen, "it", "none");
    core::sqlite_statement rows = database.query(query);
    return rows.next() ? rows.text(0) : "no row";
  }
};

TEST_F(nsys_environment, is_gone_from_the_file_and_nothing_else_is) {
  const std::filesystem::path file = recording_with_environment();
  for (const char* secret : {"secret1", "secret2", "secret3", "secret4"}) {
    ASSERT_THAT(content_of(file), HasSubstr(secret));
  }
  const std::size_t ranges = parsers::read_nsys_sqlite(file).ranges.size();
  parsers::remove_environment(file);
  for (const char* secret : {"secret1", "secret2", "secret3", "secret4", "HOME"}) {
    EXPECT_THAT(content_of(file), Not(HasSubstr(secret)));
  }
  EXPECT_EQ(value(file, "SELECT value FROM StringIds WHERE id = 900002"), "layer=3");
  EXPECT_EQ(value(file, "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'"), "vm");
  EXPECT_EQ(value(file, "SELECT value FROM META_DATA_CAPTURE WHERE name = 'RATE_HZ'"), "0");
  EXPECT_EQ(parsers::read_nsys_sqlite(file).ranges.size(), ranges);
  EXPECT_FALSE(std::filesystem::exists(file.string() + "-journal"));
}

TEST_F(nsys_environment, is_not_asked_of_what_is_no_database) {
  EXPECT_THAT(words_of_bad_input([&] { parsers::remove_environment(write("text")); }),
              HasSubstr("is not an SQLite database"));
}

}  // namespace
}  // namespace profgate::test
