#include "comparison_request.h"

#include <gtest/gtest.h>

#include "../artifacts/test_folder.h"
#include "process/git.h"

namespace profgate::cli {
namespace {

class code_of_an_arm : public artifacts::folder_test {
 protected:
  ab::arm_build arm() const {
    pair_manifest manifest;
    manifest.pair = "m.c";
    manifest.project_dir = folder();
    manifest.working_directory = folder();
    manifest.command = {"/bin/true"};
    return arm_of(manifest, config::parse_resolved("{}", "defaults"), "");
  }
  void git(std::vector<std::string> words) const {
    words.insert(words.begin(), {"-c", "user.name=test", "-c", "user.email=test@example.org"});
    ASSERT_TRUE(process::git_output(folder(), words)) << words.back();
  }
};

TEST_F(code_of_an_arm, is_nothing_known_outside_of_git) {
  ASSERT_FALSE(process::repository_around(folder())) << "the folder of tests lies in a repository";
  EXPECT_EQ(arm().commit, "");
  EXPECT_FALSE(arm().is_dirty);
}

TEST_F(code_of_an_arm, is_committed_where_git_says_so) {
  put(folder() / "a.cpp", "one");
  git({"init", "--quiet"});
  git({"add", "a.cpp"});
  EXPECT_TRUE(arm().is_dirty) << "there is no commit yet";
  git({"commit", "--quiet", "--message", "first"});
  EXPECT_EQ(arm().commit.size(), 40U);
  EXPECT_FALSE(arm().is_dirty);
  put(folder() / "a.cpp", "two");
  EXPECT_TRUE(arm().is_dirty);
}

TEST_F(code_of_an_arm, is_not_committed_where_git_does_not_say_so) {
  put(folder() / ".git", "gitdir: /nowhere\n");
  EXPECT_EQ(arm().commit, "");
  EXPECT_TRUE(arm().is_dirty);
}

}  // namespace
}  // namespace profgate::cli
