# cmake -DWAY=find_package|add_subdirectory -DGENERATOR=<generator> -DTASK=build|run ... -P consume.cmake
#
# Builds the project beside this file, or runs the pair it registers.
#   find_package      profgate is installed, and the tree moved before it is used
#   add_subdirectory  profgate is part of the project; none of its own pairs, tests or flags may show
cmake_minimum_required(VERSION 3.25)

# Runs a command, its output going to `output`; ends the test where it fails.
macro(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${what} failed (${result}):\n${output}")
  endif()
endmacro()

set(is_multi_config FALSE)
if(GENERATOR MATCHES "Multi-Config")
  set(is_multi_config TRUE)
endif()

if(TASK STREQUAL "build")
  file(REMOVE_RECURSE "${FOLDER}")
  file(COPY "${CMAKE_CURRENT_LIST_DIR}/project/" DESTINATION "${FOLDER}/project")
  set(options "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
              -DCMAKE_CXX_FLAGS_RELEASE=-O0  # profgate may be compiled once more here: as cheaply as possible
              "-DCONSUMER_NVTX_INCLUDE_DIR=${NVTX_INCLUDE_DIR}")
  if(NOT is_multi_config)
    list(APPEND options -DCMAKE_BUILD_TYPE=Release)
  endif()
  if(WAY STREQUAL "find_package")
    run("cmake --install" "${CMAKE_COMMAND}" --install "${PROFGATE_BINARY_DIR}" --config "${BUILD_TYPE}" --prefix "${FOLDER}/first")
    file(RENAME "${FOLDER}/first" "${FOLDER}/moved")
    foreach(file bin/profgate lib/profgate/libprofgate_collector.so libexec/profgate/profgate-llm share/profgate/conf
                 share/profgate/templates lib/cmake/profgate/profgateConfig.cmake)
      if(NOT EXISTS "${FOLDER}/moved/${file}")
        message(FATAL_ERROR "the install tree lacks ${file}")
      endif()
    endforeach()
    set(targets counting_bench)
    run("the moved profgate" "${FOLDER}/moved/bin/profgate" --help)
    list(APPEND options "-DCMAKE_PREFIX_PATH=${FOLDER}/moved")
  else()
    set(targets counting_bench profgate profgate_collector)
    if(NOT GENERATOR STREQUAL "Ninja" AND NOT DEFINED ENV{PROFGATE_TEST_WHOLE_BUILDS})
      # What differs between generators is where things go, not how a source is compiled: a few are, the program is
      # taken from the build that is tested. With PROFGATE_TEST_WHOLE_BUILDS in the environment it is built, too.
      set(targets counting_bench profgate_core profgate_collector)
    endif()
    string(REPLACE ";" ":" ENV{CMAKE_PREFIX_PATH} "${DEPENDENCY_PREFIXES}")
    list(APPEND options "-DCONSUMER_PROFGATE_SOURCE_DIR=${PROFGATE_SOURCE_DIR}" "-DPROFGATE_DEPS_CACHE=${DEPS_CACHE}")
  endif()
  run("configure" "${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${FOLDER}/project" -B "${FOLDER}/build" ${options})
  run("build" "${CMAKE_COMMAND}" --build "${FOLDER}/build" --config Release --target ${targets})

  if(WAY STREQUAL "add_subdirectory" AND NOT profgate IN_LIST targets)
    set(configuration "")
    if(is_multi_config)
      set(configuration Release/)
    endif()
    file(COPY "${PROGRAM}" DESTINATION "${FOLDER}/build/profgate/${configuration}bin")
  endif()

  run("ctest -N" "${CTEST}" --test-dir "${FOLDER}/build" -C Release -N)
  foreach(step "" .prepare .stage1 .timeline .counters .gate .prune)
    if(NOT output MATCHES " stage2\\.counting\\.tiny${step}\n")
      message(FATAL_ERROR "the test stage2.counting.tiny${step} is not registered:\n${output}")
    endif()
  endforeach()
  if(NOT output MATCHES "Total Tests: 7\n")
    message(FATAL_ERROR "the project must have its own seven tests and no other:\n${output}")
  endif()
  return()
endif()

run("ctest -L stage2" "${CTEST}" --test-dir "${FOLDER}/build" -C Release -L "^stage2$" --output-on-failure --no-tests=error)
message("${output}")
foreach(step "" .prepare .stage1 .timeline)
  if(NOT output MATCHES "stage2\\.counting\\.tiny${step} \\.+ +Passed")
    message(FATAL_ERROR "stage2.counting.tiny${step} must pass, not be skipped:\n${output}")
  endif()
endforeach()
file(GLOB reports "${FOLDER}/project/tmp/stage2/*-counting.tiny*/report.md")
if(NOT reports)
  message(FATAL_ERROR "the run left no report.md below ${FOLDER}/project/tmp/stage2")
endif()
file(REMOVE_RECURSE "${FOLDER}")
