#include "ab/stale_program.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "process/runner.h"

/// With the real cmake and ninja, on a project that compiles nothing: its program is a copied file.
namespace profgate::ab {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class stale_program_test : public ::testing::Test {
 protected:
  void SetUp() override {
    m_project = fs::path(::testing::TempDir()) / ("profgate-stale-" + std::to_string(getpid()));
    write("word.txt", "one\n");
    write("CMakeLists.txt", R"(cmake_minimum_required(VERSION 3.25)
project(tiny LANGUAGES NONE)
add_custom_command(OUTPUT tool DEPENDS ${PROJECT_SOURCE_DIR}/word.txt
  COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/word.txt tool)
add_custom_target(all_tools ALL DEPENDS tool)
)");
    run({"cmake", "-G", "Ninja", "-S", m_project.string(), "-B", build_dir().string()});
    run({"cmake", "--build", build_dir().string()});
  }
  void TearDown() override { fs::remove_all(m_project); }

  fs::path build_dir() const { return m_project / "build"; }
  fs::path program() const { return build_dir() / "tool"; }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(m_project);
    std::ofstream(m_project / name) << text;
  }
  /// A clock's grain or two: files of the same moment are not told apart.
  void edit(const std::string& name) const {
    fs::last_write_time(m_project / name, fs::file_time_type::clock::now() + std::chrono::hours(1));
  }
  static void run(const std::vector<std::string>& argv) {
    EXPECT_EQ(process::run({argv, {}, {}, {}}, {}).exit_code, 0);
  }

 private:
  fs::path m_project;
};

TEST_F(stale_program_test, says_so_of_a_program_whose_sources_were_edited_since) {
  EXPECT_EQ(stale_program_text(program()), "");
  edit("word.txt");
  EXPECT_THAT(stale_program_text(program()),
              HasSubstr("/build/tool is older than its sources: cmake --build "));
}

TEST_F(stale_program_test, is_silent_where_nobody_can_tell) {
  edit("CMakeLists.txt");
  EXPECT_EQ(stale_program_text(program()), "") << "CMake comes first, and tells nothing of the program";
  write("build/put_there", "");
  EXPECT_EQ(stale_program_text(build_dir() / "put_there"), "") << "not made by the build";
  EXPECT_EQ(stale_program_text("sh"), "");
  EXPECT_EQ(stale_program_text("/usr/bin/env"), "");
  EXPECT_EQ(stale_program_text(build_dir() / "nonsense"), "");
}

TEST_F(stale_program_test, is_silent_of_a_build_that_was_put_aside) {
  const fs::path copy = build_dir().parent_path() / "before";
  fs::copy(build_dir(), copy, fs::copy_options::recursive);
  edit("word.txt");
  EXPECT_EQ(stale_program_text(copy / "tool"), "") << "an older program is what it was kept for";
}

}  // namespace
}  // namespace profgate::ab
