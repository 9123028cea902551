#include "process/git.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../artifacts/test_folder.h"

namespace profgate::process {
namespace {

namespace fs = std::filesystem;

class asking_git : public artifacts::folder_test {};

TEST_F(asking_git, finds_the_repository_around_a_folder_whether_or_not_git_does) {
  const fs::path inside = folder() / "project/deep";
  fs::create_directories(inside);
  EXPECT_NE(repository_around(inside), fs::canonical(folder() / "project"));
  put(folder() / "project/.git", "gitdir: /nowhere\n");
  EXPECT_EQ(repository_around(inside), fs::canonical(folder() / "project"));
}

TEST_F(asking_git, hears_why_it_refuses) {
  put(folder() / ".git", "gitdir: /nowhere\n");
  EXPECT_EQ(git_output(folder(), {"rev-parse", "--verify", "HEAD"}), std::nullopt);
  EXPECT_THAT(git_complaint(folder()),
              ::testing::StartsWith("not a git repository: "));  // newer ones lose the path
  fs::remove(folder() / ".git");
  ASSERT_TRUE(git_output(folder(), {"init", "--quiet"}));
  EXPECT_EQ(git_complaint(folder()), "");
}

}  // namespace
}  // namespace profgate::process
