# cmake -DPROFGATE_SOURCE_DIR=... -DFOLDER=<scratch> -P fetch.cmake
#
# Where libraries come from, with files on this disk in place of a server: what has the right hash is kept and never fetched
# again, anything else leaves nothing behind; what is too old is passed over; what is missing is named with its remedy.
cmake_minimum_required(VERSION 3.25)

function(expect_match what actual pattern)
  if(NOT actual MATCHES "${pattern}")
    message(FATAL_ERROR "${what}: expected ${pattern}, got '${actual}'")
  endif()
endfunction()

# Configures a project that wants the libraries of `pins`; its table or its words go to `output`.
function(resolve pins expected_result)
  file(WRITE "${FOLDER}/project/CMakeLists.txt" "\
cmake_minimum_required(VERSION 3.25)
project(wants LANGUAGES NONE)
list(PREPEND CMAKE_MODULE_PATH \"${PROFGATE_SOURCE_DIR}/cmake\")
include(ProfgateDependencies)
set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)  # as if nothing were installed
set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
${pins}
# threads need a compiler
macro(find_package package)
  if(NOT \${package} STREQUAL \"Threads\")
    _find_package(\${ARGV})
  endif()
endmacro()
profgate_resolve_dependencies(wanted)

get_target_property(where profgate_deps_wanted INTERFACE_INCLUDE_DIRECTORIES)
message(STATUS \"lies in \${where}\")
profgate_print_dependency_table()
")
  file(REMOVE_RECURSE "${FOLDER}/build")
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${FOLDER}/project" -B "${FOLDER}/build"
      "-DPROFGATE_DEPS_CACHE=${cache}" ${ARGN}
    OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  if(NOT "${result}" MATCHES "${expected_result}")
    message(FATAL_ERROR "the configure ended with ${result}, expected was ${expected_result}:\n${output}")
  endif()
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  set(output "${output}" PARENT_SCOPE)
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
set(cache "${FOLDER}/the cache")
file(WRITE "${server}/one.hpp" "// Version 2.1\n")
file(SHA256 "${server}/one.hpp" header_hash)
string(SUBSTRING "${header_hash}" 0 8 header_short)
set(pattern [[VERSION_PATTERN "Version ([0-9.]+)"]])

resolve("profgate_pin(wanted HEADER deep/one.hpp OLDEST 2 ${pattern})" 1)
expect_match("what is in no place but packages" "${output}" "wanted 2 or newer: put its header .* there is no download of it What to do")
if(output MATCHES "CMake Error.*CMake Error")
  message(FATAL_ERROR "what is missing must be all that is said: ${output}")
endif()

string(REPLACE "0" "1" wrong_hash "${header_hash}")
resolve("profgate_pin(wanted HEADER deep/one.hpp OLDEST 2 ${pattern} VERSION 2.1 URL \"file://${server}/one.hpp\" SHA256 ${wrong_hash})" 1)
expect_match("a wrong hash" "${output}" "has sha256 ${header_hash}, the pin says ${wrong_hash}: not used")
expect_cache("after a wrong hash" "")

resolve("profgate_pin(wanted HEADER deep/one.hpp OLDEST 2 ${pattern} VERSION 2.1 URL \"file://${server}/gone.hpp\" SHA256 ${header_hash})" 1)
expect_match("a server without the file" "${output}" "download of file://.*/gone.hpp failed")
expect_cache("after a failed download" "")

set(pin "profgate_pin(wanted HEADER deep/one.hpp OLDEST 2 ${pattern} VERSION 2.1 URL \"file://${server}/one.hpp\" SHA256 ${header_hash})")
resolve("${pin}" 1 -DPROFGATE_OFFLINE=ON)
expect_match("offline" "${output}" "wanted 2 or newer: put its header at <prefix>/include/deep/one.hpp from file://")
expect_match("the remedy" "${output}" "name <prefix> in CMAKE_PREFIX_PATH, as a variable .-D. or in the environment")
expect_match("the remedy" "${output}" "PROFGATE_OFFLINE is on")

# No remedy names a package that the lists of this machine do not have.
string(REPLACE "OLDEST 2" "OLDEST 2 DEBIAN here-dev gone-dev" packaged "${pin}")
resolve("set_property(GLOBAL PROPERTY PROFGATE_PACKAGES_NOT_OFFERED gone-dev)\n${packaged}" 1 -DPROFGATE_OFFLINE=ON)
expect_match("packages that are offered" "${output}" "- apt-get install here-dev .as root")

resolve("${pin}" 0)
expect_match("a download" "${output}" "wanted 2.1 .*/the cache/wanted-2.1-${header_short}/include")
expect_cache("after a fetch" "wanted-2.1-${header_short}")
file(REMOVE_RECURSE "${server}")
resolve("${pin}" 0 -DPROFGATE_OFFLINE=ON)
expect_match("found in the cache without server" "${output}" "lies in .*/the cache/wanted-2.1-${header_short}/include")

# A prefix that somebody names comes before all that, as a variable or in the environment; one that is too old is passed over.
file(WRITE "${FOLDER}/a b+c(1)/include/deep/one.hpp" "// Version 3.0\n")
resolve("${pin}" 0 "-DCMAKE_PREFIX_PATH=${FOLDER}/a b+c(1)")
expect_match("a prefix" "${output}" "wanted 3.0 .*/a b.c.1./include")
file(REMOVE_RECURSE "${cache}")
set(ENV{CMAKE_PREFIX_PATH} "${FOLDER}/a b+c(1)")
resolve("${pin}" 0 -DPROFGATE_OFFLINE=ON)
expect_match("a prefix in the environment" "${output}" "wanted 3.0 .*/a b.c.1./include")
string(REPLACE "OLDEST 2" "OLDEST 3.1" newer "${pin}")
resolve("${newer}" 1 -DPROFGATE_OFFLINE=ON)
expect_match("too old" "${output}" "wanted 3.1 or newer .too old: 3.0 in .*/a b.c.1./include.")

# The same for a package: its version file is asked before anything of it is loaded.
set(package "${FOLDER}/a b+c(1)/lib/cmake/Wanted")
file(WRITE "${package}/WantedConfig.cmake" "add_library(Wanted::wanted INTERFACE IMPORTED)
set_target_properties(Wanted::wanted PROPERTIES INTERFACE_INCLUDE_DIRECTORIES \"${FOLDER}/a b+c(1)/include\")\n")
file(WRITE "${package}/WantedConfigVersion.cmake" "set(PACKAGE_VERSION 1.5)
if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()\n")
resolve("profgate_pin(wanted PACKAGE Wanted TARGETS Wanted::other Wanted::wanted OLDEST 1.4)" 0)
expect_match("a package" "${output}" "wanted 1.5 .*/a b.c.1./include")
resolve("profgate_pin(wanted PACKAGE Wanted TARGETS Wanted::wanted OLDEST 2.0)" 1 -DPROFGATE_OFFLINE=ON)
expect_match("a package that is too old" "${output}" "wanted 2.0 or newer .too old: 1.5.: install it below <prefix>, so that find_package.Wanted. finds it")
unset(ENV{CMAKE_PREFIX_PATH})

# An archive is built with ours, by its own CMakeLists.txt.
file(WRITE "${server}/tiny-1.0/CMakeLists.txt" "cmake_minimum_required(VERSION 3.25)
project(tiny LANGUAGES NONE)
add_library(Wanted::wanted INTERFACE IMPORTED GLOBAL)
set_target_properties(Wanted::wanted PROPERTIES INTERFACE_INCLUDE_DIRECTORIES \"\${CMAKE_CURRENT_SOURCE_DIR}\")\n")
execute_process(COMMAND "${CMAKE_COMMAND}" -E tar czf tiny.tar.gz tiny-1.0 WORKING_DIRECTORY "${server}"
  COMMAND_ERROR_IS_FATAL ANY)
file(SHA256 "${server}/tiny.tar.gz" archive_hash)
resolve("profgate_pin(wanted PACKAGE Wanted TARGETS Wanted::wanted OLDEST 1.0 VERSION 1.0 URL \"file://${server}/tiny.tar.gz\" SHA256 ${archive_hash})" 0)
expect_match("an archive" "${output}" "wanted 1.0 .*built from .*/tiny.tar.gz")
file(REMOVE_RECURSE "${server}")
resolve("profgate_pin(wanted PACKAGE Wanted TARGETS Wanted::wanted OLDEST 1.0 VERSION 1.0 URL \"file://${server}/tiny.tar.gz\" SHA256 ${archive_hash})" 0 -DPROFGATE_OFFLINE=ON)
expect_match("an archive from the cache" "${output}" "wanted 1.0 .*built from .*/tiny.tar.gz")
file(REMOVE_RECURSE "${FOLDER}")
