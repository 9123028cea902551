# cmake -DPROFGATE_SOURCE_DIR=... -DFOLDER=<scratch> -P cuda_compiler.cmake
#
# Which CUDA compiler is taken, and what is said of one that does not serve. The compilers are scripts that know only
# --version; none is new enough to be asked for more.
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${FOLDER}")
set(tools "${FOLDER}/a b+c(1)")
foreach(name_and_words "nvcc|release 12.4, V12.4.99" "other|release 11.8, V11.8.1" "clang|clang version 14.0.6")
  string(REGEX MATCH "^(.*)\\|(.*)$" matched "${name_and_words}")
  file(WRITE "${tools}/${CMAKE_MATCH_1}" "#!/bin/sh\necho '${CMAKE_MATCH_2}'\n")
  file(CHMOD "${tools}/${CMAKE_MATCH_1}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endforeach()
file(WRITE "${FOLDER}/project/CMakeLists.txt" "\
cmake_minimum_required(VERSION 3.25)
project(wants_cuda LANGUAGES NONE)
list(PREPEND CMAKE_MODULE_PATH \"${PROFGATE_SOURCE_DIR}/cmake\")
set(PROFGATE_CUDA ON)
include(ProfgateDependencyTable)
include(ProfgateCuda)
profgate_print_dependency_table()
")

function(expect_row what expected)
  file(REMOVE_RECURSE "${FOLDER}/build")
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${FOLDER}/project" -B "${FOLDER}/build" ${ARGN}
    OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  string(FIND "${output}" "${expected}" position)
  if(NOT result EQUAL 0 OR position EQUAL -1)
    message(FATAL_ERROR "${what}: expected the row '${expected}', the configure said (${result}):\n${output}")
  endif()
endfunction()

set(ENV{CUDACXX} "${tools}/nvcc")
expect_row("CUDACXX" "older than 13.0: CPU parts only (${tools}/nvcc)")
expect_row("CMAKE_CUDA_COMPILER before CUDACXX" "older than 13.0: CPU parts only (${tools}/other)"
  "-DCMAKE_CUDA_COMPILER=${tools}/other")
set(ENV{CUDACXX} "${tools}/clang")
expect_row("another compiler" "${tools}/clang is no nvcc: CPU parts only")
unset(ENV{CUDACXX})
set(ENV{CUDA_PATH} "${tools}")
file(RENAME "${tools}/nvcc" "${tools}/bin-nvcc")
file(MAKE_DIRECTORY "${tools}/bin")
file(RENAME "${tools}/bin-nvcc" "${tools}/bin/nvcc")
expect_row("CUDA_PATH" "older than 13.0: CPU parts only (${tools}/bin/nvcc)")
file(REMOVE_RECURSE "${FOLDER}")
