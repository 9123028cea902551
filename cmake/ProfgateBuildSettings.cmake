include_guard(GLOBAL)

# profgate_build_settings: what every target of ours compiles with. An interface target, so that a project
# that adds profgate as a subdirectory keeps its own flags.
add_library(profgate_build_settings INTERFACE)
target_compile_features(profgate_build_settings INTERFACE cxx_std_20)
target_compile_options(profgate_build_settings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wnon-virtual-dtor;-Wold-style-cast;-Wcast-qual;-Wconversion>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${PROFGATE_WARNINGS_AS_ERRORS}>>:-Werror>)
if(PROFGATE_SANITIZE)
  target_compile_options(profgate_build_settings INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined;-fno-sanitize-recover=all;-fno-omit-frame-pointer>)
  target_link_options(profgate_build_settings INTERFACE -fsanitize=address,undefined)
endif()
if(PROFGATE_TIDY)
  find_program(PROFGATE_CLANG_TIDY clang-tidy REQUIRED)
  set(CMAKE_CXX_CLANG_TIDY "${PROFGATE_CLANG_TIDY};--quiet")
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
