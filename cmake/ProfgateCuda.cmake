include_guard(GLOBAL)

# profgate_enable_cuda()
#
# Enables the CUDA language and finds cuBLASLt where PROFGATE_CUDA is on and a toolkit is new enough, and writes the
# table's row. PROFGATE_CUDA_FOUND says whether the CUDA parts are built; without them the CPU parts are built alone.
# A macro: a language is enabled for the scope that asks.
macro(profgate_enable_cuda)
  set(PROFGATE_CUDA_FOUND OFF)
  set(PROFGATE_CUDA_OLDEST 13.0)
  if(NOT PROFGATE_CUDA)
    profgate_dependency_row("CUDA" "off" "PROFGATE_CUDA is off: CPU parts only")
  else()
    find_program(PROFGATE_CUDA_COMPILER nvcc HINTS ENV CUDACXX ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin
      DOC "CUDA compiler; without one the CPU parts are built alone")
    _profgate_cuda_release(PROFGATE_CUDA_RELEASE)
    if(NOT PROFGATE_CUDA_RELEASE)
      profgate_dependency_row("CUDA" "none" "no CUDA compiler: CPU parts only")
    elseif(PROFGATE_CUDA_RELEASE VERSION_LESS PROFGATE_CUDA_OLDEST)
      profgate_dependency_row("CUDA" "${PROFGATE_CUDA_RELEASE}"
        "older than ${PROFGATE_CUDA_OLDEST}: CPU parts only (${PROFGATE_CUDA_COMPILER})")
    else()
      if(NOT CMAKE_CUDA_COMPILER)
        set(CMAKE_CUDA_COMPILER "${PROFGATE_CUDA_COMPILER}")
      endif()
      if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
        # Ampere and Hopper ready to run, and PTX for what comes after.
        set(CMAKE_CUDA_ARCHITECTURES "80-real;90" CACHE STRING "GPU architectures that are compiled for")
      endif()
      enable_language(CUDA)
      find_package(CUDAToolkit REQUIRED)
      if(TARGET CUDA::cublasLt)
        set(PROFGATE_CUDA_FOUND ON)
        profgate_dependency_row("CUDA" "${PROFGATE_CUDA_RELEASE}" "${PROFGATE_CUDA_COMPILER}")
      else()
        profgate_dependency_row("CUDA" "${PROFGATE_CUDA_RELEASE}" "the toolkit has no cuBLASLt: CPU parts only")
      endif()
    endif()
  endif()
endmacro()

# The compiler's release, such as 13.0; empty where there is none.
function(_profgate_cuda_release out)
  set(${out} "" PARENT_SCOPE)
  if(PROFGATE_CUDA_COMPILER)
    execute_process(COMMAND "${PROFGATE_CUDA_COMPILER}" --version OUTPUT_VARIABLE words ERROR_QUIET)
    if(words MATCHES "release ([0-9.]+)")
      set(${out} "${CMAKE_MATCH_1}" PARENT_SCOPE)
    endif()
  endif()
endfunction()

profgate_enable_cuda()
