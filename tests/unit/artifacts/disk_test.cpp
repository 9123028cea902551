#include "artifacts/disk.h"

#include <gmock/gmock.h>

#include <functional>

#include "test_folder.h"

namespace profgate::artifacts {
namespace {

class disk : public folder_test {};

TEST_F(disk, sums_files_and_follows_no_symlink) {
  put(folder() / "run" / "a", std::string(1000, 'x'));
  put(folder() / "run" / "nsys" / "b", std::string(234, 'x'));
  put(folder() / "elsewhere", std::string(5000, 'x'));
  std::filesystem::create_symlink(folder() / "elsewhere", folder() / "run" / "link");
  std::filesystem::create_directory_symlink(folder(), folder() / "run" / "loop");
  EXPECT_EQ(directory_size_bytes(folder() / "run"), 1234U);
  EXPECT_EQ(directory_size_bytes(folder() / "none"), 0U);
}

TEST_F(disk, the_guard_speaks_once_the_run_has_outgrown_its_limit) {
  std::function<std::optional<std::string>()> guard =
      run_size_guard(folder(), 1000, std::chrono::milliseconds(0));
  put(folder() / "a", std::string(1000, 'x'));
  EXPECT_EQ(guard(), std::nullopt);
  put(folder() / "b", "x");
  EXPECT_THAT(guard().value_or(""), ::testing::HasSubstr("over its limit of 1.00 kB"));
  std::filesystem::remove(folder() / "b");
  EXPECT_TRUE(guard().has_value()) << "a reason once given must stay";
}

TEST_F(disk, the_guard_does_not_walk_again_within_its_interval) {
  run_size_guard guard(folder(), 10, std::chrono::hours(1));
  EXPECT_EQ(guard(), std::nullopt);
  put(folder() / "a", std::string(11, 'x'));
  EXPECT_EQ(guard(), std::nullopt);
}

TEST_F(disk, free_space_of_a_folder_yet_to_be_made_is_its_parents) {
  EXPECT_GT(free_bytes(folder() / "not" / "yet"), 0U);
}

}  // namespace
}  // namespace profgate::artifacts
