include_guard(GLOBAL)

# profgate_dependency_row(<name> <version> <origin>)
#
# Adds one line to the table that the configure prints at its end.
function(profgate_dependency_row name version origin)
  if(version STREQUAL "")
    set(version "-")
  endif()
  foreach(column name version)
    string(LENGTH "${${column}}" length)
    math(EXPR missing "12 - ${length}")
    if(missing GREATER 0)
      string(REPEAT " " ${missing} padding)
      string(APPEND ${column} "${padding}")
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY PROFGATE_DEPENDENCY_ROWS "  ${name} ${version} ${origin}")
endfunction()

# profgate_print_dependency_table()
#
# One table of what was found, and where it came from.
function(profgate_print_dependency_table)
  get_property(rows GLOBAL PROPERTY PROFGATE_DEPENDENCY_ROWS)
  list(JOIN rows "\n" text)
  message(STATUS "profgate ${PROJECT_VERSION} is built with\n  dependency   version      where it came from\n${text}")
endfunction()
