#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace profgate::llm::cuda {

/// Pinned memory of the host, from which the GPU reads while the host goes on.
class pinned_stage {
 public:
  pinned_stage();
  pinned_stage(const pinned_stage&) = delete;
  pinned_stage& operator=(const pinned_stage&) = delete;
  ~pinned_stage();

  /// Room for so many bytes, to be written anew: waits until what was there before has been read.
  std::byte* open(std::size_t bytes);
  /// All copies from it have been queued.
  void close(cudaStream_t stream);

 private:
  std::byte* m_bytes = nullptr;
  std::size_t m_size = 0;
  cudaEvent_t m_was_read = nullptr;
};

}  // namespace profgate::llm::cuda
