# cmake -DPROFGATE_SOURCE_DIR=... -DFOLDER=<scratch> -P fetch.cmake
#
# The pinned download, with archives on this disk in place of a server: what has the right hash is kept and never fetched
# again, anything else leaves nothing behind.
cmake_minimum_required(VERSION 3.25)
include("${PROFGATE_SOURCE_DIR}/cmake/deps/ProfgatePin.cmake")
include("${PROFGATE_SOURCE_DIR}/cmake/deps/ProfgateFetchDependency.cmake")

function(expect_match what actual pattern)
  if(NOT actual MATCHES "${pattern}")
    message(FATAL_ERROR "${what}: expected ${pattern}, got '${actual}'")
  endif()
endfunction()

# What the cache holds, apart from its lock.
function(expect_cache what expected)
  file(GLOB entries RELATIVE "${cache}" "${cache}/*")
  list(REMOVE_ITEM entries lock)
  if(NOT entries STREQUAL expected)
    message(FATAL_ERROR "${what}: the cache must hold '${expected}', it holds '${entries}'")
  endif()
endfunction()

file(REMOVE_RECURSE "${FOLDER}")
set(server "${FOLDER}/server")
set(cache "${FOLDER}/cache")
set(PROFGATE_DEPS_CACHE "${cache}")
file(WRITE "${server}/tiny-1.0/include/tiny.h" "#define TINY 1\n")
execute_process(COMMAND "${CMAKE_COMMAND}" -E tar czf tiny.tar.gz tiny-1.0 WORKING_DIRECTORY "${server}"
  COMMAND_ERROR_IS_FATAL ANY)
file(SHA256 "${server}/tiny.tar.gz" archive_hash)
file(WRITE "${server}/one.hpp" "#define ONE 1\n")
file(SHA256 "${server}/one.hpp" header_hash)
string(SUBSTRING "${archive_hash}" 0 8 archive_short)
string(SUBSTRING "${header_hash}" 0 8 header_short)

profgate_pin(wrong_hash HEADERS tiny.h VERSION 1.0 URL "file://${server}/tiny.tar.gz" SHA256 ${header_hash})
profgate_fetch_dependency(wrong_hash)
expect_match("found" "${dependency_found}" FALSE)
expect_match("the reason" "${dependency_problem}" "has sha256 ${archive_hash}, the pin says ${header_hash}: not used")
expect_cache("after a wrong hash" "")

profgate_pin(gone HEADERS tiny.h VERSION 1.0 URL "file://${server}/gone.tar.gz" SHA256 ${archive_hash})
profgate_fetch_dependency(gone)
expect_match("found" "${dependency_found}" FALSE)
expect_match("the reason" "${dependency_problem}" "download of file://${server}/gone.tar.gz failed")
expect_cache("after a failed download" "")
set_property(GLOBAL PROPERTY PROFGATE_UNREACHABLE_SERVERS "")

set(PROFGATE_OFFLINE ON)
profgate_pin(tiny HEADERS tiny.h VERSION 1.0 URL "file://${server}/tiny.tar.gz" SHA256 ${archive_hash})
profgate_fetch_dependency(tiny)
expect_match("found while offline" "${dependency_found}" FALSE)
expect_match("the reason" "${dependency_problem}" "PROFGATE_OFFLINE is on and ${cache} does not have it")
set(PROFGATE_OFFLINE OFF)

profgate_fetch_dependency(tiny)
expect_match("found" "${dependency_found}" TRUE)
expect_match("include directory" "${dependency_includes}" "^${cache}/tiny-1.0-${archive_short}/include$")
profgate_pin(one HEADERS deep/one.hpp VERSION 2 URL "file://${server}/one.hpp" SHA256 ${header_hash})
profgate_fetch_dependency(one)
if(NOT EXISTS "${cache}/one-2-${header_short}/include/deep/one.hpp")
  message(FATAL_ERROR "the header is not in ${cache}")
endif()
expect_cache("after two fetches" "one-2-${header_short};tiny-1.0-${archive_short}")

file(REMOVE_RECURSE "${server}")
set(PROFGATE_OFFLINE ON)
profgate_fetch_dependency(tiny)
expect_match("found in the cache without server" "${dependency_found}" TRUE)

# A source tree without a built library is compiled: its sources are handed on.
file(WRITE "${FOLDER}/tree/include/tiny.h" "")
file(WRITE "${FOLDER}/tree/src/a.c" "")
file(WRITE "${FOLDER}/tree/src/main.c" "")
profgate_pin(built HEADERS tiny.h LIBRARIES no-such-library SOURCES src/*.c SOURCES_EXCLUDED main)
profgate_find_dependency(built "${FOLDER}/tree")
expect_match("found as a source tree" "${dependency_found}" TRUE)
expect_match("sources" "${dependency_sources}" "^${FOLDER}/tree/src/a.c$")
file(REMOVE_RECURSE "${FOLDER}/tree/src")
profgate_find_dependency(built "${FOLDER}/tree")
expect_match("found without library and sources" "${dependency_found}" FALSE)
expect_match("the reason" "${dependency_problem}" "its header, but no libno-such-library")
file(REMOVE_RECURSE "${FOLDER}")
