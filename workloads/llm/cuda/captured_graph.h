#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

#include "llm/graph_map.h"

namespace profgate::llm::cuda {

/// Notes during a capture where each operator's nodes end.
class operator_recorder {
 public:
  explicit operator_recorder(cudaStream_t stream) : m_stream(stream) {}
  void operator_ends(const char* name);
  const std::vector<operator_end>& ends() const { return m_ends; }

 private:
  cudaStream_t m_stream;
  std::vector<operator_end> m_ends;
};

/// A chain of kernels, captured once and replayed.
class captured_graph {
 public:
  /// body queues on stream and tells the recorder of every operator; nothing runs.
  captured_graph(const char* name, cudaStream_t stream, const std::function<void(operator_recorder&)>& body);
  ~captured_graph();
  captured_graph(const captured_graph&) = delete;
  captured_graph& operator=(const captured_graph&) = delete;

  void replay(cudaStream_t stream) const;
  const graph_map& map() const { return m_map; }

 private:
  cudaGraphExec_t m_executable = nullptr;
  graph_map m_map;
};

}  // namespace profgate::llm::cuda
