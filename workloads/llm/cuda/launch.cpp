#include "launch.h"

#include "fill.h"

namespace profgate::llm::cuda {

queue open_queue() {
  int device = 0;
  cudaDeviceProp properties{};
  PROFGATE_CUDA(cudaGetDevice(&device));
  PROFGATE_CUDA(cudaGetDeviceProperties(&properties, device));
  queue to;
  to.multiprocessors = properties.multiProcessorCount;
  to.shared_bytes = properties.sharedMemPerBlockOptin;
  to.overlap = properties.major >= 9 && compiled_for_overlap();
  to.clusters = to.overlap;  // the same capability, and code for it
  to.warpgroups = properties.major == 9 && properties.minor == 0;
  PROFGATE_CUDA(cudaStreamCreateWithFlags(&to.stream, cudaStreamNonBlocking));
  return to;
}

}  // namespace profgate::llm::cuda
