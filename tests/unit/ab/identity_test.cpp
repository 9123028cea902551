#include "identity.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "../collector/temp_folder.h"
#include "process/runner.h"

namespace profgate::ab {
namespace {

/// What a comparison that was cut off goes on with must be the program that it began with.
class build_fingerprint_of : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(m_folder / name) << text;
  }

  std::string fingerprint(const std::vector<std::string>& command, bool is_dirty = false) const {
    config::request wanted;
    wanted.runner = "";
    arm_build build{config::compose(wanted), "x", command};
    build.working_directory = m_folder.path();
    build.is_dirty = is_dirty;
    return build_fingerprint(build);
  }

  test::temp_folder m_folder;
};

TEST_F(build_fingerprint_of, a_script_is_another_once_it_was_edited) {
  const std::vector<std::string> relative = {"python3", "bench.py", "--shape=shape.yaml"};
  write("bench.py", "one");
  write("shape.yaml", "layers: 2");
  const std::string before = fingerprint(relative);
  EXPECT_EQ(fingerprint(relative), before);
  write("bench.py", "two");
  const std::string edited = fingerprint(relative);
  EXPECT_NE(edited, before);
  write("shape.yaml", "layers: 3");
  EXPECT_NE(fingerprint(relative), edited);
  EXPECT_NE(fingerprint({"python3", "bench.py", "--shape="}), fingerprint(relative));
}

TEST_F(build_fingerprint_of, a_module_that_it_imports_counts_where_git_knows_of_its_change) {
  const auto git = [&](const std::vector<std::string>& words) {
    process::command command;
    command.argv = {
        "git", "-C", m_folder.path().string(), "-c", "user.name=test", "-c", "user.email=t@example.org"};
    command.argv.insert(command.argv.end(), words.begin(), words.end());
    ASSERT_EQ(process::run(command, {}).exit_code, 0);
  };
  write("bench.py", "import model");
  write("model.py", "one");
  git({"init", "--quiet"});
  git({"add", "--all"});
  git({"commit", "--quiet", "--message", "first"});
  write("model.py", "two");
  const std::string before = fingerprint({"python3", "bench.py"}, true);
  write("model.py", "three");
  EXPECT_NE(fingerprint({"python3", "bench.py"}, true), before);
}

}  // namespace
}  // namespace profgate::ab
