#include "cupti_library.h"

#include <dlfcn.h>
#include <glob.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "collector/cupti_places.h"

namespace profgate::collector {
namespace {

void* open_library(const char* path, int more_flags = 0) {
  // Local: the traced program must not find CUPTI's symbols where it has none of its own.
  return dlopen(path, RTLD_NOW | RTLD_LOCAL | more_flags);
}

/// The last match that loads: the newest, since glob() sorts.
void* open_match(const char* pattern) {
  glob_t found{};
  void* handle = nullptr;
  if (glob(pattern, 0, nullptr, &found) == 0) {
    for (std::size_t i = found.gl_pathc; i > 0 && handle == nullptr; --i) {
      handle = open_library(found.gl_pathv[i - 1]);
    }
  }
  globfree(&found);
  return handle;
}

void* open_in_toolkit(const char* toolkit) {
  if (toolkit == nullptr || *toolkit == '\0') return nullptr;
  for (const char* folder : cupti_toolkit_folders) {
    for (const char* name : cupti_names) {
      char pattern[1024];
      std::snprintf(pattern, sizeof pattern, "%s/%s/%s", toolkit, folder, name);
      if (void* const handle = open_match(pattern)) return handle;
    }
  }
  return nullptr;
}

void* find_library() {
  // One that the program has loaded itself must be taken: two CUPTIs in a process do not see each other.
  for (const char* name : cupti_names) {
    if (void* const handle = open_library(name, RTLD_NOLOAD)) return handle;
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (void* const handle = open_in_toolkit(std::getenv(variable))) return handle;
  }
  for (const char* name : cupti_names) {
    if (void* const handle = open_library(name)) return handle;
  }
  for (const char* toolkit : cupti_toolkits) {
    if (void* const handle = open_in_toolkit(toolkit)) return handle;
  }
  for (const char* pattern : cupti_tool_patterns) {
    if (void* const handle = open_match(pattern)) return handle;
  }
  return nullptr;
}

template <typename function>
bool take(void* handle, const char* name, function*& place) {
  place = reinterpret_cast<function*>(dlsym(handle, name));
  return place != nullptr;
}

}  // namespace

bool cupti_library::load(char* problem, std::size_t capacity) {
  const char* const asked = std::getenv(cupti_variable);
  void* handle = nullptr;
  if (asked != nullptr && *asked != '\0') {
    if (std::strcmp(asked, "none") == 0) {
      std::snprintf(problem, capacity, "CUPTI is hidden by %s=none", cupti_variable);
      return false;
    }
    handle = open_library(asked);
    if (handle == nullptr) {
      std::snprintf(problem, capacity, "%s=%s cannot be loaded: %s", cupti_variable, asked, dlerror());
      return false;
    }
  } else {
    handle = find_library();
  }
  if (handle == nullptr) {
    std::snprintf(
        problem, capacity,
        "no libcupti.so.13 or .12 was found in LD_LIBRARY_PATH, CUDA_HOME, /usr/local/cuda or beside "
        "the Nsight tools (name it in %s)",
        cupti_variable);
    return false;
  }
  return take_functions(handle, problem, capacity);
}

bool cupti_library::take_functions(void* handle, char* problem, std::size_t capacity) {
  const char* missing = nullptr;
  const auto need = [&](const char* name, auto& place) {
    if (!take(handle, name, place)) missing = name;
  };
  need("cuptiGetVersion", get_version);
  need("cuptiGetResultString", get_result_string);
  need("cuptiSubscribe", subscribe);
  need("cuptiSetThreadIdType", set_thread_id_type);
  need("cuptiActivityRegisterTimestampCallback", register_timestamp_callback);
  need("cuptiActivityRegisterCallbacks", register_callbacks);
  need("cuptiActivitySetAttribute", set_attribute);
  need("cuptiActivityEnable", enable);
  need("cuptiActivityFlushAll", flush_all);
  need("cuptiActivityGetNextRecord", get_next_record);
  need("cuptiActivityGetNumDroppedRecords", get_dropped_count);
  need("cuptiGetCallbackName", get_callback_name);
  take(handle, "cuptiActivityFlushPeriod", flush_period);
  take(handle, "cuptiActivityEnableRuntimeApi", enable_runtime_api);
  take(handle, "cuptiActivityEnableDriverApi", enable_driver_api);
  take(handle, "cuptiEnableCallback", enable_callback);
  take(handle, "cuptiGetGraphNodeId", get_graph_node_id);
  Dl_info info{};
  if (get_version != nullptr && dladdr(reinterpret_cast<void*>(get_version), &info) != 0) {
    std::snprintf(path, sizeof path, "%s", info.dli_fname);
  }
  if (missing != nullptr) {
    std::snprintf(problem, capacity, "%s has no %s: it is older than CUDA 12", path, missing);
    return false;
  }
  return true;
}

}  // namespace profgate::collector
