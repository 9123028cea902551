include_guard(GLOBAL)

# profgate_find_dependency(<name> <root>)
#
# Looks for a pinned library under <root> (a prefix, an extracted Debian package or a source tree), or with an
# empty <root> where CMake looks for everything (the system, CMAKE_PREFIX_PATH). Sets in the caller's scope:
#   dependency_found        TRUE when all headers, and the libraries or the sources to build them, are there
#   dependency_includes     include directories
#   dependency_libraries    files to link
#   dependency_sources      sources to compile instead, where <root> is a source tree
#   dependency_problem      what was missing
#
# Nothing goes into CMake's cache: a package that is installed or purged between two configures is noticed.
function(profgate_find_dependency name root)
  set(pin PROFGATE_PIN_${name})
  set(dependency_found FALSE PARENT_SCOPE)
  set(dependency_sources "" PARENT_SCOPE)

  unset(include_dir)  # a value of the caller's would end the search before it starts
  unset(library_file)
  set(hints "")
  foreach(hint IN LISTS ${pin}_INCLUDE_HINTS)
    file(GLOB matches "${root}${hint}")
    list(APPEND hints ${matches})
  endforeach()
  set(includes "")
  foreach(header IN LISTS ${pin}_HEADERS)
    if(root)
      find_path(include_dir NAMES ${header} NO_CACHE NO_DEFAULT_PATH
        PATHS ${hints} "${root}" "${root}/usr"
        PATH_SUFFIXES include include/${CMAKE_LIBRARY_ARCHITECTURE} single_include c/include googletest/include
                      googlemock/include src)
    else()
      find_path(include_dir NAMES ${header} NO_CACHE PATHS ${hints})
    endif()
    if(NOT include_dir)
      set(dependency_problem "no ${header}" PARENT_SCOPE)
      return()
    endif()
    string(REGEX REPLACE "/$" "" include_dir "${include_dir}")
    list(APPEND includes "${include_dir}")
    unset(include_dir)
  endforeach()
  list(REMOVE_DUPLICATES includes)
  set(dependency_includes "${includes}" PARENT_SCOPE)

  set(sources "")
  if(root)
    foreach(pattern IN LISTS ${pin}_SOURCES)
      file(GLOB matches RELATIVE "${root}" "${root}/${pattern}")
      list(APPEND sources ${matches})
    endforeach()
    if(${pin}_SOURCES_EXCLUDED)
      # Relative to the tree: where it lies must not decide what is left out.
      list(FILTER sources EXCLUDE REGEX "${${pin}_SOURCES_EXCLUDED}")
    endif()
    list(TRANSFORM sources PREPEND "${root}/")
  endif()

  set(libraries "")
  foreach(library IN LISTS ${pin}_LIBRARIES)
    # Beside the header first, so that header and library stem from the same installation.
    list(GET includes 0 beside)
    cmake_path(GET beside PARENT_PATH beside)
    set(names lib${library}.a ${library} lib${library}.so.0)
    find_library(library_file NAMES ${names} NAMES_PER_DIR NO_CACHE NO_DEFAULT_PATH
      PATHS "${beside}/lib/${CMAKE_LIBRARY_ARCHITECTURE}" "${beside}/lib" "${beside}/lib64")
    if(NOT library_file AND NOT sources)
      find_library(library_file NAMES ${names} NAMES_PER_DIR NO_CACHE)
    endif()
    if(library_file)
      list(APPEND libraries "${library_file}")
    elseif(sources)
      set(libraries "")
      set(dependency_sources "${sources}" PARENT_SCOPE)
      break()
    else()
      set(dependency_problem "its header, but no lib${library}" PARENT_SCOPE)
      return()
    endif()
    unset(library_file)
  endforeach()
  set(dependency_libraries "${libraries}" PARENT_SCOPE)
  set(dependency_found TRUE PARENT_SCOPE)
endfunction()
