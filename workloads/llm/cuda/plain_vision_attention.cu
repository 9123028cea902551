// Attention of the vision encoder without tensor cores: float32, and what the tiled kernel has no code for.
#include "device.cuh"
#include "vision_attention.h"
#include "vision_windows.cuh"

namespace profgate::llm::cuda {
inline namespace attention_vision_plain {  // named: a kernel keeps its name from build to build

constexpr int block_warps = 4;
constexpr int block_threads = block_warps * warp_size;
constexpr int largest_head_dim = 128;
constexpr int lane_dims = largest_head_dim / warp_size;

/// dot(query, row), query in shared memory.
template <typename T>
__device__ inline float product(const float* query, const T* row, int head_dim) {
  float sum = 0;
  for (int d = 0; d < head_dim; d += vector_width<T>) {
    float values[vector_width<T>];
    unpack<T>(load_vector(row + d), values);
#pragma unroll
    for (int i = 0; i < vector_width<T>; ++i) sum += query[d + i] * values[i];
  }
  return sum;
}

/// A warp a query: a lane takes a key at a time, then dimensions of the output. Grid: (query blocks of a
/// window, heads, windows).
template <typename T>
__global__ __launch_bounds__(block_threads) void plain_vision_attention_kernel(
    vision_attention_inputs<T> in) {
  extern __shared__ float shared_floats[];
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const vision_window window(in, static_cast<int>(blockIdx.z));
  const int position = static_cast<int>(blockIdx.x) * block_warps + warp;
  const int head = static_cast<int>(blockIdx.y);
  const int width = in.heads * in.head_dim;
  float* query = shared_floats + warp * (in.head_dim + 2 * in.side);
  float* of_rows = query + in.head_dim;   // [side]
  float* of_columns = of_rows + in.side;  // [side]
  const auto row_of = [&](int token) {
    return (token < 0 ? in.qkv_bias : in.qkv + static_cast<std::int64_t>(token) * 3 * width) +
           head * in.head_dim;
  };

  wait_for_previous_kernel();
  let_next_kernel_start();
  if (position >= window.positions) return;  // no barrier of the block follows
  const int asking = window.token_at(position);
  if (asking < 0) return;
  for (int d = lane; d < in.head_dim; d += warp_size) query[d] = to_float(row_of(asking)[d]);
  __syncwarp();
  for (int key = lane; key < in.side; key += warp_size) {
    const int row = position / in.side - key + in.side - 1;
    const int column = position % in.side - key + in.side - 1;
    of_rows[key] = product(query, in.relative_h + row * in.head_dim, in.head_dim);
    of_columns[key] = product(query, in.relative_w + column * in.head_dim, in.head_dim);
  }
  __syncwarp();

  const float scale = rsqrtf(static_cast<float>(in.head_dim));
  float largest = -1e30F;
  float total = 0;
  float out[lane_dims] = {};
  for (int first = 0; first < window.positions; first += warp_size) {
    const int key = first + lane;
    float score = -2e30F;
    if (key < window.positions) {
      score = scale * product(query, row_of(window.token_at(key)) + width, in.head_dim);
      if (in.side > 0) score += of_rows[key / in.side] + of_columns[key % in.side];
    }
    float block_largest = fmaxf(largest, score);
#pragma unroll
    for (int offset = warp_size / 2; offset > 0; offset /= 2)
      block_largest = fmaxf(block_largest, __shfl_xor_sync(all_lanes, block_largest, offset));
    const float old = expf(largest - block_largest);
    largest = block_largest;
    const float share = expf(score - largest);
    total = total * old + warp_sum(share);
#pragma unroll
    for (float& value : out) value *= old;
    const int count = min(warp_size, window.positions - first);
    for (int other = 0; other < count; ++other) {
      const float weight = __shfl_sync(all_lanes, share, other);
      const T* values = row_of(window.token_at(first + other)) + 2 * width;
#pragma unroll
      for (int i = 0; i < lane_dims; ++i) {
        const int d = i * warp_size + lane;
        if (d < in.head_dim) out[i] += weight * to_float(values[d]);
      }
    }
  }
  T* to = in.out + static_cast<std::int64_t>(asking) * width + head * in.head_dim;
#pragma unroll
  for (int i = 0; i < lane_dims; ++i) {
    const int d = i * warp_size + lane;
    if (d < in.head_dim) to[d] = from_float<T>(out[i] / total);
  }
}

}  // namespace attention_vision_plain

template <typename T>
void plain_vision_attention(const queue& to, const vision_attention_inputs<T>& in) {
  const std::int64_t positions = in.side == 0 ? in.tokens : std::int64_t{in.side} * in.side;
  const dim3 grid(ceil_div(positions, block_warps), static_cast<unsigned>(in.heads), window_count(in));
  const auto floats = static_cast<std::size_t>(block_warps * (in.head_dim + 2 * in.side));
  launch(to, plain_vision_attention_kernel<T>, grid, dim3(block_threads), floats * sizeof(float), in);
}

template void plain_vision_attention(const queue&, const vision_attention_inputs<float>&);
template void plain_vision_attention(const queue&, const vision_attention_inputs<__nv_bfloat16>&);

}  // namespace profgate::llm::cuda
