include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/ProfgateAfterCtest.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/ProfgateCheckWorkload.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/ProfgateWorkloadManifest.cmake)
cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL profgate_remove_stale_manifests)
cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL profgate_tell_after_ctest)

# profgate_add_workload(NAME <model>
#                       (ENGINE llm MODEL llm/<choice> | COMMAND <program> [<argument>...])
#                       CONFIGS <config>...
#                       [STAGES <range>...] [ADAPTER pytorch]
#                       [OVERRIDES <key>=<value>...] [TIMEOUT <seconds>]
#                       [CONF_DIR <folder>] [WORKING_DIRECTORY <folder>])
#
# Registers the pairs <model>.<config>: seven CTest tests each, which profile the workload and judge it.
#
#   NAME               the model's name: letters, digits, dot, underscore and hyphen
#   ENGINE, MODEL      profgate's own decoder, with the model description conf/model/<MODEL>.yaml
#   COMMAND            any program with NVTX ranges. Its first word is a target of this build, an absolute path, a path
#                      relative to the current source folder, or a program on PATH. The words may hold {config} {mode}
#                      {result}; without them the program runs as written.
#   CONFIGS            for each a description conf/workload/<config>.yaml, which says `device: cpu` or `device: cuda`; of
#                      profgate's own, cpu and gpu say no more than that
#   STAGES             NVTX ranges of COMMAND's program that are its stages, timed and judged; without them those of the
#                      config's YAML, and where it has none the whole process. Expressions and synchronised stages stand in the config's YAML: workload.stages
#   ADAPTER            what opens ranges in COMMAND's program, which stays as it is: workload.adapter
#   OVERRIDES          settings of these pairs only, e.g. run.mode=light
#   TIMEOUT            of each test, default 1800 seconds
#   CONF_DIR           the project's own conf folder, default ${PROJECT_SOURCE_DIR}/conf; profgate's comes after it
#   WORKING_DIRECTORY  of the program, default the current binary folder
#
# For P = <model>.<config> the tests are stage2.P.prepare, .stage1, .timeline, .counters, stage2.P itself, .gate and
# .prune. Each step requires the fixture of the one before; prune cleans up after all. They carry the labels stage2, <model>,
# <config> and gpu or cpu. The measuring steps hold the lock profgate-measure: never two at once, not under
# `ctest -j` either. When ctest has ended it says what became of each pair that it ran, and why steps were skipped. What a step needs to know is in <build>/profgate/pairs/P.json, or in <build>/<configuration>/… where
# the generator has several.
function(profgate_add_workload)
  set(single NAME ENGINE MODEL ADAPTER TIMEOUT CONF_DIR WORKING_DIRECTORY)
  set(multiple COMMAND CONFIGS STAGES OVERRIDES)
  set(words "${ARGV}")
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "${single}" "${multiple}")
  get_property(profgate_conf_dir GLOBAL PROPERTY PROFGATE_CONF_DIR)
  if(NOT DEFINED arg_CONF_DIR)
    set(arg_CONF_DIR "${PROJECT_SOURCE_DIR}/conf")
  endif()
  cmake_path(ABSOLUTE_PATH arg_CONF_DIR BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  set(conf_dirs "${arg_CONF_DIR}" "${profgate_conf_dir}")
  list(REMOVE_DUPLICATES conf_dirs)
  profgate_check_workload()
  if(DEFINED arg_STAGES)
    list(JOIN arg_STAGES ", " stages)
    list(PREPEND arg_OVERRIDES "workload.stages=[${stages}]")
  endif()
  if(DEFINED arg_ADAPTER)
    list(PREPEND arg_OVERRIDES "workload.adapter=${arg_ADAPTER}")
  endif()
  if(NOT DEFINED arg_TIMEOUT)
    set(arg_TIMEOUT 1800)
  endif()
  if(NOT DEFINED arg_WORKING_DIRECTORY)
    set(arg_WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  endif()
  cmake_path(ABSOLUTE_PATH arg_WORKING_DIRECTORY BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)

  foreach(config IN LISTS arg_CONFIGS)
    set(pair "${arg_NAME}.${config}")
    set_property(GLOBAL APPEND PROPERTY PROFGATE_PAIRS "${pair}")
    profgate_workload_device("${config}" device)
    profgate_output_folder("${CMAKE_BINARY_DIR}" folder ignored)
    set(manifest "${folder}/profgate/pairs/${pair}.json")
    profgate_write_workload_manifest("${manifest}" "${pair}" "${config}" "${device}")
    _profgate_add_pair_tests("${pair}" "${config}" "${device}" "${manifest}")
  endforeach()
endfunction()

# The seven tests of one pair; reads arg_NAME and arg_TIMEOUT of the caller.
function(_profgate_add_pair_tests pair config device manifest)
  set(kind cpu)
  if(device STREQUAL "cuda")
    set(kind gpu)
  endif()
  set(fixtures "")   # of all steps so far
  set(previous "")   # of the step before
  foreach(step prepare stage1 timeline counters report gate prune)
    set(test "stage2.${pair}.${step}")
    set(fixture "profgate.${pair}.${step}")
    if(step STREQUAL "report")
      set(test "stage2.${pair}")
      set(previous "${fixtures}")
    endif()
    add_test(NAME "${test}" COMMAND $<TARGET_FILE:profgate::profgate> step ${step} --manifest "${manifest}")
    set_tests_properties("${test}" PROPERTIES
      LABELS "stage2;${arg_NAME};${config};${kind}"
      SKIP_RETURN_CODE 77
      TIMEOUT ${arg_TIMEOUT})
    if(step STREQUAL "prune")
      # Of every fixture, so that it comes last whichever step was asked for.
      set_tests_properties("${test}" PROPERTIES FIXTURES_CLEANUP "${fixtures}")
    elseif(step STREQUAL "gate")
      set_tests_properties("${test}" PROPERTIES FIXTURES_REQUIRED "${previous}")
    else()
      set_tests_properties("${test}" PROPERTIES FIXTURES_SETUP "${fixture}" FIXTURES_REQUIRED "${previous}")
      list(APPEND fixtures "${fixture}")
      set(previous "${fixture}")
    endif()
  endforeach()
  # One measurement at a time on a machine, and one nsys: two that start together break each other.
  set_tests_properties("stage2.${pair}.stage1" "stage2.${pair}.counters" "stage2.${pair}.gate"
    PROPERTIES RESOURCE_LOCK profgate-measure)
  set_tests_properties("stage2.${pair}.timeline" PROPERTIES RESOURCE_LOCK "profgate-measure;nsys")
endfunction()
