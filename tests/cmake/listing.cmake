# cmake -DPROFGATE_SOURCE_DIR=... -DFOLDER=<scratch> -DCTEST=<ctest> -P listing.cmake
#
# Registers two pairs and reads back, as an IDE would, what CTest knows of them: exactly seven tests each, with their
# fixtures, labels, locks and timeouts; asking for the gate alone pulls all seven.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/mini_project.cmake")

function(expect what actual expected)
  if(NOT actual STREQUAL expected)
    message(FATAL_ERROR "${what}:\n  expected ${expected}\n  but got  ${actual}")
  endif()
endfunction()

# The value of a test's property as CTest's JSON has it: an array becomes a list, nothing becomes "".
function(test_property test property out)
  set(${out} "" PARENT_SCOPE)
  string(JSON count LENGTH "${test}" properties)
  math(EXPR last "${count} - 1")
  foreach(index RANGE ${last})
    string(JSON name GET "${test}" properties ${index} name)
    if(name STREQUAL property)
      string(JSON type TYPE "${test}" properties ${index} value)
      string(JSON value GET "${test}" properties ${index} value)
      if(type STREQUAL "ARRAY")
        string(JSON length LENGTH "${value}")
        set(items "")
        math(EXPR last_item "${length} - 1")
        foreach(item RANGE ${last_item})
          string(JSON text GET "${value}" ${item})
          list(APPEND items "${text}")
        endforeach()
        set(value "${items}")
      endif()
      set(${out} "${value}" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

profgate_configure_mini_project("${FOLDER}" [[
profgate_add_workload(NAME llama-3.1-8b ENGINE llm MODEL llm/llama-tiny CONFIGS decode-b1 OVERRIDES run.mode=light)
profgate_add_workload(NAME mine COMMAND false "two words" "quote\" and \\ and\ttab" "" "a;b" CONFIGS smoke TIMEOUT 60
                      ADAPTER pytorch)
]] result output)
expect("configure of ${FOLDER}: ${output}" "${result}" 0)
execute_process(COMMAND "${CTEST}" --test-dir "${FOLDER}/build" --show-only=json-v1
  OUTPUT_VARIABLE listing RESULT_VARIABLE result)
expect("ctest --show-only=json-v1" "${result}" 0)

set(fixture profgate.llama-3.1-8b.decode-b1)
set(setups "${fixture}.prepare,${fixture}.stage1,${fixture}.timeline,${fixture}.counters")
# CTest sorts what it lists.
set(rows  # step | setup of | requires | cleanup of | locks
  "prepare|${fixture}.prepare|||"
  "stage1|${fixture}.stage1|${fixture}.prepare||profgate-measure"
  "timeline|${fixture}.timeline|${fixture}.stage1||nsys,profgate-measure"
  "counters|${fixture}.counters|${fixture}.timeline||profgate-measure"
  "|${fixture}.report|${setups}||"
  "gate||${fixture}.report||profgate-measure"
  "prune|||${setups},${fixture}.report|")
string(JSON count LENGTH "${listing}" tests)
expect("number of tests of two pairs" "${count}" 14)
set(index 0)
foreach(row IN LISTS rows)
  string(REPLACE "|" ";" row "${row}")
  list(GET row 0 step)
  set(expected_name "stage2.llama-3.1-8b.decode-b1")
  set(command_step report)
  if(step)
    string(APPEND expected_name ".${step}")
    set(command_step ${step})
  endif()
  string(JSON test GET "${listing}" tests ${index})
  string(JSON name GET "${test}" name)
  expect("name of test ${index}" "${name}" "${expected_name}")
  set(column 1)
  foreach(property FIXTURES_SETUP FIXTURES_REQUIRED FIXTURES_CLEANUP RESOURCE_LOCK)
    list(GET row ${column} expected)
    string(REPLACE "," ";" expected "${expected}")
    list(SORT expected)
    test_property("${test}" ${property} actual)
    expect("${property} of ${name}" "${actual}" "${expected}")
    math(EXPR column "${column} + 1")
  endforeach()
  test_property("${test}" LABELS labels)
  expect("LABELS of ${name}" "${labels}" "decode-b1;gpu;llama-3.1-8b;stage2")
  test_property("${test}" SKIP_RETURN_CODE code)
  expect("SKIP_RETURN_CODE of ${name}" "${code}" 77)
  test_property("${test}" TIMEOUT timeout)
  expect("TIMEOUT of ${name}" "${timeout}" "1800.0")
  string(JSON words GET "${test}" command)
  string(JSON actual_step GET "${words}" 2)
  expect("step of ${name}" "${actual_step}" "${command_step}")
  math(EXPR index "${index} + 1")
endforeach()
string(JSON test GET "${listing}" tests 7)
test_property("${test}" LABELS labels)
expect("LABELS of the second pair" "${labels}" "cpu;mine;smoke;stage2")
test_property("${test}" TIMEOUT timeout)
expect("TIMEOUT of the second pair" "${timeout}" "60.0")

execute_process(COMMAND "${CTEST}" --test-dir "${FOLDER}/build" -R "^stage2\\.mine\\.smoke\\.gate$"
  OUTPUT_VARIABLE output RESULT_VARIABLE result)
if(NOT output MATCHES "100% tests passed.* out of 7")
  message(FATAL_ERROR "asking for the gate must run all seven tests of the pair:\n${output}")
endif()

file(READ "${FOLDER}/build/profgate/pairs/mine.smoke.json" manifest)
string(JSON override GET "${manifest}" overrides 0)
expect("what ADAPTER becomes" "${override}" "workload.adapter=pytorch")
string(JSON words GET "${manifest}" command)
foreach(expected "false" "two words" "quote\" and \\ and\ttab" "" "a;b")
  string(JSON actual GET "${words}" 0)
  string(JSON words REMOVE "${words}" 0)
  expect("word of the command" "${actual}" "${expected}")
endforeach()
expect("words after the last" "${words}" "[]")
string(JSON has_placeholders GET "${manifest}" command_has_placeholders)
expect("command_has_placeholders" "${has_placeholders}" OFF)
file(READ "${FOLDER}/build/profgate/pairs/llama-3.1-8b.decode-b1.json" manifest)
foreach(field_and_value pair=llama-3.1-8b.decode-b1 model=llama-3.1-8b config=decode-b1 device=cuda engine=llm
        model_choice=llm/llama-tiny workload_choice=decode-b1 command_has_placeholders=ON project_dir=${FOLDER}
        working_directory=${FOLDER}/build profgate_version=1.2.3 schema_version=1)
  string(REGEX MATCH "^([a-z_]+)=(.*)$" matched "${field_and_value}")
  set(expected "${CMAKE_MATCH_2}")
  string(JSON actual GET "${manifest}" ${CMAKE_MATCH_1})
  expect("${CMAKE_MATCH_1} of the manifest" "${actual}" "${expected}")
endforeach()

# A pair that is registered no more leaves the folder at the next configure.
file(READ "${FOLDER}/CMakeLists.txt" project)
string(REPLACE "profgate_add_workload(NAME mine" "#" project "${project}")
file(WRITE "${FOLDER}/CMakeLists.txt" "${project}")
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${FOLDER}" -B "${FOLDER}/build" OUTPUT_QUIET RESULT_VARIABLE result)
file(GLOB manifests RELATIVE "${FOLDER}/build/profgate/pairs" "${FOLDER}/build/profgate/pairs/*")
expect("manifests after a pair was removed" "${manifests}" "llama-3.1-8b.decode-b1.json")
file(REMOVE_RECURSE "${FOLDER}")
