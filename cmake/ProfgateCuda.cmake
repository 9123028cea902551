include_guard(GLOBAL)

set(PROFGATE_CUDA_OLDEST 13.0)

# profgate_enable_cuda()
#
# Enables the CUDA language and finds cuBLASLt where PROFGATE_CUDA is on and a toolkit is new enough, and writes the
# table's row. PROFGATE_CUDA_FOUND says whether the CUDA parts are built; without them the CPU parts are built alone.
# CMAKE_CUDA_COMPILER and CUDACXX name a compiler; else nvcc is looked for. A macro: a language is enabled for the
# scope that asks.
macro(profgate_enable_cuda)
  set(PROFGATE_CUDA_FOUND OFF)
  _profgate_cuda_compiler(_profgate_compiler _profgate_release)
  if(NOT PROFGATE_CUDA)
    profgate_dependency_row("CUDA" "off" "PROFGATE_CUDA is off: CPU parts only")
  elseif(NOT _profgate_compiler)
    profgate_dependency_row("CUDA" "none" "no CUDA compiler: CPU parts only")
  elseif(NOT _profgate_release)
    profgate_dependency_row("CUDA" "-" "${_profgate_compiler} is no nvcc: CPU parts only")
  elseif(_profgate_release VERSION_LESS PROFGATE_CUDA_OLDEST)
    profgate_dependency_row("CUDA" "${_profgate_release}"
      "older than ${PROFGATE_CUDA_OLDEST}: CPU parts only (${_profgate_compiler})")
  else()
    if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
      set(CMAKE_CUDA_COMPILER "${_profgate_compiler}")
    endif()
    set(_profgate_choose_architectures FALSE)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
      set(_profgate_choose_architectures TRUE)
      set(CMAKE_CUDA_ARCHITECTURES 90-real)
    endif()
    enable_language(CUDA)
    if(_profgate_choose_architectures)
      # The GPUs that are here; Hopper alone where there is none. The preset package builds for every GPU.
      list(FILTER CMAKE_CUDA_ARCHITECTURES_NATIVE INCLUDE REGEX "^([89]|[0-9][0-9])[0-9]")  # the engine's oldest is 8.0
      if(CMAKE_CUDA_ARCHITECTURES_NATIVE)
        set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES_NATIVE})
      endif()
    endif()
    find_package(CUDAToolkit REQUIRED)
    if(TARGET CUDA::cublasLt)
      set(PROFGATE_CUDA_FOUND ON)
      list(JOIN CMAKE_CUDA_ARCHITECTURES " " _profgate_architectures)
      profgate_dependency_row("CUDA" "${_profgate_release}" "${_profgate_compiler}, for ${_profgate_architectures}")
    else()
      profgate_dependency_row("CUDA" "${_profgate_release}" "the toolkit has no cuBLASLt: CPU parts only")
    endif()
  endif()
endmacro()

# The compiler, and its release such as 13.0; each empty where there is none.
function(_profgate_cuda_compiler out_compiler out_release)
  set(compiler "${CMAKE_CUDA_COMPILER}")
  if(NOT compiler AND DEFINED ENV{CUDACXX})
    get_filename_component(compiler "$ENV{CUDACXX}" PROGRAM PROGRAM_ARGS ignored)  # as CMake reads it
  elseif(NOT compiler)
    find_program(PROFGATE_CUDA_COMPILER nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME /usr/local/cuda PATH_SUFFIXES bin
      DOC "CUDA compiler; without one the CPU parts are built alone")
    mark_as_advanced(PROFGATE_CUDA_COMPILER)
    if(PROFGATE_CUDA_COMPILER)
      set(compiler "${PROFGATE_CUDA_COMPILER}")
    endif()
  endif()
  set(release "")
  if(compiler)
    execute_process(COMMAND "${compiler}" --version OUTPUT_VARIABLE words ERROR_QUIET RESULT_VARIABLE failed)
    if(words MATCHES "release ([0-9.]+)")
      set(release "${CMAKE_MATCH_1}")
    endif()
  endif()
  set(${out_compiler} "${compiler}" PARENT_SCOPE)
  set(${out_release} "${release}" PARENT_SCOPE)
endfunction()

profgate_enable_cuda()
