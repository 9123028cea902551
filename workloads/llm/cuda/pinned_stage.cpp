#include "pinned_stage.h"

#include "check.h"

namespace profgate::llm::cuda {

pinned_stage::pinned_stage() {
  PROFGATE_CUDA(cudaEventCreateWithFlags(&m_was_read, cudaEventDisableTiming));
}

pinned_stage::~pinned_stage() {
  cudaEventSynchronize(m_was_read);
  cudaEventDestroy(m_was_read);
  cudaFreeHost(m_bytes);
}

std::byte* pinned_stage::open(std::size_t bytes) {
  PROFGATE_CUDA(cudaEventSynchronize(m_was_read));  // never recorded: returns at once
  if (m_size < bytes) {
    PROFGATE_CUDA(cudaFreeHost(m_bytes));
    m_bytes = nullptr;
    m_size = 0;
    void* memory = nullptr;
    PROFGATE_CUDA(cudaMallocHost(&memory, bytes));
    m_bytes = static_cast<std::byte*>(memory);
    m_size = bytes;
  }
  return m_bytes;
}

void pinned_stage::close(cudaStream_t stream) {
  PROFGATE_CUDA(cudaEventRecord(m_was_read, stream));
}

}  // namespace profgate::llm::cuda
