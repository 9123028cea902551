#pragma once

#include <cstdint>

#include "attention_tile.cuh"
#include "warpgroup.cuh"

// What attention by Hopper's warpgroups is made of, in the decoder and in the vision encoder: a warpgroup
// takes 64 queries over Keys keys at a time. While the tensor cores add a tile's values, the threads turn the
// next tile's scores into shares.
namespace profgate::llm::cuda {
inline namespace warpgroup_attention_tile {

constexpr int group_queries = 64;  // of a warpgroup
constexpr int panel_width = 64;    // elements that a row has at most where the tensor cores read it
constexpr unsigned panel_row_bytes = panel_width * sizeof(bf16);
constexpr unsigned swizzle_bytes = 1024;  // what a matrix in shared memory is aligned to

/// Where a block's tiles lie in shared memory. A tile of rows of HeadDim elements is HeadDim / 64 panels,
/// [rows, 64] each, as matrix_descriptor() takes them.
template <int HeadDim, int Queries, int Keys, int Stages>
struct attention_memory {
  static constexpr unsigned query_bytes = Queries * HeadDim * sizeof(bf16);
  static constexpr unsigned tile_bytes = Keys * HeadDim * sizeof(bf16);
  static constexpr unsigned bytes = query_bytes + 2 * Stages * tile_bytes;  // keys and values

  static __device__ unsigned keys(unsigned base, int tile) {
    return base + query_bytes + static_cast<unsigned>(tile % Stages) * 2 * tile_bytes;
  }
  static __device__ unsigned values(unsigned base, int tile) { return keys(base, tile) + tile_bytes; }
};

/// Starts the copy of Rows rows to a tile by a block of Threads: row_at(i) says where row i lies. A thread
/// has the same chunk of all of its rows, a multiple of eight apart: one place, and steps known to the
/// compiler.
template <int HeadDim, int Rows, int Threads, typename RowAt>
__device__ inline void copy_tile(unsigned to_shared, RowAt&& row_at) {
  constexpr int row_chunks = HeadDim / 8;
  constexpr int panel_chunks = panel_width / 8;
  constexpr int rows_at_once = Threads / row_chunks;
  static_assert(Threads % row_chunks == 0 && rows_at_once % 8 == 0 && Rows % rows_at_once == 0);
  const int first_row = static_cast<int>(threadIdx.x) / row_chunks;
  const int chunk = static_cast<int>(threadIdx.x) % row_chunks;
  const unsigned to = to_shared + static_cast<unsigned>(chunk / panel_chunks) * Rows * panel_row_bytes +
                      swizzled<panel_chunks>(first_row, chunk % panel_chunks);
#pragma unroll
  for (int row = 0; row < Rows; row += rows_at_once) {
    const source_row from = row_at(first_row + row);
    copy_async(to + static_cast<unsigned>(row) * panel_row_bytes, from.at + chunk * 8, from.valid);
  }
}

/// The warpgroup's queries as a left operand.
template <int HeadDim, int Queries>
struct query_operand {
  std::uint64_t first_panel;

  __device__ query_operand(unsigned base, int warpgroup)
      : first_panel(
            matrix_descriptor(base + static_cast<unsigned>(warpgroup) * group_queries * panel_row_bytes)) {}
  __device__ std::uint64_t at(unsigned panel, unsigned k) const {  // k: 16 elements, two units of an address
    return first_panel + panel * (Queries * panel_row_bytes / 16) + 2 * k;
  }
};

/// Begins scores (+)= Q K^T of 64 queries and Keys keys; scores[4 n + i] are of keys 8 n to 8 n + 7, in the
/// order of multiply_warpgroup_tile(). They are there when the group of products that this closes has ended.
template <int HeadDim, int Queries, int Keys>
__device__ inline void begin_scores(const query_operand<HeadDim, Queries>& queries, unsigned keys, bool adds,
                                    float (&scores)[Keys / 2]) {
  const std::uint64_t key_panel = matrix_descriptor(keys);
  if (adds) take_sums(scores);
  begin_products();
#pragma unroll
  for (unsigned panel = 0; panel < HeadDim / panel_width; ++panel)
#pragma unroll
    for (unsigned k = 0; k < panel_width / 16; ++k)
      multiply_warpgroup_tile(scores, queries.at(panel, k),
                              key_panel + panel * (Keys * panel_row_bytes / 16) + 2 * k,
                              adds || panel + k > 0);
  close_products();
}

__device__ inline float exp2_approximate(float value) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

/// What a thread has of its two queries so far, rows lane / 4 of its warp's 16 and 8 further.
template <int HeadDim, int Keys>
struct attended_rows {
  static constexpr int panels = HeadDim / panel_width;
  float out[panels][panel_width / 2] = {};
  float largest[2] = {lowest, lowest};
  float total[2] = {};            // this thread's columns only
  unsigned shares[Keys / 16][4];  // of the last tile, in bfloat16: the left operand of the product with V

  /// Turns scores, with row_scores added to all of a row, into shares exp2(scale * (score - largest so far)).
  /// What was there before must be multiplied by `old`, by which the totals are already.
  __device__ inline void take(float (&scores)[Keys / 2], const float (&row_scores)[2], float scale,
                              float (&old)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float found[2] = {scores[2 * half], scores[2 * half + 1]};
#pragma unroll
      for (int n = 1; n < Keys / 8; ++n)
#pragma unroll
        for (int i = 0; i < 2; ++i) found[i] = fmaxf(found[i], scores[4 * n + 2 * half + i]);
      float row_largest = fmaxf(found[0], found[1]) + row_scores[half];
      row_largest = fmaxf(row_largest, __shfl_xor_sync(all_lanes, row_largest, 1));
      row_largest = fmaxf(row_largest, __shfl_xor_sync(all_lanes, row_largest, 2));
      row_largest = fmaxf(row_largest, largest[half]);
      old[half] = exp2_approximate((largest[half] - row_largest) * scale);
      largest[half] = row_largest;
      const float offset = (row_largest - row_scores[half]) * scale;
      float sums[2] = {};
#pragma unroll
      for (int n = 0; n < Keys / 8; ++n)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& score = scores[4 * n + 2 * half + i];
          score = exp2_approximate(fmaf(score, scale, -offset));
          sums[i] += score;
        }
      total[half] = total[half] * old[half] + (sums[0] + sums[1]);
    }
  }

