include_guard(GLOBAL)

# profgate_output_folder(<build folder> <out folder> <out folders>)
#
# Where things of the configuration that is built go, as an expression for the generator, and all those folders:
# <build folder> itself, or one below it for each configuration where the generator has several.
function(profgate_output_folder build_dir out_folder out_folders)
  get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  set(folder "${build_dir}")
  set(folders "${build_dir}")
  if(is_multi_config)
    set(folder "${build_dir}/$<CONFIG>")
    list(TRANSFORM CMAKE_CONFIGURATION_TYPES PREPEND "${build_dir}/" OUTPUT_VARIABLE folders)
  endif()
  set(${out_folder} "${folder}" PARENT_SCOPE)
  set(${out_folders} "${folders}" PARENT_SCOPE)
endfunction()

# profgate_json_string(<out variable> <text>)
#
# <text> as a JSON string with its quotes. Generator expressions pass through unharmed.
function(profgate_json_string out text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  foreach(code RANGE 1 31)
    string(ASCII ${code} character)
    math(EXPR hexadecimal "${code} + 256" OUTPUT_FORMAT HEXADECIMAL)  # 0x101 to 0x11f: two digits to cut off
    string(SUBSTRING "${hexadecimal}" 3 2 digits)
    string(REPLACE "${character}" "\\u00${digits}" text "${text}")
  endforeach()
  set(${out} "\"${text}\"" PARENT_SCOPE)
endfunction()

function(_profgate_json_string_or_null out text)
  if(text STREQUAL "")
    set(text null)
  else()
    profgate_json_string(text "${text}")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# profgate_json_array(<out variable> <list variable>)
#
# The list as a JSON array of strings. Taken by name: empty words, and semicolons within words, survive.
function(profgate_json_array out list)
  set(items "")
  set(separator "")
  foreach(text IN LISTS ${list})
    profgate_json_string(item "${text}")
    string(APPEND items "${separator}${item}")
    set(separator ", ")
  endforeach()
  set(${out} "[${items}]" PARENT_SCOPE)
endfunction()

# profgate_write_workload_manifest(<file> <pair> <config> <device>)
#
# Writes what the steps of one pair need to know, when the build system is generated. Reads the arg_* and conf_dirs of
# profgate_add_workload.
function(profgate_write_workload_manifest file pair config device)
  set(engine null)
  set(model_choice null)
  if(DEFINED arg_ENGINE)
    profgate_json_string(engine "${arg_ENGINE}")
    profgate_json_string(model_choice "${arg_MODEL}")
    get_property(driver GLOBAL PROPERTY PROFGATE_LLM_DRIVER)
    set_property(GLOBAL APPEND PROPERTY PROFGATE_WORKLOAD_TARGETS ${driver})
    set(arg_COMMAND "$<TARGET_FILE:${driver}>" --config {config} --mode {mode} --result {result})
  endif()
  profgate_json_array(command arg_COMMAND)
  list(GET arg_COMMAND 0 program)
  if(TARGET "${program}")
    set_property(GLOBAL APPEND PROPERTY PROFGATE_WORKLOAD_TARGETS ${program})
    set(program "$<TARGET_FILE:${program}>")
  elseif(program MATCHES "/" AND NOT program MATCHES "^\\$<")
    cmake_path(ABSOLUTE_PATH program BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  endif()
  profgate_json_string(program "${program}")
  string(JSON command SET "${command}" 0 "${program}")
  set(has_placeholders false)
  if(command MATCHES "{(config|mode|result)}")
    set(has_placeholders true)
  endif()
  profgate_json_array(overrides_json arg_OVERRIDES)
  profgate_json_array(conf_dirs_json conf_dirs)

  set(language C)
  if(CMAKE_CXX_COMPILER_ID)
    set(language CXX)
  endif()
  get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  set(build_type "${CMAKE_BUILD_TYPE}")
  string(TOUPPER "${build_type}" upper_type)
  string(STRIP "${CMAKE_${language}_FLAGS} ${CMAKE_${language}_FLAGS_${upper_type}}" flags)
  if(is_multi_config)
    set(build_type "$<CONFIG>")
    string(REGEX REPLACE "(.)$" "\\1 " flags "${CMAKE_${language}_FLAGS}")
    foreach(type IN LISTS CMAKE_CONFIGURATION_TYPES)
      string(TOUPPER "${type}" upper_type)
      string(APPEND flags "$<$<CONFIG:${type}>:${CMAKE_${language}_FLAGS_${upper_type}}>")
    endforeach()
  endif()
  get_property(profgate_version GLOBAL PROPERTY PROFGATE_VERSION)
  foreach(field pair config device flags)
    profgate_json_string(${field}_json "${${field}}")
  endforeach()
  profgate_json_string(model_json "${arg_NAME}")
  profgate_json_string(working_directory_json "${arg_WORKING_DIRECTORY}")
  profgate_json_string(project_dir_json "${PROJECT_SOURCE_DIR}")
  string(REGEX REPLACE "/profgate/pairs/[^/]*$" "" build_dir "${file}")
  profgate_json_string(build_dir_json "${build_dir}")
  _profgate_json_string_or_null(build_type_json "${build_type}")
  _profgate_json_string_or_null(compiler_json "${CMAKE_${language}_COMPILER_ID}")
  _profgate_json_string_or_null(compiler_version_json "${CMAKE_${language}_COMPILER_VERSION}")
  profgate_json_string(profgate_version_json "${profgate_version}")

  file(GENERATE OUTPUT "${file}" CONTENT "{
  \"schema_version\": 1,
  \"pair\": ${pair_json},
  \"model\": ${model_json},
  \"config\": ${config_json},
  \"device\": ${device_json},
  \"engine\": ${engine},
  \"model_choice\": ${model_choice},
  \"workload_choice\": ${config_json},
  \"command\": ${command},
  \"command_has_placeholders\": ${has_placeholders},
  \"working_directory\": ${working_directory_json},
  \"project_dir\": ${project_dir_json},
  \"build_dir\": ${build_dir_json},
  \"conf_dirs\": ${conf_dirs_json},
  \"overrides\": ${overrides_json},
  \"build\": {
    \"type\": ${build_type_json},
    \"compiler\": ${compiler_json},
    \"compiler_version\": ${compiler_version_json},
    \"flags\": ${flags_json}
  },
  \"profgate_version\": ${profgate_version_json}
}
")
endfunction()

# profgate_remove_stale_manifests()
#
# Removes the manifests of pairs that were registered by an earlier configure only: `profgate list` reads the folder.
function(profgate_remove_stale_manifests)
  get_property(pairs GLOBAL PROPERTY PROFGATE_PAIRS)
  profgate_output_folder("${CMAKE_BINARY_DIR}" ignored folders)
  foreach(folder IN LISTS folders)
    file(GLOB manifests "${folder}/profgate/pairs/*.json")
    foreach(manifest IN LISTS manifests)
      cmake_path(GET manifest STEM LAST_ONLY pair)
      if(NOT pair IN_LIST pairs)
        file(REMOVE "${manifest}")
      endif()
    endforeach()
  endforeach()
endfunction()
