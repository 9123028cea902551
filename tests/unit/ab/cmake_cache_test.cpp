#include "cmake_cache.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace profgate::ab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const char* const cache_text = R"(# This is the CMakeCache file.
//Build type
CMAKE_BUILD_TYPE:STRING=RelWithDebInfo
CMAKE_CXX_COMPILER:FILEPATH=/usr/bin/g++-12
CMAKE_CXX_COMPILER_AR:FILEPATH=/usr/bin/ar
CMAKE_GENERATOR:INTERNAL=Ninja
CMAKE_HOME_DIRECTORY:INTERNAL=/src/project
CMAKE_MAKE_PROGRAM:FILEPATH=/usr/bin/ninja
CMAKE_PREFIX_PATH:PATH=/opt/a;/opt/b
CMAKE_CUDA_ARCHITECTURES:UNINITIALIZED=90
FETCHCONTENT_BASE_DIR:PATH=/src/build/_deps
FETCHCONTENT_SOURCE_DIR_BAR:PATH=/src/bar
Foo_DIR:PATH=/usr/lib/cmake/Foo
Foo_LIBRARY:FILEPATH=/src/build/prefix/libfoo.so
Gone_DIR:PATH=Gone_DIR-NOTFOUND
Fetched_DIR:PATH=/src/build/CMakeFiles/pkgRedirects
HERE:STRING=/src/build/generated
LISTED:STRING=one;/src/build/generated
PROFGATE_DEPENDENCY_PREFIXES:INTERNAL=/opt/profgate-deps;/home/me/prefix
MODEL:STRING=/src/project/model ]=] end
PROFGATE_BUILD_TESTS:BOOL=ON
USE_FAST:BOOL=OFF
project_BINARY_DIR:STATIC=/src/build
)";

/// Sources move from <folder>/project to <folder>/baseline, which has only the file "model ]=] end" and the
/// folder "cmake".
class cmake_cache : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(m_folder / "baseline" / "cmake");
    std::ofstream(m_folder / "baseline" / "model ]=] end") << "weights";
  }
  void TearDown() override { std::filesystem::remove_all(m_folder); }

  std::string script_for(const std::string& type, const std::string& value) const {
    const std::string cache =
        "CMAKE_HOME_DIRECTORY:INTERNAL=" + project() + "\nVALUE:" + type + "=" + value + "\n";
    return initial_cache_script(read_cmake_cache(cache, m_folder / "build"), m_folder / "baseline");
  }
  std::string project() const { return (m_folder / "project").string(); }
  std::string baseline() const { return (m_folder / "baseline").string(); }

  std::filesystem::path m_folder =
      std::filesystem::path(::testing::TempDir()) / ("a b+c(1)-" + std::to_string(getpid()));
};

TEST_F(cmake_cache, shares_what_decides_how_the_project_is_built) {
  const build_settings settings = read_cmake_cache(cache_text, "/src/build");
  EXPECT_EQ(settings.generator, "Ninja");
  EXPECT_EQ(settings.source_dir, "/src/project");
  const std::string script = initial_cache_script(settings, "/cache/source");
  EXPECT_THAT(script, HasSubstr("set(CMAKE_BUILD_TYPE [=[RelWithDebInfo]=] CACHE STRING \"\")"));
  EXPECT_THAT(script, HasSubstr("set(CMAKE_CXX_COMPILER [=[/usr/bin/g++-12]=] CACHE FILEPATH \"\")"));
  EXPECT_THAT(script, HasSubstr("set(CMAKE_PREFIX_PATH [=[/opt/a;/opt/b"));
  EXPECT_THAT(script, HasSubstr("set(CMAKE_CUDA_ARCHITECTURES [=[90]=] CACHE STRING \"\")"));
  EXPECT_THAT(script, HasSubstr("set(USE_FAST [=[OFF]=] CACHE BOOL \"\")"));
  EXPECT_THAT(script, HasSubstr("set(PROFGATE_BUILD_TESTS [=[OFF]=] CACHE BOOL \"\")"));
}

TEST_F(cmake_cache, another_build_gets_the_libraries_that_were_found) {
  const std::string script =
      initial_cache_script(read_cmake_cache(cache_text, "/src/build"), "/cache/source");
  EXPECT_THAT(script, HasSubstr("set(Foo_DIR [=[/usr/lib/cmake/Foo]=] CACHE PATH \"\")"));
  EXPECT_THAT(script, HasSubstr("set(Foo_LIBRARY [=[/src/build/prefix/libfoo.so]=] CACHE FILEPATH \"\")"));
  EXPECT_THAT(script, HasSubstr("set(FETCHCONTENT_SOURCE_DIR_BAR [=[/src/bar]=] CACHE PATH \"\")"));
  EXPECT_THAT(script, Not(HasSubstr("Gone_DIR")));
}

TEST_F(cmake_cache, leaves_out_what_was_found_or_made_for_that_folder) {
  const std::string script =
      initial_cache_script(read_cmake_cache(cache_text, "/src/build"), "/cache/source");
  EXPECT_THAT(script, Not(HasSubstr("FETCHCONTENT_BASE_DIR")));
  EXPECT_THAT(script, Not(HasSubstr("Fetched_DIR")));
  EXPECT_THAT(script, Not(HasSubstr("HERE")));
  EXPECT_THAT(script, Not(HasSubstr("LISTED")));
  EXPECT_THAT(script, Not(HasSubstr("CMAKE_CXX_COMPILER_AR")));
  EXPECT_THAT(script, Not(HasSubstr("project_BINARY_DIR")));
  EXPECT_THAT(script, Not(HasSubstr("[=[ON]=]")));
}

TEST_F(cmake_cache, values_move_with_the_sources_and_cannot_end_their_brackets) {
  EXPECT_THAT(script_for("FILEPATH", project() + "/model ]=] end"),
              HasSubstr("set(VALUE [==[" + baseline() + "/model ]=] end]==] CACHE FILEPATH"));
  EXPECT_THAT(script_for("STRING", "-I" + project() + "/cmake -O2"),
              HasSubstr("[=[-I" + baseline() + "/cmake -O2]=]"));
  EXPECT_THAT(script_for("STRING", project() + ";x=" + project() + "/cmake"),
              HasSubstr("[=[" + baseline() + ";x=" + baseline() + "/cmake]=]"));
}

TEST_F(cmake_cache, values_stay_where_the_commit_does_not_have_them) {
  for (const std::string rest : {"/.deps/prefix", "-inst/cmake", "x", "/cmake2"}) {
    EXPECT_THAT(script_for("STRING", project() + rest), HasSubstr("[=[" + project() + rest + "]=]"));
    EXPECT_THAT(script_for("STRING", "/other" + project() + "/cmake"),
                HasSubstr("[=[/other" + project() + "/cmake]=]"));
  }
}

TEST_F(cmake_cache, prefixes_of_libraries_are_searched_after_those_that_were_named) {
  EXPECT_THAT(
      initial_cache_script(read_cmake_cache(cache_text, "/src/build"), "/cache/source"),
      HasSubstr("set(CMAKE_PREFIX_PATH [=[/opt/a;/opt/b;/opt/profgate-deps;/home/me/prefix]=] CACHE PATH"));
}

}  // namespace
}  // namespace profgate::ab
