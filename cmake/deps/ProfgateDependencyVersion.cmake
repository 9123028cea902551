include_guard(GLOBAL)

# profgate_dependency_version(<name> <include dir> <out variable>)
#
# The version of what was found: from the .pc file of the same installation, else by the pin's VERSION_PATTERN from
# its first header, else empty.
function(profgate_dependency_version name include_dir out)
  set(pin PROFGATE_PIN_${name})
  set(${out} "" PARENT_SCOPE)
  cmake_path(GET include_dir PARENT_PATH prefix)
  if(${pin}_PKG_CONFIG)
    unset(pc_file)
    find_file(pc_file NAMES ${${pin}_PKG_CONFIG}.pc NO_CACHE NO_DEFAULT_PATH
      PATHS "${prefix}/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig" "${prefix}/lib/pkgconfig"
            "${prefix}/lib64/pkgconfig" "${prefix}/share/pkgconfig")
    if(pc_file)
      file(STRINGS "${pc_file}" line REGEX "^Version:" LIMIT_COUNT 1)
      string(REGEX REPLACE "^Version: *" "" version "${line}")
      set(${out} "${version}" PARENT_SCOPE)
    endif()
  elseif(${pin}_VERSION_PATTERN)
    list(GET ${pin}_HEADERS 0 header)
    file(READ "${include_dir}/${header}" text)
    if(text MATCHES "${${pin}_VERSION_PATTERN}")
      set(${out} "${CMAKE_MATCH_${CMAKE_MATCH_COUNT}}" PARENT_SCOPE)
    endif()
  endif()
endfunction()
