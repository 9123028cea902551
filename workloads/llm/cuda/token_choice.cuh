#pragma once

#include "expert_choice.cuh"
#include "expert_gemv.h"

// How the blocks of a kernel, and the kernel after it, come to know the experts that one token goes to.
namespace profgate::llm::cuda {

/// The chosen experts in shared memory, by the block's last warp; the others wait for it.
struct shared_choice {
  int ids[largest_top_k];
  float shares[largest_top_k];

  template <typename T>
  __device__ void make(const token_experts<T>& p) {
    if (threadIdx.x / warp_size == blockDim.x / warp_size - 1)
      choose_experts(
          p.shape, [&](int expert, bool& missing) { return published(p.logits + expert, missing); }, ids,
          shares);
    __syncthreads();
  }
};

}  // namespace profgate::llm::cuda
