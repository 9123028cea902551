include_guard(GLOBAL)

# Most of the time of compiling goes into reading the same headers, so the sources of a target are compiled some at a time
# as one. Whoever edits them may want PROFGATE_UNITY_BUILD=OFF: a change then compiles its own file only, so each source
# includes what it uses, and gives its helpers names that no other source of the target has.
function(profgate_unity_build target)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${PROFGATE_UNITY_BUILD} UNITY_BUILD_MODE BATCH UNITY_BUILD_BATCH_SIZE 16)
endfunction()

# profgate_share_headers(<target> <library|test>): headers of others that most sources read are read once, for all of them:
# gmock and JSON take a compiler three seconds. Not where each source is compiled by itself: that shows what it forgot to
# include. Not for libraries that are optimised: there it gains little, and each level would need its own.
function(profgate_share_headers target kind)
  if(NOT PROFGATE_UNITY_BUILD OR (kind STREQUAL "library" AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug"
                                  AND NOT CMAKE_CXX_FLAGS_RELEASE STREQUAL "-O0"))
    return()
  endif()
  set(shared profgate_${kind}_headers)
  if(NOT TARGET ${shared})
    set(source "${PROJECT_BINARY_DIR}/${shared}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "int main() {}\n")
    set(headers <nlohmann/json.hpp> <algorithm> <filesystem> <fstream> <functional> <map> <optional> <set> <sstream> <string> <vector>)
    if(kind STREQUAL "test")
      add_executable(${shared} EXCLUDE_FROM_ALL "${source}")
      target_link_libraries(${shared} PRIVATE GTest::gmock)
      target_compile_options(${shared} PRIVATE -O0)
      list(PREPEND headers <gmock/gmock.h> <gtest/gtest.h>)
    else()
      add_library(${shared} OBJECT EXCLUDE_FROM_ALL "${source}")
      target_link_libraries(${shared} PRIVATE profgate::deps::fmt)
      list(PREPEND headers <fmt/format.h>)
    endif()
    target_link_libraries(${shared} PRIVATE profgate::deps::json profgate_build_settings)
    target_precompile_headers(${shared} PRIVATE ${headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${shared})
endfunction()

# Lowered from -O2 or -O3, never raised from a project's -O0.
function(profgate_optimise_little target)
  if(CMAKE_CXX_FLAGS_RELEASE MATCHES "-O[23]")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# profgate_library(<name> [COLD] SOURCES <file>... [DEPENDS <sibling>...] [LINK <target>...])
#
# Declares one folder of harness/ as the static library profgate_<name>, alias profgate::<name>.
# Headers live in include/<name>/ and are included as "<name>/x.h". Only the folders named in DEPENDS are
# on the include path. LINK names third-party targets that stay private to the .cpp files. A COLD library waits for
# programs and files or runs once: a quarter less time to compile counts more there than its speed.
function(profgate_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COLD" "" "SOURCES;DEPENDS;LINK")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "profgate_library(${name}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_library(profgate_${name} STATIC ${arg_SOURCES})
  add_library(profgate::${name} ALIAS profgate_${name})
  target_include_directories(profgate_${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include)
  profgate_unity_build(profgate_${name})
  list(TRANSFORM arg_DEPENDS PREPEND "profgate::")
  target_link_libraries(profgate_${name} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_LINK} profgate_build_settings)
  if("profgate::deps::fmt" IN_LIST arg_LINK)
    profgate_share_headers(profgate_${name} library)
  endif()
  if(arg_COLD)
    profgate_optimise_little(profgate_${name})
  endif()
endfunction()

# profgate_unit_test(<name> [STARTS_PROGRAMS] SOURCES <file>... LINK <target>... [LABEL <label>])
#
# Declares the GoogleTest program unit_<name> and registers each of its cases as the CTest test
# unit.<name>.<suite>.<case>, with the label unit. PROFGATE_TEST_DATA is the path of tests/data. LABEL stands in place of
# unit in both: one word, since gtest_discover_tests tears lists apart.
# With sanitizers the program is one test, unit.<name>: a process takes long to start there, and seconds to look for
# leaks at its end. One that STARTS_PROGRAMS does without the latter, which each of those would do, too.
function(profgate_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STARTS_PROGRAMS" "LABEL" "SOURCES;LINK")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "profgate_unit_test(${name}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT DEFINED arg_LABEL)
    set(arg_LABEL unit)
  endif()
  add_executable(unit_${name} ${arg_SOURCES})
  target_link_libraries(unit_${name} PRIVATE ${arg_LINK} GTest::gmock GTest::gtest_main profgate_build_settings)
  # What a test does is quick; what counts is how long it takes to compile.
  target_compile_options(unit_${name} PRIVATE -O0)
  profgate_unity_build(unit_${name})
  profgate_share_headers(unit_${name} test)
  target_compile_definitions(unit_${name} PRIVATE "PROFGATE_TEST_DATA=\"${PROJECT_SOURCE_DIR}/tests/data\"")
  # Of what was recorded in great numbers the sanitizers see every fifth: reading JSON takes them thirty times as long.
  target_compile_definitions(unit_${name} PRIVATE PROFGATE_TEST_STRIDE=$<IF:$<BOOL:${PROFGATE_SANITIZE}>,5,1>)
  if(PROFGATE_SANITIZE)
    set(detects_leaks 1)
    if(arg_STARTS_PROGRAMS)
      set(detects_leaks 0)
    endif()
    add_test(NAME ${arg_LABEL}.${name} COMMAND unit_${name})
    set_tests_properties(${arg_LABEL}.${name} PROPERTIES
      LABELS ${arg_LABEL} TIMEOUT 900 ENVIRONMENT "ASAN_OPTIONS=detect_leaks=${detects_leaks}")
    return()
  endif()
  include(GoogleTest)
  gtest_discover_tests(unit_${name} TEST_PREFIX "${arg_LABEL}.${name}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS ${arg_LABEL} TIMEOUT 300)
endfunction()