  /// The layouts of sums and of a left operand agree.
  __device__ inline void keep_shares(const float (&scores)[Keys / 2]) {
#pragma unroll
    for (int k = 0; k < Keys / 16; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i) shares[k][i] = pack_pair(scores[8 * k + 2 * i], scores[8 * k + 2 * i + 1]);
  }

  __device__ inline void rescale(const float (&old)[2]) {
#pragma unroll
    for (int panel = 0; panel < panels; ++panel)
#pragma unroll
      for (int i = 0; i < panel_width / 2; ++i) out[panel][i] *= old[i / 2 % 2];
  }

  /// Begins out += shares V; neither may be touched until end_values().
  __device__ inline void begin_values(unsigned values) {
    constexpr unsigned sixteen_rows = 16 * panel_row_bytes / 16;  // in units of an address
    const std::uint64_t value_panel = matrix_descriptor(values);
#pragma unroll
    for (auto& four : shares) hold_operand(four);
#pragma unroll
    for (auto& panel : out) take_sums(panel);
    begin_products();
#pragma unroll
    for (unsigned k = 0; k < Keys / 16; ++k)
#pragma unroll
      for (unsigned panel = 0; panel < panels; ++panel)
        multiply_warpgroup_rows(out[panel], shares[k],
                                value_panel + panel * (Keys * panel_row_bytes / 16) + k * sixteen_rows);
    close_products();
  }

  __device__ inline void end_values() {
    wait_for_products();
#pragma unroll
    for (auto& panel : out) take_sums(panel);
#pragma unroll
    for (auto& four : shares) hold_operand(four);
  }

  /// Writes the quotients; row_at(half) is where a query's goes, null: nowhere.
  template <typename RowAt>
  __device__ inline void store(int lane, RowAt&& row_at) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float row_total = total[half];
      row_total += __shfl_xor_sync(all_lanes, row_total, 1);
      row_total += __shfl_xor_sync(all_lanes, row_total, 2);
      bf16* row = row_at(half);
      if (row == nullptr) continue;
      const float factor = 1.0F / row_total;
#pragma unroll
      for (int n = 0; n < HeadDim / 8; ++n) {
        const float* four = out[n * 8 / panel_width] + 4 * (n % (panel_width / 8));
        store_pair(row + n * 8 + 2 * (lane % 4), {four[2 * half] * factor, four[2 * half + 1] * factor});
      }
    }
  }
};

