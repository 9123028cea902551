#include "check.h"

#include <string>

#include "cublaslt.h"
#include "llm/failure.h"

namespace profgate::llm::cuda {

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  if (status == cudaErrorNoKernelImageForDevice)
    throw bad_input(
        "profgate-llm was compiled for other GPUs than this one",
        "configure the build on this machine again, or with -DCMAKE_CUDA_ARCHITECTURES=<its compute "
        "capability without the dot>; the preset package compiles for all");
  throw judged_bad(std::string(call) + ": " + cudaGetErrorString(status),
                   "run the same command under compute-sanitizer; if the GPU hangs for other programs too, "
                   "look at dmesg for Xid errors");
}

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw judged_bad(std::string(call) + ": " + load_cublaslt().status_string(status),
                   "check that cuBLASLt and the driver belong together");
}

}  // namespace profgate::llm::cuda
