#include "device.cuh"
#include "vision_ops.h"

namespace profgate::llm::cuda {
inline namespace vision_elements {  // named: a kernel keeps its name from build to build

constexpr int block_threads = 256;
constexpr int block_warps = block_threads / warp_size;
constexpr int color_channels = 3;

/// The thread's number among all of the grid.
__device__ inline std::int64_t thread_number() {
  return static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
}

/// A warp a row. Rows of up to 8 vectors a lane stay in registers between the three passes; of longer ones
/// the rest is read again.
template <typename T>
__global__ __launch_bounds__(block_threads) void layer_norm_kernel(const T* x, const T* weight, const T* bias,
                                                                   float epsilon, std::int64_t rows,
                                                                   int width, T* out) {
  constexpr int kept = 8;
  constexpr int per_vector = vector_width<T>;
  wait_for_previous_kernel();
  let_next_kernel_start();
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * block_warps + static_cast<int>(threadIdx.x) / warp_size;
  if (row >= rows) return;
  const int vectors = width / per_vector;
  const T* from = x + row * width;
  T* to = out + row * width;
  uint4 stored[kept];
#pragma unroll
  for (int i = 0; i < kept; ++i) {
    const int at = i * warp_size + lane;
    if (at < vectors) stored[i] = load_vector(from + at * per_vector);
  }
  const auto for_all = [&](auto&& body) {
#pragma unroll
    for (int i = 0; i < kept; ++i) {
      const int at = i * warp_size + lane;
      if (at < vectors) body(at, stored[i]);
    }
    for (int at = kept * warp_size + lane; at < vectors; at += warp_size)
      body(at, load_vector(from + at * per_vector));
  };

  float total = 0;
  for_all([&](int, const uint4& vector) {
    float values[per_vector];
    unpack<T>(vector, values);
#pragma unroll
    for (const float value : values) total += value;
  });
  const float mean = warp_sum(total) / static_cast<float>(width);
  float squares = 0;
  for_all([&](int, const uint4& vector) {
    float values[per_vector];
    unpack<T>(vector, values);
#pragma unroll
    for (const float value : values) squares += (value - mean) * (value - mean);
  });
  const float scale = rsqrtf(warp_sum(squares) / static_cast<float>(width) + epsilon);
  for_all([&](int at, const uint4& vector) {
    float values[per_vector];
    float factors[per_vector];
    float offsets[per_vector];
    unpack<T>(vector, values);
    unpack<T>(load_vector(weight + at * per_vector), factors);
    unpack<T>(load_vector(bias + at * per_vector), offsets);
#pragma unroll
    for (int i = 0; i < per_vector; ++i) values[i] = (values[i] - mean) * scale * factors[i] + offsets[i];
    *reinterpret_cast<uint4*>(to + at * per_vector) = pack<T>(values);
  });
}

/// value times the normal distribution's integral up to it, 1e-6 off at most, by Abramowitz and
/// Stegun's 7.1.26 for the integral of what lies beyond: erff() takes longer than the memory that the values
/// come from.
__device__ inline float gelu_approximate(float value) {
  const float x = fabsf(value) * 0.70710678F;
  const float t = __fdividef(1.0F, fmaf(0.3275911F, x, 1.0F));
  float series = fmaf(1.061405429F, t, -1.453152027F);
  series = fmaf(series, t, 1.421413741F);
  series = fmaf(series, t, -0.284496736F);
  series = fmaf(series, t, 0.254829592F);
  const float beyond = 0.5F * series * t * __expf(-x * x);
  return value * (value > 0 ? 1.0F - beyond : beyond);
}

template <typename T, bool Quick>
__global__ __launch_bounds__(block_threads) void gelu_kernel(T* values, std::int64_t vectors) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t at = thread_number();
  if (at >= vectors) return;
  T* here = values + at * vector_width<T>;
  float of_vector[vector_width<T>];
  unpack<T>(load_vector(here), of_vector);
#pragma unroll
  for (float& value : of_vector) {
    if constexpr (Quick)
      value = value / (1.0F + __expf(-1.702F * value));
    else if constexpr (sizeof(T) == 2)
      value = gelu_approximate(value);
    else
      value = 0.5F * value * (1.0F + erff(value * 0.70710678118654752440F));
  }
  *reinterpret_cast<uint4*>(here) = pack<T>(of_vector);
}

/// A thread an element of out.
template <typename T>
__global__ __launch_bounds__(block_threads) void patches_kernel(const T* pixels, int size, int patch,
                                                                std::int64_t count, T* out) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t number = thread_number();
  if (number >= count) return;
  const int depth = color_channels * patch * patch;
  const int p = static_cast<int>(number / depth);
  const int within = static_cast<int>(number % depth);
  const int channel = within / (patch * patch);
  const int grid = size / patch;
  const int row = p / grid * patch + within / patch % patch;
  const int column = p % grid * patch + within % patch;
  out[number] = pixels[(static_cast<std::int64_t>(channel) * size + row) * size + column];
}

/// A thread a vector of out: its elements are neighbours of one position, of one to three channels.
template <typename T>
__global__ __launch_bounds__(block_threads) void neighbours_kernel(const T* x, int side, int channels,
                                                                   int stride, int out_side,
                                                                   std::int64_t vectors, T* out) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t at = thread_number();
  if (at >= vectors) return;
  const int row_vectors = channels * 9 / vector_width<T>;
  const int position = static_cast<int>(at / row_vectors);
  const int first = static_cast<int>(at % row_vectors) * vector_width<T>;
  const int top = position / out_side * stride - 1;
  const int left = position % out_side * stride - 1;
  float values[vector_width<T>];
