include_guard(GLOBAL)

# profgate_dependency_cache(<out variable>)
#
# The folder in which fetched libraries are kept for all build folders: PROFGATE_DEPS_CACHE (cache variable, then
# environment), else profgate/deps below XDG_CACHE_HOME or ~/.cache, else a folder of this build where none of them
# can be written. A library's folder in it appears by a rename once it is complete, so what exists may be used.
function(profgate_dependency_cache out)
  set(candidates "")
  if(PROFGATE_DEPS_CACHE)
    list(APPEND candidates "${PROFGATE_DEPS_CACHE}")
  elseif(DEFINED ENV{PROFGATE_DEPS_CACHE})
    list(APPEND candidates "$ENV{PROFGATE_DEPS_CACHE}")
  elseif(DEFINED ENV{XDG_CACHE_HOME})
    list(APPEND candidates "$ENV{XDG_CACHE_HOME}/profgate/deps")
  elseif(DEFINED ENV{HOME})
    list(APPEND candidates "$ENV{HOME}/.cache/profgate/deps")
  endif()
  foreach(candidate IN LISTS candidates)
    cmake_path(ABSOLUTE_PATH candidate BASE_DIRECTORY "${CMAKE_BINARY_DIR}" NORMALIZE)
    execute_process(COMMAND "${CMAKE_COMMAND}" -E make_directory "${candidate}" RESULT_VARIABLE failed ERROR_QUIET)
    execute_process(COMMAND "${CMAKE_COMMAND}" -E touch "${candidate}/lock" RESULT_VARIABLE not_writable ERROR_QUIET)
    if(NOT failed AND NOT not_writable)
      set(${out} "${candidate}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(fallback "${CMAKE_BINARY_DIR}/_deps/profgate")
  file(MAKE_DIRECTORY "${fallback}")
  set(${out} "${fallback}" PARENT_SCOPE)
endfunction()

# profgate_cache_scratch(<cache> <out variable>)
#
# A new empty folder inside the cache, on the same file system as the final place, to be renamed or removed.
function(profgate_cache_scratch cache out)
  string(RANDOM LENGTH 12 suffix)
  set(scratch "${cache}/partial-${suffix}")
  file(MAKE_DIRECTORY "${scratch}")
  set(${out} "${scratch}" PARENT_SCOPE)
endfunction()
