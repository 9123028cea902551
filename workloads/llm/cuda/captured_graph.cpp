#include "captured_graph.h"

#include <memory>

#include "check.h"

namespace profgate::llm::cuda {

captured_graph::captured_graph(cudaStream_t stream, const std::function<void()>& body) {
  PROFGATE_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cudaGraph_t captured = nullptr;
  try {
    body();
  } catch (...) {  // a stream must not be left capturing
    cudaStreamEndCapture(stream, &captured);
    cudaGraphDestroy(captured);
    throw;
  }
  PROFGATE_CUDA(cudaStreamEndCapture(stream, &captured));
  const std::unique_ptr<CUgraph_st, decltype(&cudaGraphDestroy)> graph(captured, &cudaGraphDestroy);
  PROFGATE_CUDA(cudaGraphInstantiate(&m_executable, graph.get(), 0));
  PROFGATE_CUDA(cudaGraphUpload(m_executable, stream));
}

captured_graph::~captured_graph() {
  cudaGraphExecDestroy(m_executable);
}

void captured_graph::replay(cudaStream_t stream) const {
  PROFGATE_CUDA(cudaGraphLaunch(m_executable, stream));
}

}  // namespace profgate::llm::cuda
