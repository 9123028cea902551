include_guard(GLOBAL)

# With PROFGATE_TIDY the target `tidy` runs clang-tidy on every source of harness/ and workloads/, in batches and on all
# cores (tidy.sh). It reads the compile commands and builds nothing.
if(PROFGATE_TIDY)
  find_program(PROFGATE_CLANG_TIDY NAMES clang-tidy clang-tidy-14 REQUIRED DOC "on Debian: apt-get install clang-tidy")
  add_custom_target(tidy
    COMMAND "${CMAKE_COMMAND}" -E env "CLANG_TIDY=${PROFGATE_CLANG_TIDY}"
            bash "${CMAKE_CURRENT_LIST_DIR}/tidy.sh" "${CMAKE_BINARY_DIR}" "${PROJECT_SOURCE_DIR}"
    USES_TERMINAL VERBATIM)
endif()
