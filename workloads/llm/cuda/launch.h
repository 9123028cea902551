#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

#include "check.h"

namespace profgate::llm::cuda {

/// Where kernels go.
struct queue {
  cudaStream_t stream = nullptr;
  int multiprocessors = 1;
  std::size_t shared_bytes = 0;  ///< that one block may have at most
  /// A kernel may start while the one before it drains: it waits for it by wait_for_previous_kernel().
  bool overlap = false;
  bool clusters = false;    ///< compute capability 9.0 and up: blocks reach each other's shared memory
  bool warpgroups = false;  ///< compute capability 9.0, the only one whose tensor cores serve warpgroups
};

/// A new stream on the current device, with what that device and the kernels of this build can do together.
/// Throws not_possible where the build has none for it.
queue open_queue();

/// So many neighbouring blocks in x as cluster_blocks says run at the same time.
template <typename... Parameters, typename... Arguments>
void launch_in_clusters(const queue& to, int cluster_blocks, void (*kernel)(Parameters...), dim3 grid,
                        dim3 block, std::size_t shared_bytes, Arguments&&... arguments) {
  cudaLaunchAttribute attributes[2]{};
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = to.stream;
  config.attrs = attributes;
  if (to.overlap) {
    cudaLaunchAttribute& overlapping = attributes[config.numAttrs++];
    overlapping.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlapping.val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster_blocks > 1) {
    cudaLaunchAttribute& clusters = attributes[config.numAttrs++];
    clusters.id = cudaLaunchAttributeClusterDimension;
    clusters.val.clusterDim = {static_cast<unsigned>(cluster_blocks), 1, 1};
  }
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(std::forward<Arguments>(arguments))...),
        "kernel launch");
}

template <typename... Parameters, typename... Arguments>
void launch(const queue& to, void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
            Arguments&&... arguments) {
  launch_in_clusters(to, 1, kernel, grid, block, shared_bytes, std::forward<Arguments>(arguments)...);
}

/// Lets a kernel have more than 48 KiB of dynamic shared memory.
template <typename Kernel>
void allow_shared_bytes(Kernel* kernel, std::size_t bytes) {
  PROFGATE_CUDA(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}

constexpr unsigned ceil_div(std::int64_t a, std::int64_t b) {
  return static_cast<unsigned>((a + b - 1) / b);
}

}  // namespace profgate::llm::cuda
