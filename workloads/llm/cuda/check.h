#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

namespace profgate::llm::cuda {

/// Throws failure (judged bad) with the call and the runtime's words: by then the device was there and the
/// memory was counted, so what fails is a fault.
void check(cudaError_t status, const char* call);
void check(cublasStatus_t status, const char* call);

}  // namespace profgate::llm::cuda

#define PROFGATE_CUDA(call) ::profgate::llm::cuda::check((call), #call)
