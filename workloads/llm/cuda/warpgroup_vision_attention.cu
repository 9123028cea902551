// Attention of the vision encoder as in vision_attention.cu, with the products of Hopper's warpgroups.
#include "vision_attention.h"
#include "vision_relative.cuh"
#include "vision_windows.cuh"
#include "warpgroup_attention.cuh"

namespace profgate::llm::cuda {
inline namespace attention_vision_warpgroups {  // named: a kernel keeps its name from build to build

constexpr int pair_threads = 256;  // two warpgroups, of 64 queries each
using memory = attention_memory<head_width, block_queries, block_keys, 2>;
/// A thread's part of 64 x 64 sums: of each 8 columns two, of its row and of the one 8 further.
constexpr int tile_sums = block_keys / 2;
static_assert(block_queries == 2 * group_queries);

/// Queries (part 0), keys (1) and values (2) of one head in a window.
struct window_rows {
  const vision_attention_inputs<bf16>& in;
  const vision_window& window;
  int head;

  /// Where the positions from `first` on lie.
  __device__ auto of(int part, int first) const {
    return [this, part, first](int row) {
      const int width = in.heads * head_width;
      const int position = first + row;
      const bool valid = position < window.positions;
      const int token = valid ? window.token_at(position) : -1;
      const bf16* from = token < 0 ? in.qkv_bias : in.qkv + static_cast<std::int64_t>(token) * 3 * width;
      return source_row{from + part * width + head * head_width, valid};
    };
  }
};

/// What attend_in_turn() asks of a window. Side is no_side, any_side or the side itself.
template <int Side>
struct window_tiles {
  static constexpr bool adds = Side != no_side;
  static constexpr bool is_row_of_keys = Side == block_keys;  // a tile of keys is a row of the window
  window_rows rows;
  unsigned base;
  int own_query;  ///< of the block, and the one 8 further
  int lane;
  int side;
  relative_scores relative;
  /// Pairs of bfloat16: where a tile is a row, the columns' scores of all tiles are the same.
  unsigned columns_of_all[is_row_of_keys ? key_tiles : 1][2];

  __device__ void copy_keys(int tile) const {
    copy_tile<head_width, block_keys, pair_threads>(memory::keys(base, tile), rows.of(1, tile * block_keys));
  }
  __device__ void copy_values(int tile) const {
    copy_tile<head_width, block_keys, pair_threads>(memory::values(base, tile),
                                                    rows.of(2, tile * block_keys));
  }

  /// The queries' products with the tables of relative positions, at scores_at in shared memory. The queries
  /// are under way; the tables pass through the second stage, which the keys do not need yet.
  __device__ void note_tables(const vision_attention_inputs<bf16>& in, int first_query, bf16* scores_at) {
    relative.stride = relative_scores::stride_of(side);
    relative.of_rows = scores_at;
    relative.of_columns = relative.of_rows + block_queries * relative.stride;
    const query_operand<head_width, block_queries> queries(base,
                                                           static_cast<int>(threadIdx.x) / (4 * warp_size));
    const int table_rows = 2 * side - 1;
    for (int first_row = 0; first_row < table_rows; first_row += block_keys) {
      const auto table_row = [=](const bf16* table) {
        return [=](int row) {
          const bool valid = first_row + row < table_rows;
          return source_row{table + (valid ? first_row + row : 0) * head_width, valid};
        };
      };
      copy_tile<head_width, block_keys, pair_threads>(memory::keys(base, 1), table_row(in.relative_h));
      copy_tile<head_width, block_keys, pair_threads>(memory::values(base, 1), table_row(in.relative_w));
      close_copy_group();
      wait_for_copies<0>();
      show_copies_to_tensor_cores();
      __syncthreads();
      const auto note = [&](unsigned table, bf16* scores_of_block, auto&& place_of) {
        float products[tile_sums];
        begin_scores<head_width, block_queries, block_keys>(queries, table, false, products);
        wait_for_products();
        take_sums(products);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int query = own_query + 8 * half;
          note_relative(place_of(first_query + query) + side - 1 - first_row, side, lane,
                        scores_of_block + query * relative.stride,
                        [&](int n, int i) { return products[4 * n + 2 * half + i]; });
        }
      };
      note(memory::keys(base, 1), relative.of_rows, [&](int position) { return position / side; });
      note(memory::values(base, 1), relative.of_columns, [&](int position) { return position % side; });
      __syncthreads();
    }
    if constexpr (is_row_of_keys) {
#pragma unroll
      for (int n = 0; n < key_tiles; ++n)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          columns_of_all[n][half] = *reinterpret_cast<const unsigned*>(
              relative.of_columns + (own_query + 8 * half) * relative.stride + n * 8 + 2 * (lane % 4));
    }
  }

  __device__ void begin(int tile, float (&scores)[tile_sums], float (&row_scores)[2]) const {
    if constexpr (is_row_of_keys) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        row_scores[half] = to_float(relative.of_rows[(own_query + 8 * half) * relative.stride + tile]);
#pragma unroll
        for (int n = 0; n < key_tiles; ++n) {
          scores[4 * n + 2 * half] = __uint_as_float(columns_of_all[n][half] << 16);
          scores[4 * n + 2 * half + 1] = __uint_as_float(columns_of_all[n][half] & 0xFFFF0000U);
        }
      }
    } else if constexpr (adds) {
#pragma unroll
      for (int n = 0; n < key_tiles; ++n) {
        // Both keys of a pair are in one row of the window: its side is even.
        const int key = tile * block_keys + n * 8 + 2 * (lane % 4);
        const bool valid = key < rows.window.positions;
        const int row = valid ? key / side : 0;
        const int column = valid ? key - row * side : 0;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int at = (own_query + 8 * half) * relative.stride;
          const float of_row = to_float(relative.of_rows[at + row]);
          const float2 of_columns = load_pair(relative.of_columns + at + column);
          scores[4 * n + 2 * half] = of_row + of_columns.x;
          scores[4 * n + 2 * half + 1] = of_row + of_columns.y;
        }
      }
    }
  }

  __device__ void mask(int tile, float (&scores)[tile_sums]) const {
    if constexpr (is_row_of_keys) return;
    if ((tile + 1) * block_keys <= rows.window.positions) return;
#pragma unroll
    for (int i = 0; i < tile_sums; ++i)
      if (tile * block_keys + i / 4 * 8 + 2 * (lane % 4) + i % 2 >= rows.window.positions) scores[i] = masked;
  }
};

