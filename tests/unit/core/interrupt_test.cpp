#include "core/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "core/error.h"
#include "core/file_lock.h"
#include "core/sqlite.h"

namespace profgate::core {
namespace {

namespace fs = std::filesystem;

class interrupt : public ::testing::Test {
 protected:
  interrupt() : m_folder(fs::temp_directory_path() / ("profgate-interrupt-" + std::to_string(::getpid()))) {
    fs::create_directories(m_folder);
  }
  ~interrupt() override { fs::remove_all(m_folder); }

  /// Whether `work`, which would not end otherwise, ends by the signal that came before.
  static bool is_ended(const std::function<void()>& work) {
    const interrupt_guard guard;
    std::raise(SIGTERM);
    std::raise(SIGINT);  // a second one changes nothing
    try {
      work();
    } catch (const interrupted& ending) {
      return ending.what() == std::string("interrupted by SIGTERM") &&
             ending.code() == exit_code::interrupted;
    }
    return false;
  }

  fs::path file(const char* name) const { return m_folder / name; }
  const fs::path& folder() const { return m_folder; }

 private:
  fs::path m_folder;
};

TEST_F(interrupt, ends_every_wait_for_a_lock) {
  const file_lock holds_file = file_lock::of_file(file("a"));
  const file_lock holds_folder = file_lock::of_folder(folder());
  EXPECT_TRUE(is_ended([&] { (void)file_lock::of_file(file("a")); }));
  EXPECT_TRUE(is_ended([&] { (void)file_lock::of_folder(folder()); }));
  const lock_wait for_ever{std::int64_t{1} << 40, {}, "it", "wait"};
  EXPECT_TRUE(is_ended([&] { (void)file_lock::among_users(file("a"), for_ever); }));
}

TEST_F(interrupt, ends_a_query_and_a_wait_for_another_writer) {
  const sqlite_database writer(file("h.db"), sqlite_access::write, "", "");
  writer.execute("CREATE TABLE t (a)");
  EXPECT_TRUE(is_ended([&] {
    writer.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n");
  }));
  const sqlite_database second(file("h.db"), sqlite_access::write, "", "");
  writer.execute("BEGIN EXCLUSIVE");
  EXPECT_TRUE(is_ended([&] { second.execute("INSERT INTO t VALUES (1)"); }));
  writer.execute("COMMIT");
  EXPECT_EQ(second.query("SELECT count(*) FROM t").next(), true);
}

TEST_F(interrupt, ends_a_sleep) {
  EXPECT_TRUE(is_ended([] {
    sleep_unless_interrupted(std::chrono::hours(100));
    stop_if_interrupted();
  }));
}

TEST_F(interrupt, is_none_without_a_signal) {
  const interrupt_guard guard;
  EXPECT_NO_THROW(stop_if_interrupted());
}

}  // namespace
}  // namespace profgate::core
