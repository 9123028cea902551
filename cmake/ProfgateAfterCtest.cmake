include_guard(GLOBAL)

# profgate_tell_after_ctest()
#
# Lets ctest end with what became of the pairs that it ran: CTest prints nothing of a test that was skipped, so that nobody
# would see why. CTest runs CTEST_CUSTOM_POST_TEST of <build>/CTestCustom.cmake after its own summary; a file of the
# project's own stays as it is, and includes ours at its end. For the same reason it begins with whom its tests wait for,
# by CTEST_CUSTOM_PRE_TEST.
function(profgate_tell_after_ctest)
  get_property(pairs GLOBAL PROPERTY PROFGATE_PAIRS)
  if(NOT pairs)
    return()
  endif()
  profgate_output_folder("${CMAKE_BINARY_DIR}" folder folders)
  file(GENERATE OUTPUT "${folder}/profgate/after_ctest.cmake" CONTENT "\
# Once for all configurations, by the first that was built: their pairs are the same.
if(NOT CTEST_CUSTOM_POST_TEST MATCHES \"session --after-ctest\" AND EXISTS \"$<TARGET_FILE:profgate::profgate>\")
  list(APPEND CTEST_CUSTOM_PRE_TEST \"\\\"$<TARGET_FILE:profgate::profgate>\\\" session --before-ctest\")
  list(APPEND CTEST_CUSTOM_POST_TEST
    \"\\\"$<TARGET_FILE:profgate::profgate>\\\" session --after-ctest --build-dir \\\"\${CMAKE_CURRENT_LIST_DIR}/..\\\"\")
endif()
")
  set(custom "${CMAKE_BINARY_DIR}/CTestCustom.cmake")
  set(text "")
  if(EXISTS "${custom}")
    file(READ "${custom}" text)
  endif()
  foreach(folder IN LISTS folders)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${CMAKE_BINARY_DIR}" OUTPUT_VARIABLE subfolder)
    set(line "include(\"\${CMAKE_CURRENT_LIST_DIR}/${subfolder}/profgate/after_ctest.cmake\" OPTIONAL)\n")
    string(FIND "${text}" "${line}" found)
    if(found EQUAL -1)
      file(APPEND "${custom}" "${line}")
    endif()
  endforeach()
endfunction()
