#include "finish_product.cuh"
#include "short_gemv.h"

// Products of one token with a matrix so small that its reading takes little longer than a kernel's start
// and end: every warp takes its rows in one round, out of registers alone.
namespace profgate::llm::cuda {
inline namespace short_products {  // named: a kernel keeps its name from build to build

constexpr int block_threads = 256;
constexpr int block_warps = block_threads / warp_size;

/// What is added to the residual was normed before its first product; without a norm registers suffice for
/// more depth.
template <product_end End>
constexpr bool can_norm = End != product_end::residual;

/// A warp has Rows neighbouring rows of weights (for swiglu gate's and up's), Vectors vectors a lane of each.
/// Weights and norm are on their way before the kernel before this one has ended; after it only x is loaded,
/// once a block: all blocks ask the same few lines of the cache for it at the same moment, and those answer
/// one by one. The norm's squares are summed with the rows.
template <typename T, product_end End, int Rows, int Vectors>
__global__ __launch_bounds__(block_threads) void short_gemv(thin_product<T> p) {
  constexpr int streams = End == product_end::swiglu ? 2 : 1;
  constexpr int width = vector_width<T>;
  constexpr bool may_norm = can_norm<End>;
  __shared__ uint4 x_shared[Vectors * warp_size];
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int first_row =
      (static_cast<int>(blockIdx.x) * block_warps + static_cast<int>(threadIdx.x) / warp_size) * Rows;

  uint4 weights[streams][Rows][Vectors];
#pragma unroll
  for (int r = 0; r < Rows; ++r)
#pragma unroll
    for (int s = 0; s < streams; ++s)
#pragma unroll
      for (int v = 0; v < Vectors; ++v) {
        const int k = (v * warp_size + lane) * width;
        const std::int64_t row = first_row + r + s * p.rows;
        weights[s][r][v] = {0, 0, 0, 0};
        if (first_row + r < p.rows && k < p.depth) weights[s][r][v] = load_once(p.weight + row * p.depth + k);
      }
  uint4 factors[may_norm ? Vectors : 1];
  if (may_norm && p.norm_weight != nullptr)
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
      const int k = (v * warp_size + lane) * width;
      factors[may_norm ? v : 0] = {0, 0, 0, 0};
      if (k < p.depth) factors[may_norm ? v : 0] = load_vector(p.norm_weight + k);
    }
  // A product into the residual lets the next kernel start before its own wait: attention, before it, leaves
  // the memory idle while it merges, and the weights of what follows come in meanwhile.
  if constexpr (End == product_end::residual) let_next_kernel_start();
  keep_order();
  wait_for_previous_kernel();
  keep_order();
  if constexpr (End != product_end::residual) let_next_kernel_start();

  for (int i = static_cast<int>(threadIdx.x); i < Vectors * warp_size; i += block_threads)
    x_shared[i] = i * width < p.depth ? load_vector(p.x + i * width) : uint4{0, 0, 0, 0};
  float before = 0;  // lane r's of row r; read early, so that the row's end need not wait for it
  if constexpr (End == product_end::residual)
    if (lane < Rows && first_row + lane < p.rows) before = to_float(p.out[first_row + lane]);

  __syncthreads();
  keep_order();

  float squares = 0;
  float sums[streams][Rows][2] = {};  // even and odd elements: a multiply-add waits for the one before it
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    float values[width];
    unpack<T>(x_shared[v * warp_size + lane], values);
    if (may_norm && p.norm_weight != nullptr) {
      float factor[width];
      unpack<T>(factors[may_norm ? v : 0], factor);
#pragma unroll
      for (int i = 0; i < width; ++i) {
        squares += values[i] * values[i];
        values[i] *= factor[i];
      }
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r)
#pragma unroll
      for (int s = 0; s < streams; ++s) {
        float w[width];
        unpack<T>(weights[s][r][v], w);
#pragma unroll
        for (int i = 0; i < width; ++i) sums[s][r][i % 2] += w[i] * values[i];
      }
  }
  float totals[streams][Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r)
#pragma unroll
    for (int s = 0; s < streams; ++s) totals[s][r] = warp_sum(sums[s][r][0] + sums[s][r][1]);
  if constexpr (may_norm) squares = warp_sum(squares);
  keep_order();
  const float scale =
      may_norm && p.norm_weight != nullptr ? rsqrtf(squares / static_cast<float>(p.depth) + p.epsilon) : 1.0F;
#pragma unroll
  for (int r = 0; r < Rows; ++r)
    if (lane == r && first_row + r < p.rows)
      finish_product<T, End>(p, first_row + r, first_row + r, totals[0][r] * scale,
                             totals[streams - 1][r] * scale, before);
}

template <typename T, product_end End, int Rows, int Vectors>
bool start(const queue& to, const thin_product<T>& p) {
  if (!can_norm<End> && p.norm_weight != nullptr) return false;
  const auto kernel = short_gemv<T, End, Rows, Vectors>;
  constexpr int streams = End == product_end::swiglu ? 2 : 1;
  constexpr int blocks_at_once = streams * Rows * Vectors <= 8 && Vectors <= 4 ? 3 : 2;
  const unsigned blocks = ceil_div(p.rows, block_warps * Rows);
  if (blocks > static_cast<unsigned>(to.multiprocessors * blocks_at_once)) return false;
  // Blocks that start early go wherever there is room: several to the few multiprocessors that the kernel
  // before leaves free, none to others. Where one a multiprocessor suffices each asks for more than half of
  // its shared memory, which keeps a second one out (qwen3-0.6b on an H200: 0.64 ms a token, not 0.67).
  std::size_t shared_bytes = 0;
  if (to.overlap && blocks <= static_cast<unsigned>(to.multiprocessors)) {
    shared_bytes = to.shared_bytes / 2 + 1024;
    allow_shared_bytes(kernel, shared_bytes);
  }
  launch(to, kernel, dim3(blocks), dim3(block_threads), shared_bytes, p);
  return true;
}

template <typename T, product_end End>
bool start_for_depth(const queue& to, const thin_product<T>& p) {
  constexpr int streams = End == product_end::swiglu ? 2 : 1;
  const auto vectors = ceil_div(p.depth, warp_size * vector_width<T>);
  if (vectors <= 4) return start<T, End, 2 / streams, 4>(to, p);
  if constexpr (sizeof(T) == 2 && End != product_end::swiglu) {
    if (vectors <= 8) return start<T, End, 1, 8>(to, p);
    if (vectors <= 12) return start<T, End, 1, 12>(to, p);
  }
  return false;
}

}  // namespace short_products

template <typename T>
bool multiply_short_vector(const queue& to, const thin_product<T>& product, product_end end) {
  switch (end) {
    case product_end::store:
      return start_for_depth<T, product_end::store>(to, product);
    case product_end::residual:
      return start_for_depth<T, product_end::residual>(to, product);
    case product_end::swiglu:
      return start_for_depth<T, product_end::swiglu>(to, product);
    case product_end::logits:
      return false;  // as many rows as words
  }
  return false;
}

template bool multiply_short_vector(const queue&, const thin_product<float>&, product_end);
template bool multiply_short_vector(const queue&, const thin_product<bf16>&, product_end);

}  // namespace profgate::llm::cuda
