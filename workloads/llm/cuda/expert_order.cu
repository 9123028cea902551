#include "device.cuh"
#include "experts.h"

namespace profgate::llm::cuda {
inline namespace expert_rows {  // named: a kernel keeps its name from build to build

constexpr int block_threads = 1024;
static_assert(block_threads >= largest_expert_count);

/// Counts, sums up and places, in one block: a chunk of a prompt has some ten thousand slots.
__global__ __launch_bounds__(block_threads) void order_kernel(expert_shape shape, const int* ids, int slots,
                                                              expert_order out) {
  __shared__ int count[largest_expert_count];
  __shared__ int next_row[largest_expert_count];
  __shared__ int first_tile[largest_expert_count + 1];
  const int thread = static_cast<int>(threadIdx.x);
  wait_for_previous_kernel();
  let_next_kernel_start();
  count[thread] = 0;
  __syncthreads();
  for (int slot = thread; slot < slots; slot += block_threads) atomicAdd(&count[ids[slot]], 1);
  __syncthreads();
  if (thread == 0) {
    int row = 0;
    int tile = 0;
    for (int expert = 0; expert < shape.experts; ++expert) {
      next_row[expert] = row;
      first_tile[expert] = tile;
      row += count[expert];
      tile += (count[expert] + tile_tokens - 1) / tile_tokens;
    }
    *out.tile_count = tile;
  }
  __syncthreads();
  if (thread < shape.experts) {
    const int begin = next_row[thread];
    const int end = begin + count[thread];
    int tile = first_tile[thread];
    for (int row = begin; row < end; row += tile_tokens, ++tile) {
      out.tile_expert[tile] = thread;
      out.tile_begin[tile] = row;
      out.tile_end[tile] = min(end, row + tile_tokens);
    }
  }
  __syncthreads();
  // The order of an expert's rows may differ from run to run; each row's result does not depend on it.
  for (int slot = thread; slot < slots; slot += block_threads) {
    const int row = atomicAdd(&next_row[ids[slot]], 1);
    out.slot_of_row[row] = slot;
    out.row_of_slot[slot] = row;
  }
}

/// Grid: tokens.
template <typename T>
__global__ __launch_bounds__(256) void combine_kernel(expert_shape shape, const T* from, const float* shares,
                                                      const int* row_of_slot, T* hidden) {
  constexpr int width = vector_width<T>;
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t token = blockIdx.x;
  T* to = hidden + token * shape.hidden;
  for (int k = static_cast<int>(threadIdx.x) * width; k < shape.hidden; k += 256 * width) {
    float sums[width];
    unpack<T>(*reinterpret_cast<const uint4*>(to + k), sums);
    for (int choice = 0; choice < shape.top_k; ++choice) {
      const std::int64_t slot = token * shape.top_k + choice;
      float values[width];
      unpack<T>(*reinterpret_cast<const uint4*>(
                    from + static_cast<std::int64_t>(row_of_slot[slot]) * shape.hidden + k),
                values);
#pragma unroll
      for (int i = 0; i < width; ++i) sums[i] += shares[slot] * values[i];
    }
    *reinterpret_cast<uint4*>(to + k) = pack<T>(sums);
  }
}

}  // namespace expert_rows

void order_by_expert(const queue& to, const expert_shape& shape, const int* ids, int tokens,
                     const expert_order& out) {
  launch(to, order_kernel, dim3(1), dim3(block_threads), 0, shape, ids, tokens * shape.top_k, out);
}

template <typename T>
void combine_experts(const queue& to, const expert_shape& shape, const T* from, const float* shares,
                     const int* row_of_slot, int tokens, T* hidden) {
  launch(to, combine_kernel<T>, dim3(static_cast<unsigned>(tokens)), dim3(256), 0, shape, from, shares,
         row_of_slot, hidden);
}

template void combine_experts(const queue&, const expert_shape&, const float*, const float*, const int*, int,
                              float*);
template void combine_experts(const queue&, const expert_shape&, const bf16*, const float*, const int*, int,
                              bf16*);

}  // namespace profgate::llm::cuda
