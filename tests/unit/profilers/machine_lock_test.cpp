#include "profilers/machine_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <optional>

#include "../collector/temp_folder.h"
#include "core/error.h"

namespace profgate::profilers {
namespace {

using ::testing::HasSubstr;

TEST(machine_lock, holds_off_a_second_one_and_says_who_holds_it) {
  const test::temp_folder folder;
  std::optional<machine_lock> first;
  first.emplace(folder / "lock", 0, nullptr);
  std::string heard;
  try {
    const machine_lock second(folder / "lock", 0, [&](const std::string& holder) { heard = holder; });
    FAIL() << "two at once";
  } catch (const core::step_failure& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("nsys is in use by process " + std::to_string(getpid())));
  }
  EXPECT_THAT(heard, HasSubstr("process " + std::to_string(getpid())));
  first.reset();
  EXPECT_NO_THROW(machine_lock(folder / "lock", 0, nullptr));
}

TEST(machine_lock, is_open_to_every_user) {
  const test::temp_folder folder;
  const mode_t before = umask(077);
  const machine_lock lock(folder / "lock", 0, nullptr);
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat((folder / "lock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, mode_t{0666});
}

TEST(machine_lock, refuses_a_link_and_a_missing_folder) {
  const test::temp_folder folder;
  std::filesystem::create_symlink("/dev/null", folder / "link");
  EXPECT_THROW(machine_lock(folder / "link", 0, nullptr), core::step_failure);
  EXPECT_THROW(machine_lock(folder / "no/lock", 0, nullptr), core::step_failure);
}

}  // namespace
}  // namespace profgate::profilers
