#include "ab/baseline_build.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/error.h"
#include "process/git.h"
#include "process/runner.h"

/// With the real git and cmake, on a project that compiles nothing: its program is a copied file.
namespace profgate::ab {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

void write_text(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

std::string read_text(const fs::path& file) {
  std::ifstream stream(file);
  return (std::ostringstream() << stream.rdbuf()).str();
}

class baseline_build_test : public ::testing::Test {
 protected:
  void SetUp() override {
    if (is_hook()) {
      m_project = std::getenv(hook_variable);
      return;
    }
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    m_project = fs::path(::testing::TempDir()) /
                (std::string("profgate-baseline-") + test->name() + std::to_string(getpid()));
    write_project("one");
    git({"init", "--quiet", "--initial-branch=main"});
    commit("first");
    ASSERT_EQ(
        run({"cmake", "-S", m_project.string(), "-B", (m_project / "build").string(), "-DFLAVOUR=plum"}), 0);
  }
  void TearDown() override {
    if (!is_hook()) fs::remove_all(m_project);
  }
  static constexpr const char* hook_variable = "PROFGATE_TEST_HOOK_OF_PROJECT";
  static bool is_hook() { return std::getenv(hook_variable) != nullptr; }

  void write_project(const std::string& word) {
    write_text(m_project / ".gitignore", "/build/\n/tmp/\n");
    write_text(m_project / "word.txt", word + "\n");
    write_text(m_project / "CMakeLists.txt", R"(cmake_minimum_required(VERSION 3.25)
project(tiny LANGUAGES NONE)
set(FLAVOUR none CACHE STRING "")
configure_file(word.txt prog.in COPYONLY)
add_custom_target(prog COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/word.txt ${CMAKE_BINARY_DIR}/prog)
add_custom_target(other ALL COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/other)
file(WRITE ${CMAKE_BINARY_DIR}/flavour.txt "${FLAVOUR}")
file(WRITE ${CMAKE_BINARY_DIR}/profgate/pairs/tiny.smoke.json "{\"command\": [\"${CMAKE_BINARY_DIR}/prog\"]}")
)");
  }

  static int run(const std::vector<std::string>& argv) { return process::run({argv, {}, {}, {}}).exit_code; }
  void git(std::vector<std::string> words) const {
    std::vector<std::string> argv = {
        "git", "-C", m_project.string(), "-c", "user.name=test", "-c", "user.email=test@example.org"};
    argv.insert(argv.end(), words.begin(), words.end());
    ASSERT_EQ(run(argv), 0);
  }
  void commit(const std::string& message) const {
    git({"add", "--all"});
    git({"commit", "--quiet", "--message", message});
  }

  baseline_build provide(const std::string& ref) {
    m_lines.clear();
    baseline_request wanted;
    wanted.project_dir = m_project;
    wanted.build_dir = m_build.empty() ? m_project / "build" : m_build;
    wanted.ref = ref;
    wanted.pair = "tiny.smoke";
    wanted.say = [this](const std::string& line) { m_lines.push_back(line); };
    return provide_baseline(wanted);
  }

  fs::path m_project;
  fs::path m_build;  ///< empty: <project>/build
  std::vector<std::string> m_lines;
};

TEST_F(baseline_build_test, builds_another_commit_like_the_candidate_and_keeps_it) {
  write_project("two");
  commit("second");
  const baseline_build built = provide("HEAD~1");
  EXPECT_EQ(built.commit.size(), 40U);
  EXPECT_EQ(read_text(built.build_dir / "prog"), "one\n");
  EXPECT_EQ(read_text(built.build_dir / "flavour.txt"), "plum");
  EXPECT_FALSE(fs::exists(built.build_dir / "other")) << "only the pair's program is needed";
  EXPECT_THAT(m_lines, Contains(HasSubstr("builds commit " + built.commit.substr(0, 12) + " in ")));

  const baseline_build again = provide("HEAD~1");
  EXPECT_EQ(again.build_dir, built.build_dir);
  EXPECT_TRUE(m_lines.empty()) << "a finished one is used as it is";
  EXPECT_EQ(read_text(provide("HEAD").build_dir / "prog"), "two\n");
}

TEST_F(baseline_build_test, a_half_built_one_is_finished) {
  const baseline_build built = provide("main");
  fs::remove(built.build_dir / "profgate-built.txt");
  fs::remove(built.build_dir / "prog");
  EXPECT_EQ(read_text(provide("main").build_dir / "prog"), "one\n");
  // a checkout that was cut off
  fs::remove(built.build_dir / "profgate-built.txt");
  ASSERT_TRUE(fs::remove(built.build_dir.parent_path() / "source" / ".git"));
  ASSERT_TRUE(fs::remove(built.build_dir.parent_path() / "source" / "word.txt"));
  fs::remove(built.build_dir / "prog");
  EXPECT_EQ(read_text(provide("main").build_dir / "prog"), "one\n");
}

TEST_F(baseline_build_test, a_checkout_that_was_killed_is_repaired) {
  const fs::path build = provide("main").build_dir;
  const fs::path source = build.parent_path() / "source";
  // As `git worktree add` leaves it when it dies: locked, the folder half there.
  git({"worktree", "lock", "--reason", "initializing", source.string()});
  fs::remove(source / "word.txt");
  fs::remove(source / ".git");
  fs::remove_all(build);
  EXPECT_EQ(read_text(provide("main").build_dir / "prog"), "one\n");
  // Or at the very end, all files there and the last ref still locked.
  git({"worktree", "lock", "--reason", "initializing", source.string()});
  const fs::path ref_lock = m_project / ".git/worktrees/source/HEAD.lock";
  ASSERT_TRUE(fs::exists(ref_lock.parent_path() / "HEAD"));
  write_text(ref_lock, "");
  fs::remove_all(build);
  EXPECT_EQ(read_text(provide("main").build_dir / "prog"), "one\n");
  EXPECT_FALSE(fs::exists(ref_lock));
}

/// The hook is this test once more, with GIT_INDEX_FILE and GIT_DIR of the commit in its environment.
TEST_F(baseline_build_test, a_commit_in_progress_keeps_its_index_whatever_the_hook_exports) {
  if (is_hook()) {
    ASSERT_NE(std::getenv("GIT_INDEX_FILE"), nullptr) << "git's hooks have it";
    EXPECT_EQ(read_text(provide("HEAD~1").build_dir / "prog"), "one\n");
    return;
  }
  write_project("two");
  commit("second");
  write_project("three");
  const fs::path hook = m_project / ".git/hooks/pre-commit";
  write_text(hook, "#!/bin/sh\nexec " + fs::read_symlink("/proc/self/exe").string() +
                       " --gtest_filter=*a_commit_in_progress* >hook.log 2>&1\n");
  fs::permissions(hook, fs::perms::owner_all);
  ::setenv(hook_variable, m_project.c_str(), 1);
  git({"commit", "--quiet", "--all", "--message", "third"});
  ::unsetenv(hook_variable);
  EXPECT_THAT(read_text(m_project / "hook.log"), HasSubstr("[  PASSED  ] 1 test"));
  git({"diff", "--exit-code", "HEAD"});
  EXPECT_EQ(process::git_output(m_project, {"show", "HEAD:word.txt"}), "three\n")
      << "not the baseline's tree";
}

TEST_F(baseline_build_test, nothing_that_the_commit_brings_along_is_run) {
  // A relative path of hooks is looked for in the folder that is checked out.
  git({"config", "core.hooksPath", "hooks"});
  write_text(m_project / "hooks/post-checkout",
             "#!/bin/sh\ntouch \"" + (m_project / "was-run").string() + "\"\n");
  fs::permissions(m_project / "hooks/post-checkout", fs::perms::owner_all);
  commit("with a hook");
  EXPECT_EQ(read_text(provide("HEAD").build_dir / "prog"), "one\n");
  EXPECT_FALSE(fs::exists(m_project / "was-run"));
}

TEST_F(baseline_build_test, an_unknown_ref_is_bad_input) {
  for (const std::string ref : {"no-such-branch", "--help", ""}) {
    try {
      provide(ref);
      FAIL() << ref;
    } catch (const core::bad_input& refused) {
      EXPECT_THAT(refused.what(), HasSubstr("neither a build folder nor a commit"));
    }
  }
}

TEST_F(baseline_build_test, a_shallow_clone_says_how_to_get_what_it_lacks) {
  const auto remedy = [&] {
    try {
      provide("HEAD~4");
    } catch (const core::bad_input& refused) {
      return std::string(refused.remedy());
    }
    return std::string("none was needed");
  };
  EXPECT_THAT(remedy(), Not(HasSubstr("shallow")));
  write_text(m_project / ".git/shallow", process::git_output(m_project, {"rev-parse", "HEAD"}).value());
  EXPECT_THAT(remedy(), testing::EndsWith("git fetch --unshallow"));
}

TEST_F(baseline_build_test, a_failing_build_says_where_its_log_is) {
  write_text(m_project / "CMakeLists.txt",
             "message(STATUS \"-Werror\")\nmessage(FATAL_ERROR \"the sky fell\")\n");
  commit("broken");
  try {
    provide("HEAD");
    FAIL();
  } catch (const build_failure& failed) {
    EXPECT_EQ(failed.code(), core::exit_code::bad_input);
    EXPECT_THAT(failed.what(), testing::MatchesRegex("commit [0-9a-f]{12} cannot be built: (.|\n)*"));
    EXPECT_THAT(failed.what(),
                HasSubstr("\n    CMake Error at CMakeLists.txt:2 (message):\n      the sky fell"));
    const std::string remedy = failed.remedy();
    ASSERT_THAT(remedy, HasSubstr("its log is "));
    EXPECT_THAT(read_text(remedy.substr(remedy.find('/'))), HasSubstr("the sky fell"));
  }
}

TEST_F(baseline_build_test, the_first_error_is_shown_and_the_next_try_starts_clean) {
  write_text(
      m_project / "CMakeLists.txt",
      "cmake_minimum_required(VERSION 3.25)\nproject(tiny LANGUAGES NONE)\n"
      "file(WRITE ${CMAKE_BINARY_DIR}/profgate/pairs/tiny.smoke.json \"{}\")\n"
      "add_custom_target(broken ALL COMMAND ${CMAKE_COMMAND} -E echo \"a.cpp:3:1: error: no sky\"\n"
      "  COMMAND ${CMAKE_COMMAND} -E echo \"a.cpp:9:1: error: no sea\" COMMAND ${CMAKE_COMMAND} -E false)\n");
  commit("broken");
  try {
    provide("HEAD");
    FAIL();
  } catch (const build_failure& failed) {
    EXPECT_THAT(failed.what(), HasSubstr("\n    a.cpp:3:1: error: no sky\n    a.cpp:9:1: error: no sea"));
  }
  for (const fs::directory_entry& commit_folder : fs::directory_iterator(m_project / "tmp" / "baselines")) {
    for (const fs::directory_entry& entry : fs::directory_iterator(commit_folder.path()))
      EXPECT_THAT(entry.path().filename().string(), Not(StartsWith("build-"))) << "a half-built folder stays";
  }
}

TEST_F(baseline_build_test, libraries_inside_of_the_source_tree_are_found_from_the_worktree) {
  // As somebody has it who cannot install anything: a prefix beside the sources that git does not know.
  write_text(m_project / ".git" / "info" / "exclude", "/.deps/\n");
  write_text(m_project / ".deps" / "lib" / "cmake" / "Foo" / "FooConfig.cmake", "set(FOO_WORD found)\n");
  std::string project = read_text(m_project / "CMakeLists.txt");
  project += "find_package(Foo REQUIRED)\nfile(WRITE ${CMAKE_BINARY_DIR}/foo.txt ${FOO_WORD})\n";
  write_text(m_project / "CMakeLists.txt", project);
  commit("with Foo");
  ASSERT_EQ(run({"cmake", "-S", m_project.string(), "-B", (m_project / "build").string(),
                 "-DCMAKE_PREFIX_PATH=" + (m_project / ".deps").string()}),
            0);
  EXPECT_EQ(read_text(provide("HEAD").build_dir / "foo.txt"), "found");
}

TEST_F(baseline_build_test, a_configuration_of_several_is_built_like_the_candidate) {
  write_text(m_project / "CMakeLists.txt", R"(cmake_minimum_required(VERSION 3.25)
project(tiny LANGUAGES NONE)
add_custom_target(prog ALL COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/word.txt ${CMAKE_BINARY_DIR}/$<CONFIG>/prog)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/$<CONFIG>/profgate/pairs/tiny.smoke.json
  CONTENT "{\"command\": [\"${CMAKE_BINARY_DIR}/$<CONFIG>/prog\"]}")
)");
  commit("several");
  fs::remove_all(m_project / "build");
  ASSERT_EQ(run({"cmake", "-G", "Ninja Multi-Config", "-S", m_project.string(), "-B",
                 (m_project / "build").string()}),
            0);
  m_build = m_project / "build" / "Release";
  const fs::path built = provide("HEAD").build_dir;
  EXPECT_EQ(built.filename(), "Release");
  EXPECT_EQ(read_text(built / "prog"), "one\n");
}

TEST_F(baseline_build_test, a_commit_without_the_pair_is_bad_input) {
  write_text(m_project / "CMakeLists.txt",
             "cmake_minimum_required(VERSION 3.25)\nproject(tiny LANGUAGES NONE)\n");
  commit("without");
  try {
    provide("HEAD");
    FAIL();
  } catch (const core::bad_input& refused) {
    EXPECT_THAT(refused.what(), HasSubstr("does not register the pair tiny.smoke"));
  }
}

}  // namespace
}  // namespace profgate::ab
