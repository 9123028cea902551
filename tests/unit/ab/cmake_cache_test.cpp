#include "cmake_cache.h"

#include <gmock/gmock.h>

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
Foo_DIR:PATH=/usr/lib/cmake/Foo
HERE:STRING=/src/build/generated
MODEL:STRING=/src/project/model ]=] end
PROFGATE_BUILD_TESTS:BOOL=ON
USE_FAST:BOOL=OFF
project_BINARY_DIR:STATIC=/src/build
)";

TEST(cmake_cache, shares_what_decides_how_the_project_is_built) {
  const build_settings settings = read_cmake_cache(cache_text, "/src/build");
  EXPECT_EQ(settings.generator, "Ninja");
  EXPECT_EQ(settings.source_dir, "/src/project");
  const std::string script = initial_cache_script(settings, "/cache/source");
  EXPECT_THAT(script, HasSubstr("set(CMAKE_BUILD_TYPE [=[RelWithDebInfo]=] CACHE STRING \"\")"));
  EXPECT_THAT(script, HasSubstr("set(CMAKE_CXX_COMPILER [=[/usr/bin/g++-12]=] CACHE FILEPATH \"\")"));
  EXPECT_THAT(script, HasSubstr("set(CMAKE_PREFIX_PATH [=[/opt/a;/opt/b]=] CACHE PATH \"\")"));
  EXPECT_THAT(script, HasSubstr("set(CMAKE_CUDA_ARCHITECTURES [=[90]=] CACHE STRING \"\")"));
  EXPECT_THAT(script, HasSubstr("set(USE_FAST [=[OFF]=] CACHE BOOL \"\")"));
  EXPECT_THAT(script, HasSubstr("set(PROFGATE_BUILD_TESTS [=[OFF]=] CACHE BOOL \"\")"));
}

TEST(cmake_cache, leaves_out_what_was_found_or_made_for_that_folder) {
  const std::string script =
      initial_cache_script(read_cmake_cache(cache_text, "/src/build"), "/cache/source");
  EXPECT_THAT(script, Not(HasSubstr("Foo_DIR")));
  EXPECT_THAT(script, Not(HasSubstr("HERE")));
  EXPECT_THAT(script, Not(HasSubstr("CMAKE_CXX_COMPILER_AR")));
  EXPECT_THAT(script, Not(HasSubstr("project_BINARY_DIR")));
  EXPECT_THAT(script, Not(HasSubstr("[=[ON]=]")));
}

TEST(cmake_cache, values_move_with_the_sources_and_cannot_end_their_brackets) {
  const std::string script =
      initial_cache_script(read_cmake_cache(cache_text, "/src/build"), "/cache/source");
  EXPECT_THAT(script, HasSubstr("set(MODEL [==[/cache/source/model ]=] end]==] CACHE STRING \"\")"));
}

}  // namespace
}  // namespace profgate::ab
