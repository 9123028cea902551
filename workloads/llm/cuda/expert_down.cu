#include "token_choice.cuh"

namespace profgate::llm::cuda {
inline namespace token_expert_products {  // named: a kernel keeps its name from build to build

constexpr int block_threads = 256;
constexpr int block_warps = block_threads / warp_size;
constexpr int blocks_per_multiprocessor = 2;

/// A block has Rows neighbouring rows of hidden, and of each the rows of the shared experts' down and of
/// every chosen one's. They lie in columns of one vector a lane; warps take the columns in turns, Columns at
/// a time, and only those of the first turn are loaded before the kernel before this one has ended: on an
/// H200 they are all.
template <typename T, int Rows, int Columns>
__global__ __launch_bounds__(block_threads,
                             blocks_per_multiprocessor) void expert_down_gemv(token_experts<T> p) {
  constexpr int width = vector_width<T>;
  constexpr int column_width = warp_size * width;
  __shared__ shared_choice choice;
  __shared__ float partial[block_warps][Rows];
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int hidden = p.shape.hidden;
  const int first_row = static_cast<int>(blockIdx.x) * Rows;
  const int shared_columns = (p.shared_width + column_width - 1) / column_width;
  const int expert_columns = (p.shape.width + column_width - 1) / column_width;
  const int columns = shared_columns + p.shape.top_k * expert_columns;
  choice.take(p);

  uint4 weights[Columns][Rows];
  int x_at[Columns];  // element of activated; -1: this lane has none in the column
  float share[Columns];
  const auto load_columns = [&](int first_column) {
#pragma unroll
    for (int c = 0; c < Columns; ++c) {
      const int column = first_column + c * block_warps + warp;
      const bool is_shared = column < shared_columns;
      const int of_expert = column - shared_columns;
      const int slot = is_shared || column >= columns ? 0 : of_expert / expert_columns;
      const int k = (is_shared ? column : of_expert - slot * expert_columns) * column_width + lane * width;
      const int row_width = is_shared ? p.shared_width : p.shape.width;
      const bool valid = column < columns && k < row_width;
      const T* from =
          (is_shared ? p.shared_down
                     : p.down + static_cast<std::int64_t>(choice.ids[slot]) * hidden * p.shape.width) +
          static_cast<std::int64_t>(first_row) * row_width + k;
      share[c] = is_shared ? 1.0F : choice.shares[slot];
      x_at[c] = !valid ? -1 : is_shared ? k : p.shared_width + slot * p.shape.width + k;
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        weights[c][r] = {0, 0, 0, 0};
        if (valid && first_row + r < hidden)
          weights[c][r] = load_once(from + static_cast<std::int64_t>(r) * row_width);
      }
    }
  };
  load_columns(0);
  fetch_lines(p.next_weight, p.next_elements * static_cast<std::int64_t>(sizeof(T)));
  // All of this block's threads know the choice; once all blocks do, the logits and it go back to 0.
  unsigned readers_before = 0;
  if (threadIdx.x == 0) readers_before = atomicAdd(p.readers, 1U);
  keep_order();
  wait_for_previous_kernel();
  keep_order();
  let_next_kernel_start();
  float before = 0;  // thread r's of row r; read early, so that the row's end need not wait for it
  const bool has_row =
      static_cast<int>(threadIdx.x) < Rows && first_row + static_cast<int>(threadIdx.x) < hidden;
  if (has_row) before = to_float(p.hidden[first_row + static_cast<int>(threadIdx.x)]);

  float sums[Rows] = {};
  for (int first_column = 0; first_column < columns; first_column += Columns * block_warps) {
    if (first_column > 0) load_columns(first_column);
    uint4 x[Columns];
#pragma unroll
    for (int c = 0; c < Columns; ++c)
      x[c] = x_at[c] >= 0 ? load_vector(p.activated + x_at[c]) : uint4{0, 0, 0, 0};
#pragma unroll
    for (int c = 0; c < Columns; ++c) {
      float values[width];
      unpack<T>(x[c], values);
#pragma unroll
      for (int i = 0; i < width; ++i) values[i] *= share[c];
#pragma unroll
      for (int r = 0; r < Rows; ++r) sums[r] += multiply_vector<T>(weights[c][r], values);
    }
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    sums[r] = warp_sum(sums[r]);
    if (lane == 0) partial[warp][r] = sums[r];
  }
  __syncthreads();
  if (has_row) {
    float sum = 0;
#pragma unroll
    for (int w = 0; w < block_warps; ++w) sum += partial[w][threadIdx.x];
    p.hidden[first_row + static_cast<int>(threadIdx.x)] = from_float<T>(before + sum);
  }
  if (warp != 0 || __shfl_sync(all_lanes, readers_before, 0) != gridDim.x - 1) return;
  for (int expert = lane; expert < p.shape.experts; expert += warp_size) p.logits[expert] = 0;
  if (lane < p.shape.top_k) p.choices[lane] = 0;
  if (lane == 0) *p.readers = 0;
}

template <typename T, int Rows, int Columns>
void start_down(const queue& to, const token_experts<T>& product) {
  launch(to, expert_down_gemv<T, Rows, Columns>, dim3(ceil_div(product.shape.hidden, Rows)),
         dim3(block_threads), 0, product);
}

}  // namespace token_expert_products

/// As few rows a block as let all blocks run at once.
template <typename T>
void multiply_expert_down(const queue& to, const token_experts<T>& product) {
  const auto rows = ceil_div(product.shape.hidden, to.multiprocessors * blocks_per_multiprocessor);
  if (rows <= 2) return start_down<T, 2, 4>(to, product);
  if (rows <= 4) return start_down<T, 4, 4>(to, product);
  if (rows <= 5) return start_down<T, 5, 4>(to, product);
  start_down<T, 8, 3>(to, product);
}

template void multiply_expert_down(const queue&, const token_experts<float>&);
template void multiply_expert_down(const queue&, const token_experts<bf16>&);

}  // namespace profgate::llm::cuda
