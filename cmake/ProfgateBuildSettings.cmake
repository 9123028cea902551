include_guard(GLOBAL)

# Ninja starts two compilers more than there are cores. Where these are few, they push each other out of the caches: a
# tenth more time in all.
if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_JOB_POOL_COMPILE)
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  set_property(GLOBAL APPEND PROPERTY JOB_POOLS profgate_compile=${cores})
  set(CMAKE_JOB_POOL_COMPILE profgate_compile)
endif()

# profgate_build_settings: what every target of ours compiles with. An interface target, so that a project
# that adds profgate as a subdirectory keeps its own flags.
add_library(profgate_build_settings INTERFACE)
target_compile_features(profgate_build_settings INTERFACE cxx_std_20)
target_compile_options(profgate_build_settings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wnon-virtual-dtor;-Wold-style-cast;-Wcast-qual;-Wconversion>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${PROFGATE_WARNINGS_AS_ERRORS}>>:-Werror>
  # CMake 3.25 does not know that nvcc has C++20.
  $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;-Xcompiler=-Wall,-Wextra>
  "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${PROFGATE_WARNINGS_AS_ERRORS}>>:SHELL:-Werror all-warnings>")
# Targets of tests/ have it by the variable of this name.
define_property(TARGET PROPERTY PROFGATE_IS_TEST INITIALIZE_FROM_VARIABLE PROFGATE_IS_TEST)
define_property(TARGET PROPERTY PROFGATE_TAKES_BYTES_FOR_OBJECTS)
if(PROFGATE_SANITIZE OR PROFGATE_FUZZ)
  set(sanitizers "-fsanitize=address,undefined")
  if(PROFGATE_FUZZ AND PROFGATE_SANITIZE)
    # Which branches an input takes, and nothing of what it compares: a tenth more to compile, where all of it is twice.
    list(APPEND sanitizers "-fsanitize-coverage=inline-8bit-counters,pc-table")
  elseif(PROFGATE_FUZZ)
    string(APPEND sanitizers ",fuzzer-no-link")
  endif()
  target_compile_options(profgate_build_settings INTERFACE
    # What is sought lies in the product: its tests compile in two thirds of the time without.
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<BOOL:$<TARGET_PROPERTY:PROFGATE_IS_TEST>>>>:${sanitizers};-fno-sanitize-recover=all;-fno-omit-frame-pointer>
    # Whether a pointer is null or ill aligned is asked before each use of a member, a quarter of the time to compile: the
    # first ends under AddressSanitizer as well, the second comes of bytes that are taken for objects.
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<BOOL:$<TARGET_PROPERTY:PROFGATE_TAKES_BYTES_FOR_OBJECTS>>>>:-fno-sanitize=null,alignment>)
  target_link_options(profgate_build_settings INTERFACE ${sanitizers})
endif()
find_program(PROFGATE_LLD ld.lld)
if(PROFGATE_LLD)  # a fifth of the time to link; what is installed is left to the toolchain's own linker
  set(uses_lld "$<BOOL:$<TARGET_PROPERTY:PROFGATE_IS_TEST>>")
  if(PROFGATE_SANITIZE OR PROFGATE_FUZZ)
    set(uses_lld 1)
  endif()
  target_link_options(profgate_build_settings INTERFACE $<${uses_lld}:-fuse-ld=lld>)
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  else()
    set(CMAKE_BUILD_TYPE Release)  # here only: the type of the project around is its own business
  endif()
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
