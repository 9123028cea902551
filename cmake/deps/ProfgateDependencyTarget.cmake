include_guard(GLOBAL)

# profgate_dependency_target(<name>)
#
# Makes the target profgate::deps::<name> from the dependency_* variables that profgate_find_dependency or
# profgate_fetch_dependency set. Sources, where there are any, become a static library that is built with ours.
function(profgate_dependency_target name)
  set(pin PROFGATE_PIN_${name})
  set(target profgate_deps_${name})
  add_library(${target} INTERFACE)
  add_library(profgate::deps::${name} ALIAS ${target})
  target_include_directories(${target} SYSTEM INTERFACE ${dependency_includes})
  target_compile_definitions(${target} INTERFACE ${${pin}_DEFINITIONS})
  if(dependency_sources)
    add_library(${target}_build STATIC EXCLUDE_FROM_ALL ${dependency_sources})
    set_target_properties(${target}_build PROPERTIES CXX_CLANG_TIDY "" CXX_STANDARD 20)
    list(TRANSFORM ${pin}_SOURCE_INCLUDES PREPEND "${dependency_root}/" OUTPUT_VARIABLE private_includes)
    target_include_directories(${target}_build SYSTEM PRIVATE ${dependency_includes} ${private_includes})
    target_compile_definitions(${target}_build PUBLIC ${${pin}_SOURCE_DEFINITIONS})
    target_link_libraries(${target} INTERFACE ${target}_build)
  endif()
  target_link_libraries(${target} INTERFACE ${dependency_libraries} ${${pin}_LINK})

  # A shared library out of the cache travels with the install tree; one of the system does not.
  profgate_dependency_cache(cache)
  foreach(library IN LISTS dependency_libraries)
    if(library MATCHES "\\.so" AND library MATCHES "^${cache}/")
      file(GLOB with_version "${library}*")
      set_property(GLOBAL APPEND PROPERTY PROFGATE_BUNDLED_LIBRARIES ${with_version})
    endif()
  endforeach()
endfunction()
