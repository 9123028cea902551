#include "cublaslt.h"

#include <dlfcn.h>

#include <string>

#include "llm/failure.h"

namespace profgate::llm::cuda {
namespace {

void* open_library() {
  // As the system finds it, then as the build did.
  constexpr const char* names[] = {"libcublasLt.so." PROFGATE_CUDA_MAJOR, PROFGATE_CUBLASLT_PATH};
  std::string reason;
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    reason = dlerror();
  }
  throw not_possible("cuBLASLt cannot be loaded, so no CUDA product can be computed: " + reason);
}

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr)
    throw not_possible(std::string("cuBLASLt has no ") + name + ", so no CUDA product can be computed");
}

cublaslt load() {
  void* library = open_library();  // stays open as long as the program runs
  cublaslt functions{};
  find(library, "cublasLtCreate", functions.create);
  find(library, "cublasLtDestroy", functions.destroy);
  find(library, "cublasLtGetStatusString", functions.status_string);
  find(library, "cublasLtGetVersion", functions.version);
  find(library, "cublasLtMatmul", functions.matmul);
  find(library, "cublasLtMatmulAlgoGetHeuristic", functions.algo_get_heuristic);
  find(library, "cublasLtMatmulDescCreate", functions.desc_create);
  find(library, "cublasLtMatmulDescDestroy", functions.desc_destroy);
  find(library, "cublasLtMatmulDescSetAttribute", functions.desc_set_attribute);
  find(library, "cublasLtMatmulPreferenceCreate", functions.preference_create);
  find(library, "cublasLtMatmulPreferenceDestroy", functions.preference_destroy);
  find(library, "cublasLtMatmulPreferenceSetAttribute", functions.preference_set_attribute);
  find(library, "cublasLtMatrixLayoutCreate", functions.layout_create);
  find(library, "cublasLtMatrixLayoutDestroy", functions.layout_destroy);
  return functions;
}

}  // namespace

const cublaslt& load_cublaslt() {
  static const cublaslt functions = load();
  return functions;
}

}  // namespace profgate::llm::cuda
