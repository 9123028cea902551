#include "attention.h"
#include "attention_tile.cuh"

namespace profgate::llm::cuda {

template <typename T>
void attend_token_by_token(const queue& to, const attention_inputs<T>& in, int sequence, int first_position,
                           int tokens);  // decode_attention.cu

inline namespace attention_prefill {  // named: a kernel keeps its name from build to build

/// A block's queries are shared by as many warps as QueryTiles tiles each leave.
template <int QueryTiles>
constexpr int threads_for = block_queries / (16 * QueryTiles) * warp_size;

/// Grid: (heads, query blocks). The blocks with the longest context come first.
template <int HeadDim, int QueryTiles>
__global__ __launch_bounds__(threads_for<QueryTiles>) void tiled_attention(attention_inputs<bf16> in,
                                                                           int sequence, int first_position,
                                                                           int tokens) {
  using tiles = shared_tiles<HeadDim>;
  constexpr int threads = threads_for<QueryTiles>;
  extern __shared__ __align__(128) unsigned char shared_memory[];
  const unsigned base = shared_address(shared_memory);
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int g = lane / 4;
  const int t = lane % 4;
  const int head = static_cast<int>(blockIdx.x);
  const int first_query = static_cast<int>(gridDim.y - 1 - blockIdx.y) * block_queries;
  const int kv_head = head / (in.heads / in.kv_heads);
  const std::int64_t row_width = static_cast<std::int64_t>(in.heads + 2 * in.kv_heads) * HeadDim;
  const std::int64_t cache_offset =
      (static_cast<std::int64_t>(sequence) * in.kv_heads + kv_head) * in.capacity * HeadDim;
  const bf16* keys = in.keys + cache_offset;
  const bf16* values = in.values + cache_offset;

  wait_for_previous_kernel();
  let_next_kernel_start();
  const int context = first_position + min(tokens, first_query + block_queries);
  const int key_blocks = (context + block_keys - 1) / block_keys;
  copy_rows<HeadDim, block_queries, threads>(base, in.qkv + head * HeadDim, row_width, first_query, tokens);
  copy_rows<HeadDim, block_keys, threads>(tiles::keys(base, 0), keys, HeadDim, 0, context);
  copy_rows<HeadDim, block_keys, threads>(tiles::values(base, 0), values, HeadDim, 0, context);
  close_copy_group();

  const float scale = score_scale<HeadDim>();
  attended_so_far<HeadDim, QueryTiles> state;
  for (int block = 0; block < key_blocks; ++block) {
    if (block + 1 < key_blocks) {
      const int stage = (block + 1) % 2;
      copy_rows<HeadDim, block_keys, threads>(tiles::keys(base, stage), keys, HeadDim,
                                              (block + 1) * block_keys, context);
      copy_rows<HeadDim, block_keys, threads>(tiles::values(base, stage), values, HeadDim,
                                              (block + 1) * block_keys, context);
    }
    close_copy_group();
    wait_for_copies<1>();
    __syncthreads();

    float scores[QueryTiles][key_tiles][4] = {};
    multiply_keys<HeadDim>(base, tiles::keys(base, block % 2), warp, lane, scores);

    const int first_warp_position = first_position + first_query + warp * QueryTiles * 16;
    if ((block + 1) * block_keys - 1 > first_warp_position) {  // it crosses the diagonal
#pragma unroll
      for (int m = 0; m < QueryTiles; ++m)
#pragma unroll
        for (int n = 0; n < key_tiles; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            if (block * block_keys + n * 8 + 2 * t + i % 2 > first_warp_position + m * 16 + g + i / 2 * 8)
              scores[m][n][i] = masked;
    }
    state.take(scores, scale);
    multiply_values<HeadDim>(tiles::values(base, block % 2), lane, scores, state.out);
    __syncthreads();  // the next round overwrites the stage that was just read
  }

  state.store(warp, lane, [&](int row) -> bf16* {
    const int query = first_query + row;
    if (query >= tokens) return nullptr;
    return in.out + (static_cast<std::int64_t>(query) * in.heads + head) * HeadDim;
  });
}

template <int HeadDim, int QueryTiles>
void start_as(const queue& to, const attention_inputs<bf16>& in, int sequence, int first_position,
              int tokens) {
  const auto kernel = tiled_attention<HeadDim, QueryTiles>;
  allow_shared_bytes(kernel, shared_tiles<HeadDim>::bytes);
  const dim3 grid(static_cast<unsigned>(in.heads), ceil_div(tokens, block_queries));
  launch(to, kernel, grid, dim3(threads_for<QueryTiles>), shared_tiles<HeadDim>::bytes, in, sequence,
         first_position, tokens);
}

/// What a warp reads of K and V serves query_tiles tiles. Where most multiprocessors have a single block, and
/// all wait for the longest, it has twice the warps instead.
template <int HeadDim>
void start(const queue& to, const attention_inputs<bf16>& in, int sequence, int first_position, int tokens) {
  const auto blocks = static_cast<unsigned>(in.heads) * ceil_div(tokens, block_queries);
  if (2 * blocks <= 3 * static_cast<unsigned>(to.multiprocessors))
    start_as<HeadDim, 1>(to, in, sequence, first_position, tokens);
  else
    start_as<HeadDim, query_tiles>(to, in, sequence, first_position, tokens);
}

}  // namespace attention_prefill

/// float32, and heads too small for a tensor core, are for checking.
template <>
void prefill_attention(const queue& to, const attention_inputs<float>& in, int sequence, int first_position,
                       int tokens) {
  attend_token_by_token(to, in, sequence, first_position, tokens);
}

template <>
void prefill_attention(const queue& to, const attention_inputs<bf16>& in, int sequence, int first_position,
                       int tokens) {
  const bool has_tiles = in.head_dim == 128 || in.head_dim == 64;
  if (has_tiles && to.warpgroups)
    return prefill_attention_by_warpgroups(to, in, sequence, first_position, tokens);
  if (in.head_dim == 128) return start<128>(to, in, sequence, first_position, tokens);
  if (in.head_dim == 64) return start<64>(to, in, sequence, first_position, tokens);
  attend_token_by_token(to, in, sequence, first_position, tokens);
}

}  // namespace profgate::llm::cuda
