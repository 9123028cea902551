#include "attention.h"
#include "tensor_core.cuh"

namespace profgate::llm::cuda {

template <typename T>
void attend_token_by_token(const queue& to, const attention_inputs<T>& in, int sequence, int first_position,
                           int tokens);  // decode_attention.cu

inline namespace attention_prefill {  // named: a kernel keeps its name from build to build

constexpr int block_warps = 4;
constexpr int block_threads = block_warps * warp_size;
constexpr int warp_queries = 32;  // two tiles of 16: what a warp reads of K and V serves both
constexpr int block_queries = block_warps * warp_queries;
constexpr int block_keys = 64;
constexpr int query_tiles = warp_queries / 16;
constexpr int key_tiles = block_keys / 8;
constexpr float lowest = -1e30F;

template <int HeadDim>
struct shared_tiles {
  static constexpr unsigned query_bytes = block_queries * HeadDim * sizeof(bf16);
  static constexpr unsigned key_bytes = block_keys * HeadDim * sizeof(bf16);
  static constexpr unsigned bytes = query_bytes + 4 * key_bytes;  // keys and values, two stages each

  static __device__ unsigned keys(unsigned base, int stage) {
    return base + query_bytes + static_cast<unsigned>(stage) * 2 * key_bytes;
  }
  static __device__ unsigned values(unsigned base, int stage) { return keys(base, stage) + key_bytes; }
};

/// Starts the copy of rows [first, first + Rows) of a matrix with `stride` elements a row; rows at or beyond
/// `end` become zeros.
template <int HeadDim, int Rows>
__device__ inline void copy_rows(unsigned to_shared, const bf16* from, std::int64_t stride, int first,
                                 int end) {
  constexpr int row_chunks = HeadDim / 8;
#pragma unroll
  for (int i = static_cast<int>(threadIdx.x); i < Rows * row_chunks; i += block_threads) {
    const int row = i / row_chunks;
    const int chunk = i % row_chunks;
    const bool valid = first + row < end;
    copy_async(to_shared + swizzled<row_chunks>(row, chunk),
               from + (valid ? first + row : 0) * stride + chunk * 8, valid);
  }
}

/// scores[m][n] = Q's tile m times K's tile n, 16 x 8 each.
template <int HeadDim>
__device__ inline void multiply_keys(unsigned queries, unsigned keys, int warp, int lane,
                                     float (&scores)[query_tiles][key_tiles][4]) {
  constexpr int row_chunks = HeadDim / 8;
#pragma unroll
  for (int k = 0; k < HeadDim / 16; ++k) {
    unsigned q[query_tiles][4];
#pragma unroll
    for (int m = 0; m < query_tiles; ++m)  // matrices: rows 0-7, 8-15 at k, then the same at k + 8
      load_matrices(
          q[m], queries + swizzled<row_chunks>(warp * warp_queries + m * 16 + lane % 16, 2 * k + lane / 16));
#pragma unroll
    for (int n = 0; n < key_tiles; n += 2) {  // matrices: keys 0-7 at k and k + 8, then keys 8-15
      unsigned b[4];
      load_matrices(b, keys + swizzled<row_chunks>(n * 8 + lane % 8 + lane / 16 * 8, 2 * k + lane / 8 % 2));
#pragma unroll
      for (int m = 0; m < query_tiles; ++m) {
        multiply_tile(scores[m][n], q[m][0], q[m][1], q[m][2], q[m][3], b[0], b[1]);
        multiply_tile(scores[m][n + 1], q[m][0], q[m][1], q[m][2], q[m][3], b[2], b[3]);
      }
    }
  }
}

/// out += P times V; P's tiles are the scores' registers, rounded: the layouts of C and A agree.
template <int HeadDim>
__device__ inline void multiply_values(unsigned values, int lane, const float (&p)[query_tiles][key_tiles][4],
                                       float (&out)[query_tiles][HeadDim / 8][4]) {
  constexpr int row_chunks = HeadDim / 8;
#pragma unroll
  for (int k = 0; k < block_keys / 16; ++k) {
    unsigned a[query_tiles][4];
#pragma unroll
    for (int m = 0; m < query_tiles; ++m) {
      a[m][0] = pack_pair(p[m][2 * k][0], p[m][2 * k][1]);
      a[m][1] = pack_pair(p[m][2 * k][2], p[m][2 * k][3]);
      a[m][2] = pack_pair(p[m][2 * k + 1][0], p[m][2 * k + 1][1]);
      a[m][3] = pack_pair(p[m][2 * k + 1][2], p[m][2 * k + 1][3]);
    }
#pragma unroll
    for (int n = 0; n < HeadDim / 8; n += 2) {  // matrices: keys 0-7 and 8-15 at d, then at d + 8
      unsigned b[4];
      load_matrices_transposed(b, values + swizzled<row_chunks>(k * 16 + lane % 16, n + lane / 16));
#pragma unroll
      for (int m = 0; m < query_tiles; ++m) {
        multiply_tile(out[m][n], a[m][0], a[m][1], a[m][2], a[m][3], b[0], b[1]);
        multiply_tile(out[m][n + 1], a[m][0], a[m][1], a[m][2], a[m][3], b[2], b[3]);
      }
    }
  }
}

/// Grid: (heads, query blocks). The blocks with the longest context come first.
template <int HeadDim>
__global__ __launch_bounds__(block_threads) void tiled_attention(attention_inputs<bf16> in, int sequence,
                                                                 int first_position, int tokens) {
  using tiles = shared_tiles<HeadDim>;
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
  copy_rows<HeadDim, block_queries>(base, in.qkv + head * HeadDim, row_width, first_query, tokens);
  copy_rows<HeadDim, block_keys>(tiles::keys(base, 0), keys, HeadDim, 0, context);
  copy_rows<HeadDim, block_keys>(tiles::values(base, 0), values, HeadDim, 0, context);
  close_copy_group();

  const float scale = 1.4426950408889634F * rsqrtf(static_cast<float>(HeadDim));
  float out[query_tiles][HeadDim / 8][4] = {};
  float largest[query_tiles][2];  // of rows g and g + 8
  float total[query_tiles][2] = {};
#pragma unroll
  for (int m = 0; m < query_tiles; ++m) largest[m][0] = largest[m][1] = lowest;

  for (int block = 0; block < key_blocks; ++block) {
    if (block + 1 < key_blocks) {
      const int stage = (block + 1) % 2;
      copy_rows<HeadDim, block_keys>(tiles::keys(base, stage), keys, HeadDim, (block + 1) * block_keys,
                                     context);
      copy_rows<HeadDim, block_keys>(tiles::values(base, stage), values, HeadDim, (block + 1) * block_keys,
                                     context);
    }
    close_copy_group();
    wait_for_copies<1>();
    __syncthreads();

    float scores[query_tiles][key_tiles][4] = {};
    multiply_keys<HeadDim>(base, tiles::keys(base, block % 2), warp, lane, scores);

    const int first_warp_position = first_position + first_query + warp * warp_queries;
    const bool crosses_diagonal = (block + 1) * block_keys - 1 > first_warp_position;
#pragma unroll
    for (int m = 0; m < query_tiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int position = first_warp_position + m * 16 + g + 8 * half;
        float row_largest = largest[m][half];
#pragma unroll
        for (int n = 0; n < key_tiles; ++n)
#pragma unroll
          for (int i = 2 * half; i < 2 * half + 2; ++i) {
            if (crosses_diagonal && block * block_keys + n * 8 + 2 * t + i % 2 > position)
              scores[m][n][i] = 2 * lowest;
            row_largest = fmaxf(row_largest, scores[m][n][i]);
          }
        row_largest = fmaxf(row_largest, __shfl_xor_sync(all_lanes, row_largest, 1));
        row_largest = fmaxf(row_largest, __shfl_xor_sync(all_lanes, row_largest, 2));
        const float old = exp2f((largest[m][half] - row_largest) * scale);
        largest[m][half] = row_largest;
        float row_total = 0;
        const float offset = row_largest * scale;
#pragma unroll
        for (int n = 0; n < key_tiles; ++n)
#pragma unroll
          for (int i = 2 * half; i < 2 * half + 2; ++i) {
            scores[m][n][i] = exp2f(fmaf(scores[m][n][i], scale, -offset));
            row_total += scores[m][n][i];
          }
        total[m][half] = total[m][half] * old + row_total;
#pragma unroll
        for (int n = 0; n < HeadDim / 8; ++n) {
          out[m][n][2 * half] *= old;
          out[m][n][2 * half + 1] *= old;
        }
      }
    multiply_values<HeadDim>(tiles::values(base, block % 2), lane, scores, out);
    __syncthreads();  // the next round overwrites the stage that was just read
  }

#pragma unroll
  for (int m = 0; m < query_tiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int query = first_query + warp * warp_queries + m * 16 + g + 8 * half;
      float row_total = total[m][half];
      row_total += __shfl_xor_sync(all_lanes, row_total, 1);
      row_total += __shfl_xor_sync(all_lanes, row_total, 2);
      if (query >= tokens) continue;
      bf16* row = in.out + (static_cast<std::int64_t>(query) * in.heads + head) * HeadDim;
      const float factor = 1.0F / row_total;
#pragma unroll
      for (int n = 0; n < HeadDim / 8; ++n)
        *reinterpret_cast<unsigned*>(row + n * 8 + 2 * t) =
            pack_pair(out[m][n][2 * half] * factor, out[m][n][2 * half + 1] * factor);
    }
}

template <int HeadDim>
void start(const queue& to, const attention_inputs<bf16>& in, int sequence, int first_position, int tokens) {
  allow_shared_bytes(tiled_attention<HeadDim>, shared_tiles<HeadDim>::bytes);
  const dim3 grid(static_cast<unsigned>(in.heads), ceil_div(tokens, block_queries));
  launch(to, tiled_attention<HeadDim>, grid, dim3(block_threads), shared_tiles<HeadDim>::bytes, in, sequence,
         first_position, tokens);
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
  if (in.head_dim == 128) return start<128>(to, in, sequence, first_position, tokens);
  if (in.head_dim == 64) return start<64>(to, in, sequence, first_position, tokens);
  attend_token_by_token(to, in, sequence, first_position, tokens);
}

}  // namespace profgate::llm::cuda
