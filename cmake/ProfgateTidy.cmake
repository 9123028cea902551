include_guard(GLOBAL)

# With PROFGATE_TIDY the target `tidy` runs clang-tidy on every source of harness/ and workloads/, on all cores. It
# reads the compile commands and builds nothing.
if(PROFGATE_TIDY)
  find_program(PROFGATE_RUN_CLANG_TIDY NAMES run-clang-tidy run-clang-tidy-14 REQUIRED
    DOC "clang-tidy's parallel runner; on Debian: apt-get install clang-tidy")
  add_custom_target(tidy
    COMMAND "${PROFGATE_RUN_CLANG_TIDY}" -quiet -p "${CMAKE_BINARY_DIR}" "^${PROJECT_SOURCE_DIR}/(harness|workloads)/"
    USES_TERMINAL VERBATIM)
endif()