/// A block is two warpgroups over the same keys. Grid: (heads, query blocks of a window, windows).
template <int Side>
__global__ __launch_bounds__(pair_threads, 2) void warpgroup_attention(vision_attention_inputs<bf16> in) {
  extern __shared__ __align__(128) unsigned char shared_memory[];
  const unsigned memory_begin = shared_address(shared_memory);
  const unsigned base = (memory_begin + swizzle_bytes - 1) / swizzle_bytes * swizzle_bytes;
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int own_query = warp * 16 + lane / 4;  // of the block, and the one 8 further
  const int head = static_cast<int>(blockIdx.x);
  const int first_query = static_cast<int>(blockIdx.y) * block_queries;
  const int side = Side == no_side ? 0 : Side == any_side ? in.side : Side;
  const vision_window window(in, static_cast<int>(blockIdx.z), side);
  if constexpr (Side != no_side)
    if (window.first_row + first_query / side >= window.grid) return;  // nothing but padding asks
  window_tiles<Side> source{.rows = {in, window, head},
                            .base = base,
                            .own_query = own_query,
                            .lane = lane,
                            .side = side,
                            .relative = {},
                            .columns_of_all = {}};

  wait_for_previous_kernel();
  let_next_kernel_start();
  copy_tile<head_width, block_queries, pair_threads>(base, source.rows.of(0, first_query));
  source.copy_keys(0);
  source.copy_values(0);
  if constexpr (Side != no_side) {
    auto* const scores_at = reinterpret_cast<bf16*>(shared_memory + (base - memory_begin) + memory::bytes);
    source.note_tables(in, first_query, scores_at);
  }
  attended_rows<head_width, block_keys> state;
  attend_in_turn<head_width, block_queries>(source, base, (window.positions + block_keys - 1) / block_keys,
                                            state);
  state.store(lane, [&](int half) -> bf16* {
    const int position = first_query + own_query + 8 * half;
    const int token = position < window.positions ? window.token_at(position) : -1;
    if (token < 0) return nullptr;
    return in.out + (static_cast<std::int64_t>(token) * in.heads + head) * head_width;
  });
}

template <int Side>
void start_by_warpgroups(const queue& to, const vision_attention_inputs<bf16>& in) {
  const std::size_t shared_bytes = warpgroup_attention_bytes(in.side);
  allow_shared_bytes(warpgroup_attention<Side>, shared_bytes);
  const std::int64_t positions = in.side == 0 ? in.tokens : std::int64_t{in.side} * in.side;
  const dim3 grid(static_cast<unsigned>(in.heads), ceil_div(positions, block_queries), window_count(in));
  launch(to, warpgroup_attention<Side>, grid, dim3(pair_threads), shared_bytes, in);
}

}  // namespace attention_vision_warpgroups

std::size_t warpgroup_attention_bytes(int side) {
  return swizzle_bytes + memory::bytes + (side > 0 ? relative_scores::bytes_of(side) : 0);
}

void vision_attention_by_warpgroups(const queue& to, const vision_attention_inputs<bf16>& in) {
  if (in.side == 0) return start_by_warpgroups<no_side>(to, in);
  if (in.side == 14) return start_by_warpgroups<14>(to, in);
  if (in.side == 64) return start_by_warpgroups<64>(to, in);
  start_by_warpgroups<any_side>(to, in);
}

}  // namespace profgate::llm::cuda
