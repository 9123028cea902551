// Attention over a prompt as in prefill_attention.cu, with the products of Hopper's warpgroups.
#include "attention.h"
#include "warpgroup_attention.cuh"

namespace profgate::llm::cuda {
inline namespace attention_prefill_warpgroups {  // named: a kernel keeps its name from build to build

constexpr int block_groups = 2;  // warpgroups over the same keys
constexpr int threads = block_groups * 4 * warp_size;
constexpr int queries = block_groups * group_queries;
constexpr int tile_keys = 128;
constexpr int stages = 3;
constexpr unsigned largest_shared_bytes = 227 * 1024;  // of a block on compute capability 9.0

template <int HeadDim>
using memory = attention_memory<HeadDim, queries, tile_keys, stages>;
template <int HeadDim>
constexpr unsigned shared_bytes = memory<HeadDim>::bytes + swizzle_bytes;
static_assert(shared_bytes<128> <= largest_shared_bytes);

/// The keys and values of one head's cache, and where this thread's queries stand.
template <int HeadDim>
struct cached_context {
  static constexpr bool adds = false;
  const bf16 *keys, *values;  ///< [context, HeadDim]
  unsigned base;
  int context;        ///< positions that the block's last query sees
  int warp_position;  ///< of the warp's first query
  int own_position;   ///< of the thread's first query; the other one is 8 further
  int own_first_key;  ///< of the thread's columns in a tile

  __device__ void copy(unsigned to_shared, const bf16* from, int tile) const {
    const int first_position = tile * tile_keys;
    from += static_cast<std::int64_t>(first_position) * HeadDim;
    const int rows = context - first_position;
    if (rows >= tile_keys)  // most tiles: no row needs a look
      copy_tile<HeadDim, tile_keys, threads>(to_shared, [=](int row) {
        return source_row{from + row * HeadDim, true};
      });
    else
      copy_tile<HeadDim, tile_keys, threads>(to_shared, [=](int row) {
        const bool valid = row < rows;
        return source_row{from + (valid ? row : 0) * HeadDim, valid};
      });
  }
  __device__ void copy_keys(int tile) const { copy(memory<HeadDim>::keys(base, tile), keys, tile); }
  __device__ void copy_values(int tile) const { copy(memory<HeadDim>::values(base, tile), values, tile); }
  __device__ void begin(int, float (&)[tile_keys / 2], float (&)[2]) const {}
  __device__ void mask(int tile, float (&scores)[tile_keys / 2]) const {
    const int first_key = tile * tile_keys;
    if (first_key + tile_keys - 1 <= warp_position) return;  // below the diagonal
#pragma unroll
    for (int i = 0; i < tile_keys / 2; ++i)
      if (first_key + own_first_key + i / 4 * 8 + i % 2 > own_position + i / 2 % 2 * 8) scores[i] = masked;
  }
};

/// Grid: (heads, query blocks). The blocks with the longest context come first.
template <int HeadDim>
__global__ __launch_bounds__(threads, 1) void causal_attention(attention_inputs<bf16> in, int sequence,
                                                               int first_position, int tokens) {
  extern __shared__ __align__(128) unsigned char shared_memory[];
  const unsigned base = (shared_address(shared_memory) + swizzle_bytes - 1) / swizzle_bytes * swizzle_bytes;
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int own_query = warp * 16 + lane / 4;  // of the block, and the one 8 further
  const int head = static_cast<int>(blockIdx.x);
  const int kv_head = head / (in.heads / in.kv_heads);
  const int first_query = static_cast<int>(gridDim.y - 1 - blockIdx.y) * queries;
  const std::int64_t row_width = static_cast<std::int64_t>(in.heads + 2 * in.kv_heads) * HeadDim;
  const std::int64_t cache_offset =
      (static_cast<std::int64_t>(sequence) * in.kv_heads + kv_head) * in.capacity * HeadDim;
  const cached_context<HeadDim> source{.keys = in.keys + cache_offset,
                                       .values = in.values + cache_offset,
                                       .base = base,
                                       .context = first_position + min(tokens, first_query + queries),
                                       .warp_position = first_position + first_query + warp * 16,
                                       .own_position = first_position + first_query + own_query,
                                       .own_first_key = 2 * (lane % 4)};

  wait_for_previous_kernel();
  let_next_kernel_start();
  copy_tile<HeadDim, queries, threads>(base, [&](int row) {
    const bool valid = first_query + row < tokens;
    return source_row{in.qkv + (valid ? first_query + row : 0) * row_width + head * HeadDim, valid};
  });
  source.copy_keys(0);

  attended_rows<HeadDim, tile_keys> state;
  const int tiles = (source.context + tile_keys - 1) / tile_keys;
  attend_overlapped<HeadDim, queries, tile_keys, stages>(source, base, tiles, state);
  state.store(lane, [&](int half) -> bf16* {
    const int query = first_query + own_query + 8 * half;
    if (query >= tokens) return nullptr;
    return in.out + (static_cast<std::int64_t>(query) * in.heads + head) * HeadDim;
  });
}

template <int HeadDim>
void start_by_warpgroups(const queue& to, const attention_inputs<bf16>& in, int sequence, int first_position,
                         int tokens) {
  const auto kernel = causal_attention<HeadDim>;
  allow_shared_bytes(kernel, shared_bytes<HeadDim>);
  const dim3 grid(static_cast<unsigned>(in.heads), ceil_div(tokens, queries));
  launch(to, kernel, grid, dim3(threads), shared_bytes<HeadDim>, in, sequence, first_position, tokens);
}

}  // namespace attention_prefill_warpgroups

void prefill_attention_by_warpgroups(const queue& to, const attention_inputs<bf16>& in, int sequence,
                                     int first_position, int tokens) {
  if (in.head_dim == 128) return start_by_warpgroups<128>(to, in, sequence, first_position, tokens);
  start_by_warpgroups<64>(to, in, sequence, first_position, tokens);
}

}  // namespace profgate::llm::cuda
