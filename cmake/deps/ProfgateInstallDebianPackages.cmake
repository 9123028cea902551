include_guard(GLOBAL)

# profgate_install_debian_packages(<package>...)
#
# PROFGATE_INSTALL_DEPS: installs on this machine those of the packages that its apt sources offer, all in one go.
# A package that they do not offer is left to the other sources of its library.
function(profgate_install_debian_packages)
  find_program(apt_get NAMES apt-get NO_CACHE)
  find_program(apt_cache NAMES apt-cache NO_CACHE)
  if(NOT apt_get OR NOT apt_cache)
    message(FATAL_ERROR "profgate: PROFGATE_INSTALL_DEPS needs apt-get, which this machine does not have. "
      "Configure with -DPROFGATE_INSTALL_DEPS=OFF.")
  endif()
  set(log "${CMAKE_BINARY_DIR}/profgate-install-deps.log")
  execute_process(COMMAND "${apt_get}" -q update OUTPUT_FILE "${log}" ERROR_FILE "${log}" RESULT_VARIABLE update_failed)
  set(offered "")
  foreach(package IN LISTS ARGV)
    execute_process(COMMAND "${apt_cache}" show --no-all-versions ${package} RESULT_VARIABLE unknown
      OUTPUT_QUIET ERROR_QUIET)
    if(NOT unknown)
      list(APPEND offered ${package})
    endif()
  endforeach()
  if(NOT offered)
    return()
  endif()
  list(JOIN offered " " words)
  message(STATUS "profgate: apt-get install ${words}")
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env DEBIAN_FRONTEND=noninteractive
      "${apt_get}" -q -y --no-install-recommends install ${offered}
    OUTPUT_FILE "${log}" ERROR_FILE "${log}" RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "profgate: apt-get install ${words} failed (apt-get update: ${update_failed}), see ${log}.\n"
      "PROFGATE_INSTALL_DEPS needs root. Without root configure with -DPROFGATE_INSTALL_DEPS=OFF: the packages are "
      "then unpacked into a cache and the machine stays as it is.")
  endif()
endfunction()
