#pragma once

#include <cstdint>

#include "tensor_core.cuh"

// What attention on tensor cores is made of, with or without a mask: a block of four warps takes 128 queries
// over 64 keys at a time, keeping of each query the largest score, the sum of the shares and the weighted sum
// of the values so far.
namespace profgate::llm::cuda {
inline namespace attention_tile {

constexpr int block_warps = 4;
constexpr int block_threads = block_warps * warp_size;
constexpr int warp_queries = 32;  // two tiles of 16: what a warp reads of K and V serves both
constexpr int block_queries = block_warps * warp_queries;
constexpr int block_keys = 64;
constexpr int query_tiles = warp_queries / 16;
constexpr int key_tiles = block_keys / 8;
constexpr float lowest = -1e30F;
constexpr float masked = 2 * lowest;  // below every largest score, so its share is 0

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

/// A row to copy; where it is not valid, zeros take its place, and `at` may be any address.
struct source_row {
  const bf16* at;
  bool valid;
};

/// Starts the copy of Rows rows by a block of Threads: row_at(i) says where row i lies.
template <int HeadDim, int Rows, int Threads = block_threads, typename RowAt>
__device__ inline void copy_rows(unsigned to_shared, RowAt&& row_at) {
  constexpr int row_chunks = HeadDim / 8;
#pragma unroll
  for (int i = static_cast<int>(threadIdx.x); i < Rows * row_chunks; i += Threads) {
    const int row = i / row_chunks;
    const int chunk = i % row_chunks;
    const source_row from = row_at(row);
    copy_async(to_shared + swizzled<row_chunks>(row, chunk), from.at + chunk * 8, from.valid);
  }
}

/// Rows [first, first + Rows) of a matrix with `stride` elements a row; those at or beyond `end` become
/// zeros.
template <int HeadDim, int Rows, int Threads = block_threads>
__device__ inline void copy_rows(unsigned to_shared, const bf16* from, std::int64_t stride, int first,
                                 int end) {
  copy_rows<HeadDim, Rows, Threads>(to_shared, [=](int row) {
    const bool valid = first + row < end;
    return source_row{from + (valid ? first + row : 0) * stride, valid};
  });
}

/// scores[m][n] += Q's tile m times K's tile n, 16 x 8 each.
template <int HeadDim, int QueryTiles>
__device__ inline void multiply_keys(unsigned queries, unsigned keys, int warp, int lane,
                                     float (&scores)[QueryTiles][key_tiles][4]) {
  constexpr int row_chunks = HeadDim / 8;
#pragma unroll
  for (int k = 0; k < HeadDim / 16; ++k) {
    unsigned q[QueryTiles][4];
#pragma unroll
    for (int m = 0; m < QueryTiles; ++m)  // matrices: rows 0-7, 8-15 at k, then the same at k + 8
      load_matrices(q[m], queries + swizzled<row_chunks>(warp * QueryTiles * 16 + m * 16 + lane % 16,
                                                         2 * k + lane / 16));
#pragma unroll
    for (int n = 0; n < key_tiles; n += 2) {  // matrices: keys 0-7 at k and k + 8, then keys 8-15
      unsigned b[4];
      load_matrices(b, keys + swizzled<row_chunks>(n * 8 + lane % 8 + lane / 16 * 8, 2 * k + lane / 8 % 2));
#pragma unroll
      for (int m = 0; m < QueryTiles; ++m) {
        multiply_tile(scores[m][n], q[m][0], q[m][1], q[m][2], q[m][3], b[0], b[1]);
        multiply_tile(scores[m][n + 1], q[m][0], q[m][1], q[m][2], q[m][3], b[2], b[3]);
      }
    }
  }
}

/// out += P times V; P's tiles are the scores' registers, rounded: the layouts of C and A agree.
template <int HeadDim, int QueryTiles>
__device__ inline void multiply_values(unsigned values, int lane, const float (&p)[QueryTiles][key_tiles][4],
                                       float (&out)[QueryTiles][HeadDim / 8][4]) {
  constexpr int row_chunks = HeadDim / 8;
#pragma unroll
  for (int k = 0; k < block_keys / 16; ++k) {
    unsigned a[QueryTiles][4];
#pragma unroll
    for (int m = 0; m < QueryTiles; ++m) {
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
      for (int m = 0; m < QueryTiles; ++m) {
        multiply_tile(out[m][n], a[m][0], a[m][1], a[m][2], a[m][3], b[0], b[1]);
        multiply_tile(out[m][n + 1], a[m][0], a[m][1], a[m][2], a[m][3], b[2], b[3]);
      }
    }
  }
}

/// What a warp has of its queries so far; of a lane's pair of rows, the halves are rows g and g + 8.
template <int HeadDim, int QueryTiles = query_tiles>
struct attended_so_far {
  float out[QueryTiles][HeadDim / 8][4] = {};
  float largest[QueryTiles][2];
  float total[QueryTiles][2] = {};  // this lane's columns only

  __device__ attended_so_far() {
#pragma unroll
    for (int m = 0; m < QueryTiles; ++m) largest[m][0] = largest[m][1] = lowest;
  }

  /// Turns a block's scores into shares, exp2(scale * (score - largest so far)), and brings what was there
  /// before to the same largest score.
  __device__ inline void take(float (&scores)[QueryTiles][key_tiles][4], float scale) {
#pragma unroll
    for (int m = 0; m < QueryTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float row_largest = largest[m][half];
#pragma unroll
        for (int n = 0; n < key_tiles; ++n)
#pragma unroll
          for (int i = 2 * half; i < 2 * half + 2; ++i) row_largest = fmaxf(row_largest, scores[m][n][i]);
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
  }

  /// Writes the quotients; row_at(query of the block) is where a query's goes, null: nowhere.
  template <typename RowAt>
  __device__ inline void store(int warp, int lane, RowAt&& row_at) const {
#pragma unroll
    for (int m = 0; m < QueryTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float row_total = total[m][half];
        row_total += __shfl_xor_sync(all_lanes, row_total, 1);
        row_total += __shfl_xor_sync(all_lanes, row_total, 2);
        bf16* row = row_at(warp * QueryTiles * 16 + m * 16 + lane / 4 + 8 * half);
        if (row == nullptr) continue;
        const float factor = 1.0F / row_total;
#pragma unroll
        for (int n = 0; n < HeadDim / 8; ++n)
          *reinterpret_cast<unsigned*>(row + n * 8 + 2 * (lane % 4)) =
              pack_pair(out[m][n][2 * half] * factor, out[m][n][2 * half + 1] * factor);
      }
  }
};

/// exp(score / sqrt(HeadDim)) as a power of two.
template <int HeadDim>
__device__ inline float score_scale() {
  return 1.4426950408889634F * rsqrtf(static_cast<float>(HeadDim));
}

}  // namespace attention_tile
}  // namespace profgate::llm::cuda
