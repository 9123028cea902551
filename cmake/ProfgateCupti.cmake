include_guard(GLOBAL)

# profgate_find_cupti()
#
# Finds the headers of CUPTI, with which the embedded collector is built to record GPU activity; the library itself is
# looked for when a traced program initialises CUDA. Makes the target profgate::deps::cupti (headers only) and writes
# the table's row; without the headers the collector records NVTX ranges alone and says so in its file.
function(profgate_find_cupti)
  find_path(PROFGATE_CUPTI_INCLUDE_DIR cupti.h HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda
    PATH_SUFFIXES include extras/CUPTI/include DOC "Folder of cupti.h; without one the collector records no GPU activity")
  find_path(PROFGATE_CUDA_INCLUDE_DIR cuda.h HINTS "${PROFGATE_CUPTI_INCLUDE_DIR}" ENV CUDA_HOME ENV CUDA_PATH
    /usr/local/cuda PATH_SUFFIXES include DOC "Folder of cuda.h, which cupti.h needs")
  mark_as_advanced(PROFGATE_CUPTI_INCLUDE_DIR PROFGATE_CUDA_INCLUDE_DIR)
  if(NOT PROFGATE_CUPTI_INCLUDE_DIR OR NOT PROFGATE_CUDA_INCLUDE_DIR)
    profgate_dependency_row("CUPTI" "none" "no cupti.h and cuda.h: the embedded collector records NVTX ranges only")
    return()
  endif()
  file(STRINGS "${PROFGATE_CUPTI_INCLUDE_DIR}/cupti_version.h" version REGEX "#define CUPTI_API_VERSION +[0-9]+")
  string(REGEX MATCH "[0-9]+$" version "${version}")
  # Activity records of these names and prefixes exist since CUDA 12.0 (which numbers its CUPTI 18).
  if(version LESS 18)
    profgate_dependency_row("CUPTI" "${version}" "too old: the embedded collector records NVTX ranges only")
    return()
  endif()
  add_library(profgate_deps_cupti INTERFACE)
  add_library(profgate::deps::cupti ALIAS profgate_deps_cupti)
  target_include_directories(profgate_deps_cupti SYSTEM INTERFACE
    "${PROFGATE_CUPTI_INCLUDE_DIR}" "${PROFGATE_CUDA_INCLUDE_DIR}")
  profgate_dependency_row("CUPTI" "${version}" "headers: ${PROFGATE_CUPTI_INCLUDE_DIR}")
endfunction()

profgate_find_cupti()
