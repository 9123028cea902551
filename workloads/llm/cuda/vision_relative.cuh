#pragma once

#include "attention_tile.cuh"

// Relative positions in the attention of the vision encoder, on tensor cores.
namespace profgate::llm::cuda {
inline namespace vision_relative {

constexpr int head_width = 64;
constexpr int no_side = -1;  // there are no relative positions
constexpr int any_side = 0;  // the side is read from the inputs

/// Each query's products with the relative positions of rows and of columns, in shared memory:
/// [block_queries, stride] each, times sqrt(head_width), because the scores that they are added to are not
/// scaled yet. In bfloat16, as every activation, so that two blocks fit a multiprocessor.
struct relative_scores {
  bf16 *of_rows, *of_columns;
  int stride;

  /// An odd multiple of four words: the eight rows of a tile, four pairs of columns each, are in all banks.
  static constexpr __host__ __device__ int stride_of(int side) { return (side + 7) / 16 * 16 + 8; }
  static constexpr std::size_t bytes_of(int side) {
    return 2 * sizeof(bf16) * block_queries * static_cast<std::size_t>(stride_of(side));
  }
};
static_assert(relative_scores::stride_of(14) == 24 && relative_scores::stride_of(64) == 72 &&
              relative_scores::stride_of(24) == 24 && relative_scores::stride_of(26) == 40);

/// A lane's part of a query's products with 64 rows of a table, product_of(n, i) being that with row
/// n * 8 + 2 * (lane % 4) + i. Row 0 is for the key whose row (or column) is `last`, the next for the one
/// before it.
template <typename ProductOf>
__device__ inline void note_relative(int last, int side, int lane, bf16* scores_of_query,
                                     ProductOf&& product_of) {
#pragma unroll
  for (int n = 0; n < key_tiles; ++n)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int key = last - (n * 8 + 2 * (lane % 4) + i);
      if (key >= 0 && key < side) scores_of_query[key] = from_float<bf16>(8.0F * product_of(n, i));
    }
}
static_assert(head_width == 64, "8 is its square root");

}  // namespace vision_relative
}  // namespace profgate::llm::cuda
