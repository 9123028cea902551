# profgate_configure_mini_project(<folder> <statements> <out result> <out output>)
#
# Configures, in <folder>, a project without languages that includes the API and runs <statements>. Its profgate is a
# program that does nothing, so that a pair can be registered and listed without building anything.
function(profgate_configure_mini_project folder statements out_result out_output)
  file(REMOVE_RECURSE "${folder}")
  file(WRITE "${folder}/conf/workload/smoke.yaml" "device: cpu\nprompt_tokens: 8\n")
  file(WRITE "${folder}/conf/workload/decode-b1.yaml" "# on the GPU\ndevice: cuda\n")
  file(WRITE "${folder}/conf/workload/no-device.yaml" "prompt_tokens: 8\n")
  file(WRITE "${folder}/conf/model/llm/llama-tiny.yaml" "name: llama-tiny\n")
  find_program(nothing NAMES true REQUIRED NO_CACHE)
  file(WRITE "${folder}/CMakeLists.txt" "\
cmake_minimum_required(VERSION 3.25)
project(mini LANGUAGES NONE)
enable_testing()
foreach(program profgate llm)
  add_executable(profgate::\${program} IMPORTED)
  set_target_properties(profgate::\${program} PROPERTIES IMPORTED_LOCATION \"${nothing}\")
endforeach()
set_property(GLOBAL PROPERTY PROFGATE_CONF_DIR \"${folder}/profgate-conf\")
set_property(GLOBAL PROPERTY PROFGATE_LLM_DRIVER profgate::llm)
set_property(GLOBAL PROPERTY PROFGATE_VERSION 1.2.3)
include(\"${PROFGATE_SOURCE_DIR}/cmake/ProfgateAddWorkload.cmake\")
${statements}
")
  execute_process(COMMAND "${CMAKE_COMMAND}" -G Ninja -S "${folder}" -B "${folder}/build"
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(${out_result} "${result}" PARENT_SCOPE)
  set(${out_output} "${output}" PARENT_SCOPE)
endfunction()