#pragma unroll
  for (int i = 0; i < vector_width<T>; ++i) {
    const int channel = (first + i) / 9;
    const int tap = (first + i) % 9;
    const int row = top + tap / 3;
    const int column = left + tap % 3;
    const bool inside = row >= 0 && row < side && column >= 0 && column < side;
    values[i] =
        inside ? to_float(x[(static_cast<std::int64_t>(row) * side + column) * channels + channel]) : 0.0F;
  }
  *reinterpret_cast<uint4*>(out + at * vector_width<T>) = pack<T>(values);
}

/// A thread a vector of out, [1 + features, width].
template <typename T>
__global__ __launch_bounds__(block_threads) void embed_features_kernel(const T* class_token,
                                                                       const T* features, const T* positions,
                                                                       int row_vectors, std::int64_t vectors,
                                                                       T* out) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t at = thread_number();
  if (at >= vectors) return;
  const std::int64_t width = static_cast<std::int64_t>(row_vectors) * vector_width<T>;
  const std::int64_t element = at * vector_width<T>;
  float values[vector_width<T>];
  float places[vector_width<T>];
  unpack<T>(load_vector(at < row_vectors ? class_token + element : features + element - width), values);
  unpack<T>(load_vector(positions + element), places);
#pragma unroll
  for (int i = 0; i < vector_width<T>; ++i) values[i] += places[i];
  *reinterpret_cast<uint4*>(out + element) = pack<T>(values);
}

/// A thread a vector of out; widths are counted in vectors.
template <typename T>
__global__ __launch_bounds__(block_threads) void join_kernel(const T* left, int left_vectors, const T* right,
                                                             int right_vectors, std::int64_t vectors,
                                                             T* out) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t at = thread_number();
  if (at >= vectors) return;
  const std::int64_t row = at / (left_vectors + right_vectors);
  const int within = static_cast<int>(at % (left_vectors + right_vectors));
  const std::int64_t from =
      within < left_vectors ? row * left_vectors + within : row * right_vectors + within - left_vectors;
  reinterpret_cast<uint4*>(out)[at] =
      reinterpret_cast<const uint4*>(within < left_vectors ? left : right)[from];
}

/// Starts a kernel with a thread for each of `count` items.
template <typename... Parameters, typename... Arguments>
void launch_for(const queue& to, void (*kernel)(Parameters...), std::int64_t count, Arguments... arguments) {
  launch(to, kernel, dim3(ceil_div(count, block_threads)), dim3(block_threads), 0, arguments...);
}

}  // namespace vision_elements

template <typename T>
void layer_norm(const queue& to, const T* x, const T* weight, const T* bias, float epsilon, std::int64_t rows,
                int width, T* out) {
  launch(to, layer_norm_kernel<T>, dim3(ceil_div(rows, block_warps)), dim3(block_threads), 0, x, weight, bias,
         epsilon, rows, width, out);
}

template <typename T>
void gelu(const queue& to, T* values, std::int64_t count) {
  launch_for(to, gelu_kernel<T, false>, count / vector_width<T>, values, count / vector_width<T>);
}

template <typename T>
void quick_gelu(const queue& to, T* values, std::int64_t count) {
  launch_for(to, gelu_kernel<T, true>, count / vector_width<T>, values, count / vector_width<T>);
}

template <typename T>
void gather_patches(const queue& to, const T* pixels, int size, int patch, T* out) {
  const std::int64_t grid = size / patch;
  const std::int64_t count = grid * grid * color_channels * patch * patch;
  launch_for(to, patches_kernel<T>, count, pixels, size, patch, count, out);
}

template <typename T>
void gather_neighbours(const queue& to, const T* x, int side, int channels, int stride, T* out) {
  const int out_side = neighbours_side(side, stride);
  const std::int64_t vectors = std::int64_t{out_side} * out_side * channels * 9 / vector_width<T>;
  launch_for(to, neighbours_kernel<T>, vectors, x, side, channels, stride, out_side, vectors, out);
}

template <typename T>
void embed_features(const queue& to, const T* class_token, const T* features, const T* positions,
                    int feature_count, int width, T* out) {
  const int row_vectors = width / vector_width<T>;
  const std::int64_t vectors = (std::int64_t{1} + feature_count) * row_vectors;
  launch_for(to, embed_features_kernel<T>, vectors, class_token, features, positions, row_vectors, vectors,
             out);
}

template <typename T>
void join_rows(const queue& to, const T* left, int left_width, const T* right, int right_width, int rows,
               T* out) {
  const int left_vectors = left_width / vector_width<T>;
  const int right_vectors = right_width / vector_width<T>;
  const std::int64_t vectors = std::int64_t{rows} * (left_vectors + right_vectors);
  launch_for(to, join_kernel<T>, vectors, left, left_vectors, right, right_vectors, vectors, out);
}

#define PROFGATE_INSTANTIATE(T)                                                                       \
  template void layer_norm(const queue&, const T*, const T*, const T*, float, std::int64_t, int, T*); \
  template void gelu(const queue&, T*, std::int64_t);                                                 \
  template void quick_gelu(const queue&, T*, std::int64_t);                                           \
  template void gather_patches(const queue&, const T*, int, int, T*);                                 \
  template void gather_neighbours(const queue&, const T*, int, int, int, T*);                         \
  template void embed_features(const queue&, const T*, const T*, const T*, int, int, T*);             \
  template void join_rows(const queue&, const T*, int, const T*, int, int, T*)
PROFGATE_INSTANTIATE(float);
PROFGATE_INSTANTIATE(bf16);
#undef PROFGATE_INSTANTIATE

}  // namespace profgate::llm::cuda
