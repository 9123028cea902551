#include "core/file_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "../collector/temp_folder.h"
#include "core/error.h"

namespace profgate::core {
namespace {

using ::testing::HasSubstr;

TEST(file_lock, holds_off_a_second_one_and_says_who_holds_it) {
  const test::temp_folder folder;
  std::optional<file_lock> first = file_lock::among_users(folder / "lock", {});
  std::string heard;
  try {
    const file_lock second = file_lock::among_users(
        folder / "lock", {0, [&](const std::string& holder) { heard = holder; }, "nsys", "end it"});
    FAIL() << "two at once";
  } catch (const step_failure& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("nsys is in use by process " + std::to_string(getpid())));
    EXPECT_EQ(problem.remedy(), "end it");
  }
  EXPECT_THAT(heard, HasSubstr("process " + std::to_string(getpid())));
  first.reset();
  EXPECT_NO_THROW(file_lock::among_users(folder / "lock", {}));
}

TEST(file_lock, believes_nothing_that_the_file_says) {
  const test::temp_folder folder;
  const file_lock first = file_lock::among_users(folder / "lock", {});
  std::ofstream(folder / "lock") << "process 1 of user 0\x1b[2J";
  std::string heard;
  const lock_wait wait{0, [&](const std::string& holder) { heard = holder; }, "nsys", "end it"};
  EXPECT_THROW(file_lock::among_users(folder / "lock", wait), step_failure);
  EXPECT_EQ(heard,
            "process " + std::to_string(getpid()) + " of user " + std::to_string(geteuid()) + " (unit_core)");
}

TEST(file_lock, tells_who_holds_it_to_one_who_does_not_want_it) {
  const test::temp_folder folder;
  EXPECT_FALSE(file_lock::holder_among_users(folder / "lock")) << "it is not there";
  std::optional<file_lock> first = file_lock::among_users(folder / "lock", {});
  // Words from the first option on (--gtest_filter=…) may hold secrets.
  EXPECT_EQ(file_lock::holder_among_users(folder / "lock"),
            "process " + std::to_string(getpid()) + " of user " + std::to_string(geteuid()) + " (unit_core)");
  first.reset();
  EXPECT_FALSE(file_lock::holder_among_users(folder / "lock"));
}

TEST(file_lock, is_open_to_every_user) {
  const test::temp_folder folder;
  const mode_t before = umask(077);
  const file_lock lock = file_lock::among_users(folder / "lock", {});
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat((folder / "lock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, mode_t{0666});
}

TEST(file_lock, refuses_a_link_and_a_missing_folder) {
  const test::temp_folder folder;
  std::filesystem::create_symlink("/dev/null", folder / "link");
  EXPECT_THROW(file_lock::among_users(folder / "link", {}), step_failure);
  EXPECT_THROW(file_lock::among_users(folder / "no/lock", {}), step_failure);
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_THROW(file_lock::among_users(folder / "fifo", {}), step_failure);
}

TEST(file_lock, is_not_had_while_another_holds_it) {
  const test::temp_folder folder;
  std::optional<file_lock> first = file_lock::of_file(folder / "lock");
  EXPECT_FALSE(file_lock::try_file(folder / "lock"));
  first.reset();
  EXPECT_TRUE(file_lock::try_file(folder / "lock"));
  EXPECT_THROW(file_lock::of_file(folder / "no/lock"), std::filesystem::filesystem_error);
}

TEST(file_lock, leaves_nothing_in_a_folder) {
  const test::temp_folder folder;
  const file_lock lock = file_lock::of_folder(folder.path());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_THROW(file_lock::of_folder(folder / "none"), std::filesystem::filesystem_error);
}

}  // namespace
}  // namespace profgate::core
