#include "device_memory.h"

#include "check.h"

namespace profgate::llm::cuda {

device_memory::device_memory(std::size_t bytes) {
  void* memory = nullptr;
  PROFGATE_CUDA(cudaMalloc(&memory, bytes));
  m_bytes = static_cast<std::byte*>(memory);
}

device_memory::~device_memory() {
  cudaFree(m_bytes);  // of nothing: does nothing; a failure here was one before
}

}  // namespace profgate::llm::cuda
