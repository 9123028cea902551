include_guard(GLOBAL)

# profgate_private_apt(<kind> <cache> <out config> <out problem>)
#
# Prepares apt-get for use without root and without a trace on the machine: its own sources are copied, the package
# lists and the archive cache lie in <cache>, the machine's update hooks are off. <kind> says what the copy offers:
#   packages    what the machine's sources offer
#   nonfree     the same with the component of non-free software added
#   sources     source packages instead of binary ones
# The lists are fetched once a configure. <out config> is the file for `apt-get -c`; on failure <out problem> is set.
function(profgate_private_apt kind cache out_config out_problem)
  set(state "${cache}/apt-${kind}")
  set(config "${state}/apt.conf")
  set(${out_config} "${config}" PARENT_SCOPE)
  get_property(known GLOBAL PROPERTY PROFGATE_APT_${kind} SET)
  if(known)
    get_property(problem GLOBAL PROPERTY PROFGATE_APT_${kind})
    set(${out_problem} "${problem}" PARENT_SCOPE)
    return()
  endif()

  find_program(apt_get NAMES apt-get NO_CACHE)
  if(NOT apt_get)
    set(problem "this machine has no apt-get")
  else()
    file(REMOVE_RECURSE "${state}/sources.list.d")
    file(MAKE_DIRECTORY "${state}/sources.list.d" "${state}/lists/partial" "${state}/cache/archives/partial")
    file(TOUCH "${state}/sources.list")
    file(GLOB files /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources)
    foreach(file IN LISTS files)
      cmake_path(GET file FILENAME file_name)
      _profgate_copy_apt_source("${kind}" "${file}" "${state}/sources.list.d/${file_name}")
    endforeach()
    # Read after the machine's own settings, so it has the last word. Sandbox user: apt would drop to a user who
    # cannot read the cache of root.
    file(WRITE "${config}" "\
Dir::Etc::sourcelist \"${state}/sources.list\";
Dir::Etc::sourceparts \"${state}/sources.list.d\";
Dir::State::lists \"${state}/lists\";
Dir::Cache \"${state}/cache\";
APT::Sandbox::User \"root\";
Acquire::Languages \"none\";
Acquire::Retries \"1\";
Acquire::http::Timeout \"20\";
Acquire::https::Timeout \"20\";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
")
    message(STATUS "profgate: reading the package lists (${kind})")
    execute_process(COMMAND "${apt_get}" -q -c "${config}" update
      OUTPUT_FILE "${state}/log.txt" ERROR_FILE "${state}/log.txt" RESULT_VARIABLE failed TIMEOUT 300)
    # One source of several that does not answer is no reason to give up: the others may have the package.
    file(GLOB indexes "${state}/lists/*_Packages*" "${state}/lists/*_Sources*")
    set(problem "")
    if(failed AND NOT indexes)
      set(problem "apt-get update failed, see ${state}/log.txt")
    endif()
  endif()
  set_property(GLOBAL PROPERTY PROFGATE_APT_${kind} "${problem}")
  set(${out_problem} "${problem}" PARENT_SCOPE)
endfunction()

# Copies one file of apt's sources, in the stanza or in the one-line format, changed as <kind> asks.
function(_profgate_copy_apt_source kind from to)
  cmake_host_system_information(RESULT distribution QUERY DISTRIB_INFO)
  set(component non-free)
  if(distribution_ID STREQUAL "ubuntu")
    set(component multiverse)
  endif()
  if(from MATCHES "\\.sources$")
    file(READ "${from}" text)
    string(PREPEND text "\n")
    if(kind STREQUAL "sources")
      string(REGEX REPLACE "\nTypes:[^\n]*" "\nTypes: deb-src" text "${text}")
    elseif(kind STREQUAL "nonfree")
      string(REGEX REPLACE "\n(Components:[^\n]*)" "\n\\1 ${component}" text "${text}")
    endif()
  else()
    set(text "")
    file(STRINGS "${from}" lines REGEX "^deb[ \t]")
    foreach(line IN LISTS lines)
      if(kind STREQUAL "sources")
        string(REGEX REPLACE "^deb" "deb-src" line "${line}")
      elseif(kind STREQUAL "nonfree" AND NOT line MATCHES "/[ \t]*$")  # a line that ends in / has no components
        string(APPEND line " ${component}")
      endif()
      string(APPEND text "${line}\n")
    endforeach()
  endif()
  file(WRITE "${to}" "${text}")
endfunction()
