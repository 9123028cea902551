#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace profgate::llm::cuda {

/// Kernels that are captured once and replayed. A profiler knows the ranges under which they were captured.
class captured_graph {
 public:
  /// body queues on stream; nothing runs.
  captured_graph(cudaStream_t stream, const std::function<void()>& body);
  ~captured_graph();
  captured_graph(const captured_graph&) = delete;
  captured_graph& operator=(const captured_graph&) = delete;

  void replay(cudaStream_t stream) const;

 private:
  cudaGraphExec_t m_executable = nullptr;
};

}  // namespace profgate::llm::cuda
