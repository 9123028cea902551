#include "out_folder.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace profgate::cli {
namespace {

TEST(folder_around_results, must_be_there) {
  const std::filesystem::path there = ::testing::TempDir();
  EXPECT_NO_THROW(require_folder_around(there / "new"));
  EXPECT_NO_THROW(require_folder_around(there / "new/"));
  EXPECT_NO_THROW(require_folder_around("new"));
  EXPECT_NO_THROW(require_folder_around("new/"));
  EXPECT_NO_THROW(require_folder_around("."));
  EXPECT_NO_THROW(require_folder_around("/"));
  EXPECT_THROW(require_folder_around(there / "no such folder/new/"), core::bad_input);
}

TEST(folder_around_results, is_named_with_the_way_to_make_it) {
  try {
    require_folder_around("no such/folder/new");
    FAIL() << "nothing was thrown";
  } catch (const core::bad_input& refused) {
    EXPECT_STREQ(refused.what(), "--out no such/folder/new: there is no folder no such/folder to make it in");
    EXPECT_EQ(refused.remedy(), "check the path, or make that folder first: mkdir -p 'no such/folder'");
  }
}

}  // namespace
}  // namespace profgate::cli
