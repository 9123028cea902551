#include "vision_attention.h"
#include "vision_relative.cuh"
#include "vision_windows.cuh"

namespace profgate::llm::cuda {

template <typename T>
void plain_vision_attention(const queue& to,
                            const vision_attention_inputs<T>& in);  // plain_vision_attention.cu

inline namespace attention_vision {  // named: a kernel keeps its name from build to build

/// Products of the warp's queries with 64 rows of a table, from first_row on. Row r of the table is for the
/// key whose row (or column) is place + side - 1 - r, place being the query's own.
template <typename PlaceOf>
__device__ inline void note_table(unsigned queries, unsigned table, int first_row, int side, int warp,
                                  int lane, PlaceOf&& place_of, bf16* scores_at, int stride) {
  float products[query_tiles][key_tiles][4] = {};
  multiply_keys<head_width>(queries, table, warp, lane, products);
#pragma unroll
  for (int m = 0; m < query_tiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int query = warp * warp_queries + m * 16 + lane / 4 + 8 * half;
      note_relative(place_of(query) + side - 1 - first_row, side, lane, scores_at + query * stride,
                    [&](int n, int i) { return products[m][n][2 * half + i]; });
    }
}

/// Grid: (heads, query blocks of a window, windows). Side is no_side, any_side or the side itself.
template <int Side>
__global__ __launch_bounds__(block_threads) void vision_attention_kernel(vision_attention_inputs<bf16> in) {
  using tiles = shared_tiles<head_width>;
  extern __shared__ __align__(128) unsigned char shared_memory[];
  const unsigned base = shared_address(shared_memory);
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int head = static_cast<int>(blockIdx.x);
  const int first_query = static_cast<int>(blockIdx.y) * block_queries;
  const vision_window window(in, static_cast<int>(blockIdx.z));
  const int width = in.heads * head_width;
  const int side = Side > 0 ? Side : in.side;
  const int key_blocks = (window.positions + block_keys - 1) / block_keys;

  wait_for_previous_kernel();
  let_next_kernel_start();
  /// Queries (part 0), keys (1) and values (2) of the positions from `first` on.
  const auto rows_of = [&](int part, int first) {
    return [&in, &window, width, head, part, first](int row) {
      const int position = first + row;
      const bool valid = position < window.positions;
      const int token = valid ? window.token_at(position) : -1;
      const bf16* from = token < 0 ? in.qkv_bias : in.qkv + static_cast<std::int64_t>(token) * 3 * width;
      return source_row{from + part * width + head * head_width, valid};
    };
  };
  const auto copy_keys_and_values = [&](int block) {
    copy_rows<head_width, block_keys>(tiles::keys(base, block % 2), rows_of(1, block * block_keys));
    copy_rows<head_width, block_keys>(tiles::values(base, block % 2), rows_of(2, block * block_keys));
  };
  copy_rows<head_width, block_queries>(base, rows_of(0, first_query));
  copy_keys_and_values(0);
  close_copy_group();

  relative_scores relative{};
  if constexpr (Side != no_side) {
    relative.stride = relative_scores::stride_of(side);
    relative.of_rows = reinterpret_cast<bf16*>(shared_memory + tiles::bytes);
    relative.of_columns = relative.of_rows + block_queries * relative.stride;
    const int table_rows = 2 * side - 1;
    // The tables pass through the second stage, which the keys do not need yet.
    for (int first_row = 0; first_row < table_rows; first_row += block_keys) {
      copy_rows<head_width, block_keys>(tiles::keys(base, 1), in.relative_h, head_width, first_row,
                                        table_rows);
      copy_rows<head_width, block_keys>(tiles::values(base, 1), in.relative_w, head_width, first_row,
                                        table_rows);
      close_copy_group();
      wait_for_copies<0>();
      __syncthreads();
      note_table(
          base, tiles::keys(base, 1), first_row, side, warp, lane,
          [&](int query) { return (first_query + query) / side; }, relative.of_rows, relative.stride);
      note_table(
          base, tiles::values(base, 1), first_row, side, warp, lane,
          [&](int query) { return (first_query + query) % side; }, relative.of_columns, relative.stride);
      __syncthreads();
    }
  }

  const float scale = score_scale<head_width>();
  attended_so_far<head_width> state;
  for (int block = 0; block < key_blocks; ++block) {
    if (block + 1 < key_blocks) copy_keys_and_values(block + 1);
    close_copy_group();
    wait_for_copies<1>();
    __syncthreads();

    float scores[query_tiles][key_tiles][4] = {};
    if constexpr (Side != no_side) {
#pragma unroll
      for (int n = 0; n < key_tiles; ++n) {
        // Both keys of a pair are in one row of the window: its side is even.
        const int key = block * block_keys + n * 8 + 2 * (lane % 4);
        if (key >= window.positions) continue;
        const int row = key / side;
        const int column = key - row * side;
#pragma unroll
        for (int m = 0; m < query_tiles; ++m)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const int at = (warp * warp_queries + m * 16 + lane / 4 + 8 * half) * relative.stride;
            const float of_row = to_float(relative.of_rows[at + row]);
            const float2 of_columns = load_pair(relative.of_columns + at + column);
            scores[m][n][2 * half] = of_row + of_columns.x;
            scores[m][n][2 * half + 1] = of_row + of_columns.y;
          }
      }
    }
    multiply_keys<head_width>(base, tiles::keys(base, block % 2), warp, lane, scores);
    if ((block + 1) * block_keys > window.positions) {
#pragma unroll
      for (int m = 0; m < query_tiles; ++m)
#pragma unroll
        for (int n = 0; n < key_tiles; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            if (block * block_keys + n * 8 + 2 * (lane % 4) + i % 2 >= window.positions)
              scores[m][n][i] = masked;
    }
    state.take(scores, scale);
    multiply_values<head_width>(tiles::values(base, block % 2), lane, scores, state.out);
    __syncthreads();  // the next round overwrites the stage that was just read
  }

  state.store(warp, lane, [&](int row) -> bf16* {
    const int position = first_query + row;
    const int token = position < window.positions ? window.token_at(position) : -1;
    if (token < 0) return nullptr;
    return in.out + static_cast<std::int64_t>(token) * width + head * head_width;
  });
}

template <int Side>
void start(const queue& to, const vision_attention_inputs<bf16>& in, std::size_t shared_bytes) {
  allow_shared_bytes(vision_attention_kernel<Side>, shared_bytes);
  const std::int64_t positions = in.side == 0 ? in.tokens : std::int64_t{in.side} * in.side;
  const dim3 grid(static_cast<unsigned>(in.heads), ceil_div(positions, block_queries), window_count(in));
  launch(to, vision_attention_kernel<Side>, grid, dim3(block_threads), shared_bytes, in);
}

}  // namespace attention_vision

template <>
void vision_attention(const queue& to, const vision_attention_inputs<float>& in) {
  plain_vision_attention(to, in);
}

template <>
void vision_attention(const queue& to, const vision_attention_inputs<bf16>& in) {
  const std::size_t tile_bytes = shared_tiles<head_width>::bytes;
  const std::size_t shared_bytes = tile_bytes + (in.side > 0 ? relative_scores::bytes_of(in.side) : 0);
  const bool has_tiles = in.head_dim == head_width && in.side % 2 == 0;
  if (has_tiles && to.warpgroups && warpgroup_attention_bytes(in.side) <= to.shared_bytes)
    return vision_attention_by_warpgroups(to, in);
  if (!has_tiles || shared_bytes > to.shared_bytes) return plain_vision_attention(to, in);
  if (in.side == 0) return start<no_side>(to, in, shared_bytes);
  if (in.side == 64) return start<64>(to, in, shared_bytes);
  start<any_side>(to, in, shared_bytes);
}

}  // namespace profgate::llm::cuda
