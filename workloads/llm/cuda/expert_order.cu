#include <algorithm>

#include "device.cuh"
#include "experts.h"

namespace profgate::llm::cuda {
inline namespace expert_rows {  // named: a kernel keeps its name from build to build

constexpr int block_threads = 1024;
static_assert(block_threads == largest_expert_count);  // a thread an expert
constexpr int combine_threads = 256;                   // of a token, at most

/// Rows and tiles of an expert, or of all experts before one.
struct row_count {
  int rows = 0;
  int tiles = 0;
};

/// The sum over all threads before this one.
__device__ inline row_count count_before(row_count mine) {
  __shared__ row_count of_warp[block_threads / warp_size];
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  row_count sum = mine;
#pragma unroll
  for (int offset = 1; offset < warp_size; offset *= 2) {
    const int rows = __shfl_up_sync(all_lanes, sum.rows, offset);
    const int tiles = __shfl_up_sync(all_lanes, sum.tiles, offset);
    if (lane >= offset) {
      sum.rows += rows;
      sum.tiles += tiles;
    }
  }
  if (lane == warp_size - 1) of_warp[warp] = sum;
  __syncthreads();
  for (int before = 0; before < warp; ++before) {
    sum.rows += of_warp[before].rows;
    sum.tiles += of_warp[before].tiles;
  }
  return {sum.rows - mine.rows, sum.tiles - mine.tiles};
}

/// Calls body(slot, expert, load(slot)) for the thread's slots. Those of a batch are loaded together: one
/// after the other, the trips to the cache would be most of the kernel's time.
template <typename Load, typename Body>
__device__ inline void for_own_slots(const int* ids, int slots, Load&& load, Body&& body) {
  constexpr int batch = 16;
  for (int first = static_cast<int>(threadIdx.x); first < slots; first += batch * block_threads) {
    int expert[batch];
    int loaded[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const int slot = min(first + i * block_threads, slots - 1);
      expert[i] = ids[slot];
      loaded[i] = load(slot);
    }
#pragma unroll
    for (int i = 0; i < batch; ++i)
      if (first + i * block_threads < slots) body(first + i * block_threads, expert[i], loaded[i]);
  }
}

/// Counts, sums up and places, in one block: a chunk of a prompt has some ten thousand slots.
__global__ __launch_bounds__(block_threads) void order_kernel(expert_shape shape, const int* ids, int slots,
                                                              expert_order out) {
  __shared__ int count[largest_expert_count];
  __shared__ int first_row[largest_expert_count];
  const int thread = static_cast<int>(threadIdx.x);
  wait_for_previous_kernel();
  let_next_kernel_start();
  count[thread] = 0;
  __syncthreads();
  // The order of an expert's rows may differ from run to run; each row's result does not depend on it.
  for_own_slots(
      ids, slots, [](int) { return 0; },
      [&](int slot, int expert, int) { out.row_of_slot[slot] = atomicAdd(&count[expert], 1); });
  __syncthreads();
  const row_count own{count[thread], (count[thread] + out.tile_tokens - 1) / out.tile_tokens};
  const row_count before = count_before(own);
  first_row[thread] = before.rows;
  for (int i = 0; i < own.tiles; ++i) {  // of one length, give or take a row
    out.tile_expert[before.tiles + i] = thread;
    out.tile_begin[before.tiles + i] = before.rows + i * own.rows / own.tiles;
    out.tile_end[before.tiles + i] = before.rows + (i + 1) * own.rows / own.tiles;
  }
  if (thread == block_threads - 1) *out.tile_count = before.tiles + own.tiles;
  __syncthreads();
  for_own_slots(
      ids, slots, [&](int slot) { return out.row_of_slot[slot]; },
      [&](int slot, int expert, int row_of_expert) {
        const int row = first_row[expert] + row_of_expert;
        out.slot_of_row[row] = slot;
        out.row_of_slot[slot] = row;
      });
}

/// Grid: tokens. The rows of several choices are loaded together.
template <typename T>
__global__ __launch_bounds__(combine_threads) void combine_kernel(expert_shape shape, const T* from,
                                                                  const float* shares, const int* row_of_slot,
                                                                  T* hidden) {
  constexpr int width = vector_width<T>;
  constexpr int batch = 8;
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t token = blockIdx.x;
  shares += token * shape.top_k;
  row_of_slot += token * shape.top_k;
  T* to = hidden + token * shape.hidden;
  for (int k = static_cast<int>(threadIdx.x) * width; k < shape.hidden;
       k += static_cast<int>(blockDim.x) * width) {
    float sums[width];
    unpack<T>(*reinterpret_cast<const uint4*>(to + k), sums);
    for (int first = 0; first < shape.top_k; first += batch) {
      int rows[batch];
#pragma unroll
      for (int i = 0; i < batch; ++i) rows[i] = row_of_slot[min(first + i, shape.top_k - 1)];
      uint4 loaded[batch];
#pragma unroll
      for (int i = 0; i < batch; ++i)
        if (first + i < shape.top_k)
          loaded[i] = load_vector(from + static_cast<std::int64_t>(rows[i]) * shape.hidden + k);
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        if (first + i >= shape.top_k) break;
        float values[width];
        unpack<T>(loaded[i], values);
#pragma unroll
        for (int v = 0; v < width; ++v) sums[v] += shares[first + i] * values[v];
      }
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
  const unsigned warps = ceil_div(shape.hidden, warp_size * vector_width<T>);
  const unsigned threads = std::min(warps * warp_size, static_cast<unsigned>(combine_threads));
  launch(to, combine_kernel<T>, dim3(static_cast<unsigned>(tokens)), dim3(threads), 0, shape, from, shares,
         row_of_slot, hidden);
}

template void combine_experts(const queue&, const expert_shape&, const float*, const float*, const int*, int,
                              float*);
template void combine_experts(const queue&, const expert_shape&, const bf16*, const float*, const int*, int,
                              bf16*);

}  // namespace profgate::llm::cuda
