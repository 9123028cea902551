include_guard(GLOBAL)
include(CMakePackageConfigHelpers)

# Where each program and module lies, below the build folder and below the install prefix alike: profgate finds the rest
# of itself relative to its own file, before and after an installation, and after the tree has been moved.
set(PROFGATE_PROGRAMS "profgate|bin" "profgate-llm|libexec/profgate" "profgate-probe|libexec/profgate"
                      "profgate-note-process|libexec/profgate"
                      "profgate_collector|lib/profgate" "profgate_pytorch_ranges|lib/profgate")

# profgate_arrange_programs()
#
# Gives the build folder the shape of the install tree, and the program the name that find_package gives it. A generator
# with several configurations has such a tree for each, in <build>/<configuration>.
function(profgate_arrange_programs)
  profgate_output_folder("${PROJECT_BINARY_DIR}" tree trees)
  foreach(program_and_folder IN LISTS PROFGATE_PROGRAMS)
    string(REGEX MATCH "^(.*)\\|(.*)$" matched "${program_and_folder}")
    set(target "${CMAKE_MATCH_1}")
    set(folder "${CMAKE_MATCH_2}")
    file(RELATIVE_PATH to_libraries "/${folder}" "/lib/profgate")
    set_target_properties(${target} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY "${tree}/${folder}"
      LIBRARY_OUTPUT_DIRECTORY "${tree}/${folder}"
      INSTALL_RPATH "$ORIGIN/${to_libraries}")
  endforeach()
  add_executable(profgate::profgate ALIAS profgate)
  foreach(folder IN LISTS trees)
    file(MAKE_DIRECTORY "${folder}/share/profgate")
    # Relative where the build folder lies in the sources: a copy of both uses its own.
    set(sources "${PROJECT_SOURCE_DIR}")
    file(REAL_PATH "${folder}/share/profgate" links)
    file(REAL_PATH "${PROJECT_SOURCE_DIR}" real_sources)
    cmake_path(IS_PREFIX real_sources "${links}" is_inside)
    if(is_inside)
      file(RELATIVE_PATH sources "${links}" "${real_sources}")
      string(REGEX REPLACE "/$" "" sources "${sources}")
    endif()
    foreach(data conf templates)
      file(CREATE_LINK "${sources}/${data}" "${folder}/share/profgate/${data}" SYMBOLIC)
    endforeach()
    file(CREATE_LINK "${sources}/workloads/pytorch" "${folder}/share/profgate/pytorch" SYMBOLIC)
  endforeach()
endfunction()

# profgate_install()
#
# The install rules: a relocatable tree with the programs, conf/, templates/, the PyTorch adapter and the CMake package.
function(profgate_install)
  foreach(program_and_folder IN LISTS PROFGATE_PROGRAMS)
    string(REGEX MATCH "^(.*)\\|(.*)$" matched "${program_and_folder}")
    install(TARGETS ${CMAKE_MATCH_1} RUNTIME DESTINATION ${CMAKE_MATCH_2} LIBRARY DESTINATION ${CMAKE_MATCH_2})
  endforeach()
  foreach(data conf templates)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/${data}" DESTINATION share/profgate OPTIONAL)
  endforeach()
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/workloads/pytorch" DESTINATION share/profgate
    FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
  get_property(bundled_libraries GLOBAL PROPERTY PROFGATE_BUNDLED_LIBRARIES)
  install(FILES ${bundled_libraries} DESTINATION lib/profgate)
  install(FILES "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/LICENSE"
    DESTINATION share/doc/profgate OPTIONAL)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION share/doc/profgate OPTIONAL)

  set(package "${PROJECT_BINARY_DIR}/package")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/profgateConfig.cmake.in" "${package}/profgateConfig.cmake" @ONLY)
  write_basic_package_version_file("${package}/profgateConfigVersion.cmake" COMPATIBILITY SameMinorVersion
    ARCH_INDEPENDENT)
  install(FILES
      "${package}/profgateConfig.cmake"
      "${package}/profgateConfigVersion.cmake"
      "${PROJECT_SOURCE_DIR}/cmake/ProfgateAddWorkload.cmake"
      "${PROJECT_SOURCE_DIR}/cmake/ProfgateAfterCtest.cmake"
      "${PROJECT_SOURCE_DIR}/cmake/ProfgateCheckWorkload.cmake"
      "${PROJECT_SOURCE_DIR}/cmake/ProfgateWorkloadManifest.cmake"
    DESTINATION lib/cmake/profgate)
endfunction()
