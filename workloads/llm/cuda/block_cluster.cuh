#pragma once

#include <cuda_runtime.h>

// Blocks of a cluster run at the same time and write into each other's shared memory: what one needs of the
// others is there without a trip to the L2 cache. Compute capability 9.0 and up; nothing happens below that.
namespace profgate::llm::cuda {

constexpr int cluster_blocks = 8;  // the most that any GPU with clusters is sure to have room for

/// Every thread of the block comes here, then to cluster_wait(): afterwards all blocks of the cluster have
/// come here, and what their threads wrote before, into whosever shared memory, is visible.
__device__ inline void cluster_arrive() {
#if __CUDA_ARCH__ >= 900
  __syncwarp();  // .aligned: the threads of a warp arrive together
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}

__device__ inline void cluster_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/// Writes to the place that `own` has in the shared memory of the cluster's block of that rank.
__device__ inline void store_in_block(int* own, int rank, int value) {
#if __CUDA_ARCH__ >= 900
  const auto here = static_cast<unsigned>(__cvta_generic_to_shared(own));
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(value) : "memory");
#endif
}

__device__ inline void store_in_block(float* own, int rank, float value) {
  store_in_block(reinterpret_cast<int*>(own), rank, __float_as_int(value));
}

}  // namespace profgate::llm::cuda
