#include "core/regular_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "../collector/temp_folder.h"
#include "core/error.h"

namespace profgate::core {
namespace {

std::string refusal(const std::filesystem::path& path) {
  try {
    require_regular_file(path);
  } catch (const bad_input& refused) {
    return refused.what();
  }
  return "";
}

TEST(require_regular_file, refuses_what_would_hang_or_never_end) {
  const test::temp_folder folder;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink("fifo", folder / "link");
  EXPECT_THAT(refusal(folder / "fifo"), ::testing::HasSubstr("fifo: is a FIFO, not a file"));
  EXPECT_THAT(refusal(folder / "link"), ::testing::HasSubstr("is a FIFO"));
  EXPECT_THAT(refusal("/dev/zero"), ::testing::HasSubstr("is a device"));
}

TEST(require_regular_file, leaves_the_rest_to_the_reader) {
  const test::temp_folder folder;
  EXPECT_EQ(refusal(folder / "nothing"), "");
  EXPECT_EQ(refusal(folder.path()), "");
  EXPECT_EQ(refusal("/proc/self/stat"), "");
}

TEST(what_is_there, names_what_is_no_file) {
  const test::temp_folder folder;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink("nowhere", folder / "dangling");
  std::filesystem::create_symlink("loop", folder / "loop");
  EXPECT_EQ(what_is_there(folder.path()), "is a directory");
  EXPECT_EQ(what_is_there(folder / "fifo"), "is a FIFO");
  EXPECT_EQ(what_is_there("/dev/null"), "is a device");
  EXPECT_EQ(what_is_there(folder / "dangling"), "is a link that leads nowhere");
  EXPECT_EQ(what_is_there(folder / "loop"), "is a link that leads back to itself");
  EXPECT_EQ(what_is_there(folder / "nothing"), "is not there");
  EXPECT_EQ(what_is_there("/dev/null/below"), "is not there");
}

}  // namespace
}  // namespace profgate::core
