#pragma once

#include "expert_choice.cuh"
#include "expert_gemv.h"
#include "published.cuh"

// How the blocks of a kernel, and the kernel after it, come to know the experts that one token goes to.
namespace profgate::llm::cuda {

/// An expert and its share in one word, which is its own sign of being there, as a float of publish(): its
/// lower half is the expert's number and 1.
__device__ inline void publish_share(std::uint64_t* at, int expert, float share) {
  const std::uint64_t word = std::uint64_t{__float_as_uint(share)} << 32U | static_cast<unsigned>(expert + 1);
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(word) : "memory");
}

__device__ inline std::uint64_t share_when_published(const std::uint64_t* at) {
  std::uint64_t word;
  do {
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
  } while (word == 0);
  return word;
}

/// The experts of the largest logits, ties to the smaller index. Every thread of the block counts how many
/// logits stand before one: no round waits for another's choice, as in choose_among().
struct shared_ranking {
  unsigned keys[largest_expert_count];  ///< ordered_bits() of the logits
  int ids[largest_top_k];

  /// By all threads of the block, a power of two of them; what it leaves is there for all.
  template <typename T>
  __device__ void make(const token_experts<T>& p) {
    const int threads = static_cast<int>(blockDim.x);
    const int thread = static_cast<int>(threadIdx.x);
    const int experts = p.shape.experts;
    const int quads = (experts + 3) / 4;
    for (int expert = thread; expert < 4 * quads; expert += threads)
      keys[expert] = expert < experts ? ordered_bits(when_published(p.logits + expert)) : 0;
    __syncthreads();
    // Neighbouring lanes share an expert's comparisons, where there are more threads than experts.
    int lanes = 1;
    while (lanes < 8 && 2 * lanes * experts <= threads) lanes *= 2;
    const int part = thread % lanes;
    for (int first = 0; first < experts; first += threads / lanes) {
      const int expert = first + thread / lanes;
      const unsigned key = expert < experts ? keys[expert] : 0;
      int before = 0;
      for (int quad = part; quad < quads; quad += lanes) {
        const uint4 four = reinterpret_cast<const uint4*>(keys)[quad];
        const unsigned others[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int i = 0; i < 4; ++i)
          before += others[i] > key || (others[i] == key && 4 * quad + i < expert) ? 1 : 0;
      }
      for (int offset = lanes / 2; offset > 0; offset /= 2)
        before += __shfl_xor_sync(all_lanes, before, offset);
      if (part == 0 && expert < experts && before < p.shape.top_k) ids[before] = expert;
    }
    __syncthreads();
  }

  /// After make(), by one warp: the choice and its shares for the kernel after this one.
  template <typename T>
  __device__ void publish_choice(const token_experts<T>& p) const {
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const float largest = of_ordered_bits(keys[ids[0]]);
    float total = 0;
    for (int expert = lane; expert < p.shape.experts; expert += warp_size)
      total += __expf(of_ordered_bits(keys[expert]) - largest);
    total = warp_sum(total);
    const bool is_choice = lane < p.shape.top_k;
    const int id = is_choice ? ids[lane] : 0;
    float share = is_choice ? __expf(of_ordered_bits(keys[id]) - largest) / total : 0.0F;
    if (p.shape.renormalise) share /= warp_sum(share);
    if (!is_choice) return;
    p.ids[lane] = id;
    publish_share(p.choices + lane, id, share);
  }
};

/// The same, as the kernel before this one published it.
struct shared_choice {
  int ids[largest_top_k];
  float shares[largest_top_k];

  template <typename T>
  __device__ void take(const token_experts<T>& p) {
    const int thread = static_cast<int>(threadIdx.x);
    if (thread < p.shape.top_k) {
      const std::uint64_t word = share_when_published(p.choices + thread);
      ids[thread] = static_cast<int>(static_cast<unsigned>(word)) - 1;
      shares[thread] = __uint_as_float(static_cast<unsigned>(word >> 32U));
    }
    __syncthreads();
  }
};

}  // namespace profgate::llm::cuda
