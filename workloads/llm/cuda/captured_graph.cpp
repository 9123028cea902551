#include "captured_graph.h"

#include <cuda.h>

#include <memory>

#include "check.h"
#include "llm/failure.h"

namespace profgate::llm::cuda {
namespace {

/// The driver's functions, without linking it: a build machine has none.
template <typename Function>
Function driver_function(const char* name) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found{};
  PROFGATE_CUDA(cudaGetDriverEntryPointByVersion(name, &entry, 12030, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess)
    throw judged_bad(std::string("the driver has no ") + name, "install a driver for CUDA 12.3 or newer");
  return reinterpret_cast<Function>(entry);
}

std::string kernel_name(const CUDA_KERNEL_NODE_PARAMS& launch) {
  static const auto of_kernel = driver_function<decltype(&cuKernelGetName)>("cuKernelGetName");
  static const auto of_function = driver_function<decltype(&cuFuncGetName)>("cuFuncGetName");
  const char* name = nullptr;
  const CUresult status =
      launch.kern != nullptr ? of_kernel(&name, launch.kern) : of_function(&name, launch.func);
  return status == CUDA_SUCCESS && name != nullptr ? name : "";
}

graph_map::node describe(cudaGraphNode_t node) {
  static const auto read =
      driver_function<decltype(&cuGraphKernelNodeGetParams)>("cuGraphKernelNodeGetParams");
  cudaGraphNodeType type{};
  PROFGATE_CUDA(cudaGraphNodeGetType(node, &type));
  if (type != cudaGraphNodeTypeKernel) return {};
  CUDA_KERNEL_NODE_PARAMS launch{};
  if (read(node, &launch) != CUDA_SUCCESS) return {};
  return {.op = "",
          .kernel = kernel_name(launch),
          .grid = {launch.gridDimX, launch.gridDimY, launch.gridDimZ},
          .block = {launch.blockDimX, launch.blockDimY, launch.blockDimZ}};
}

std::size_t node_count(cudaGraph_t graph) {
  std::size_t count = 0;
  PROFGATE_CUDA(cudaGraphGetNodes(graph, nullptr, &count));
  return count;
}

/// One stream makes a chain: from the only root each node has one successor.
std::vector<cudaGraphNode_t> chain_of(cudaGraph_t graph) {
  std::vector<cudaGraphNode_t> chain;
  std::size_t roots = 1;
  cudaGraphNode_t node = nullptr;
  PROFGATE_CUDA(cudaGraphGetRootNodes(graph, &node, &roots));
  while (node != nullptr) {
    chain.push_back(node);
    std::size_t successors = 0;
    PROFGATE_CUDA(cudaGraphNodeGetDependentNodes(node, nullptr, nullptr, &successors));
    if (successors == 0) break;
    if (successors > 1) throw judged_bad("the captured graph is no chain", "capture work of one stream only");
    // Asked with room for the edge's kind: overlapping launches have edges that are not plain.
    cudaGraphEdgeData edge{};
    PROFGATE_CUDA(cudaGraphNodeGetDependentNodes(node, &node, &edge, &successors));
  }
  return chain;
}

}  // namespace

void operator_recorder::operator_ends(const char* name) {
  cudaStreamCaptureStatus status{};
  cudaGraph_t graph = nullptr;
  PROFGATE_CUDA(cudaStreamGetCaptureInfo(m_stream, &status, nullptr, &graph, nullptr, nullptr, nullptr));
  m_ends.push_back({name, node_count(graph)});
}

captured_graph::captured_graph(const char* name, cudaStream_t stream,
                               const std::function<void(operator_recorder&)>& body) {
  operator_recorder recorder(stream);
  PROFGATE_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cudaGraph_t captured = nullptr;
  try {
    body(recorder);
  } catch (...) {  // a stream must not be left capturing
    cudaStreamEndCapture(stream, &captured);
    cudaGraphDestroy(captured);
    throw;
  }
  PROFGATE_CUDA(cudaStreamEndCapture(stream, &captured));
  const std::unique_ptr<CUgraph_st, decltype(&cudaGraphDestroy)> graph(captured, &cudaGraphDestroy);
  std::vector<graph_map::node> nodes;
  for (const auto& node : chain_of(graph.get())) nodes.push_back(describe(node));
  m_map = assign_operators(name, std::move(nodes), recorder.ends());
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