// A kernel says of a tile of keys
//   copy_keys(tile), copy_values(tile): start the copy, to attention_memory's place;
//   begin(tile, scores, row_scores): what the products are added to, each and all of a row, where it `adds`;
//   mask(tile, scores): what is not seen becomes `masked`.
// There is at least one tile.

/// Scores, shares and values of a tile one after the other: for blocks that share a multiprocessor, whose
/// tensor cores serve another one meanwhile. The kernel has started the copies of the queries and of the
/// first tile's keys and values.
template <int HeadDim, int Queries, int Keys, typename Source>
__device__ inline void attend_in_turn(const Source& source, unsigned base, int tiles,
                                      attended_rows<HeadDim, Keys>& state) {
  using memory = attention_memory<HeadDim, Queries, Keys, 2>;
  const query_operand<HeadDim, Queries> queries(base, static_cast<int>(threadIdx.x) / (4 * warp_size));
  const float scale = score_scale<HeadDim>();
  close_copy_group();
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) {
      source.copy_keys(tile + 1);
      source.copy_values(tile + 1);
    }
    close_copy_group();
    wait_for_copies<1>();
    show_copies_to_tensor_cores();
    __syncthreads();
    float scores[Keys / 2];
    float row_scores[2] = {};
    float old[2];
    source.begin(tile, scores, row_scores);
    begin_scores<HeadDim, Queries, Keys>(queries, memory::keys(base, tile), Source::adds, scores);
    wait_for_products();
    take_sums(scores);
    source.mask(tile, scores);
    state.take(scores, row_scores, scale, old);
    state.rescale(old);
    state.keep_shares(scores);
    state.begin_values(memory::values(base, tile));
    state.end_values();
    __syncthreads();  // the next round overwrites the stage that was just read
  }
}

/// While the tensor cores add a tile's values, the threads turn the next tile's scores into shares: for a
/// block that has a multiprocessor and its registers for itself. The kernel has started the copies of the
/// queries and of the first tile's keys.
template <int HeadDim, int Queries, int Keys, int Stages, typename Source>
__device__ inline void attend_overlapped(const Source& source, unsigned base, int tiles,
                                         attended_rows<HeadDim, Keys>& state) {
  using memory = attention_memory<HeadDim, Queries, Keys, Stages>;
  const query_operand<HeadDim, Queries> queries(base, static_cast<int>(threadIdx.x) / (4 * warp_size));
  const float scale = score_scale<HeadDim>();
  // Group t: the values of tile t and the keys of the next, which are needed at the same time.
  const auto copy_group = [&](int t) {
    if (t < tiles) source.copy_values(t);
    if (t + 1 < tiles) source.copy_keys(t + 1);
    close_copy_group();
  };
  close_copy_group();
#pragma unroll
  for (int t = 0; t < Stages - 1; ++t) copy_group(t);
  wait_for_copies<Stages - 1>();
  show_copies_to_tensor_cores();
  __syncthreads();
  float old[2];
  {
    float scores[Keys / 2];
    float row_scores[2] = {};
    source.begin(0, scores, row_scores);
    begin_scores<HeadDim, Queries, Keys>(queries, memory::keys(base, 0), Source::adds, scores);
    wait_for_products();
    take_sums(scores);
    source.mask(0, scores);
    state.take(scores, row_scores, scale, old);
    state.keep_shares(scores);
  }
  for (int tile = 1; tile < tiles; ++tile) {
    wait_for_copies<Stages - 2>();
    show_copies_to_tensor_cores();
    __syncthreads();  // and nobody reads the stages any more that are copied to below
    float scores[Keys / 2];
    float row_scores[2] = {};
    source.begin(tile, scores, row_scores);
    begin_scores<HeadDim, Queries, Keys>(queries, memory::keys(base, tile), Source::adds, scores);
    state.begin_values(memory::values(base, tile - 1));
    copy_group(tile + Stages - 2);
    wait_for_products<1>();  // the scores
    take_sums(scores);
    source.mask(tile, scores);
    state.take(scores, row_scores, scale, old);
    state.end_values();
    state.rescale(old);
    state.keep_shares(scores);
  }
  wait_for_copies<Stages - 2>();
  show_copies_to_tensor_cores();
  __syncthreads();
  state.begin_values(memory::values(base, tiles - 1));
  state.end_values();
}

}  // namespace warpgroup_attention_tile
}  // namespace profgate::llm::cuda
