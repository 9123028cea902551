#include <algorithm>

#include "block_cluster.cuh"
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

/// Calls body(slot, expert, load(slot)) for the thread's slots of those that all blocks share. Those of a
/// batch are loaded together: one after the other, the trips to the cache would be most of the kernel's time.
template <int Blocks, typename Load, typename Body>
__device__ inline void for_own_slots(const int* ids, int slots, Load&& load, Body&& body) {
  constexpr int batch = 16 / Blocks;
  constexpr int stride = Blocks * block_threads;
  for (int first = static_cast<int>(blockIdx.x * block_threads + threadIdx.x); first < slots;
       first += batch * stride) {
    int expert[batch];
    int loaded[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const int slot = min(first + i * stride, slots - 1);
      expert[i] = ids[slot];
      loaded[i] = load(slot);
    }
#pragma unroll
    for (int i = 0; i < batch; ++i)
      if (first + i * stride < slots) body(first + i * stride, expert[i], loaded[i]);
  }
}

/// Counts, sums up and places. More than one block are a cluster: each counts its slots, tells all others,
/// and has its rows of an expert after those of the blocks before it.
template <int Blocks>
__global__ __launch_bounds__(block_threads) void order_kernel(expert_shape shape, const int* ids, int slots,
                                                              expert_order out) {
  __shared__ int counts[Blocks][largest_expert_count];  ///< slots of a block that go to an expert
  __shared__ int first_row[largest_expert_count];       ///< of an expert's slots in this block
  const int thread = static_cast<int>(threadIdx.x);
  const int block = static_cast<int>(blockIdx.x);
  if constexpr (Blocks > 1) cluster_arrive();
  wait_for_previous_kernel();
  let_next_kernel_start();
  counts[block][thread] = 0;
  __syncthreads();
  // The order of an expert's rows may differ from run to run; each row's result does not depend on it.
  for_own_slots<Blocks>(
      ids, slots, [](int) { return 0; },
      [&](int slot, int expert, int) { out.row_of_slot[slot] = atomicAdd(&counts[block][expert], 1); });
  __syncthreads();
  if constexpr (Blocks > 1) {
    cluster_wait();  // a block's shared memory is there once the block is
    if (thread < shape.experts)
#pragma unroll
      for (int to = 0; to < Blocks; ++to)
        if (to != block) store_in_block(&counts[block][thread], to, counts[block][thread]);
    cluster_arrive();
    cluster_wait();
  }
  int rows = 0;
  int rows_before = 0;  // those of the blocks before this one
  if (thread < shape.experts)
#pragma unroll
    for (int of = 0; of < Blocks; ++of) {
      if (of == block) rows_before = rows;
      rows += counts[of][thread];
    }
  const row_count own{rows, (rows + out.tile_tokens - 1) / out.tile_tokens};
  const row_count before = count_before(own);
  first_row[thread] = before.rows + rows_before;
  if (block == 0) {
    for (int i = 0; i < own.tiles; ++i) {  // of one length, give or take a row
      out.tile_expert[before.tiles + i] = thread;
      out.tile_begin[before.tiles + i] = before.rows + i * own.rows / own.tiles;
      out.tile_end[before.tiles + i] = before.rows + (i + 1) * own.rows / own.tiles;
    }
    if (thread == block_threads - 1) *out.tile_count = before.tiles + own.tiles;
  }
  __syncthreads();
  for_own_slots<Blocks>(
      ids, slots, [&](int slot) { return out.row_of_slot[slot]; },
      [&](int slot, int expert, int row_of_block) {
        const int row = first_row[expert] + row_of_block;
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
  constexpr int slots_of_one_block = 4096;  // four a thread; a chunk of a prompt has some ten thousand
  const int slots = tokens * shape.top_k;
  if (to.clusters && slots > slots_of_one_block)
    return launch_in_clusters(to, cluster_blocks, order_kernel<cluster_blocks>, dim3(cluster_blocks),
                              dim3(block_threads), 0, shape, ids, slots, out);
  launch(to, order_kernel<1>, dim3(1), dim3(block_threads), 0, shape, ids, slots, out);
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
