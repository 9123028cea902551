#include "token_choice.cuh"
#include "vector_stage.cuh"

namespace profgate::llm::cuda {
inline namespace token_expert_products {  // named: a kernel keeps its name from build to build

constexpr int blocks_per_multiprocessor = 2;

/// fetch_line() of keys and values, one of each a thread.
template <typename T>
__device__ inline void fetch_context(const cached_context<T>& of, int filled) {
  constexpr int line_bytes = 128;
  const int position_bytes = of.head_dim * static_cast<int>(sizeof(T));
  const int head_lines = (filled * position_bytes + line_bytes - 1) / line_bytes;
  const int line = static_cast<int>(blockIdx.x * block_threads + threadIdx.x);
  if (head_lines == 0 || line / head_lines >= of.kv_heads) return;
  const std::int64_t at = line / head_lines * of.capacity * position_bytes + line % head_lines * line_bytes;
  fetch_line(reinterpret_cast<const char*>(of.keys) + at);
  fetch_line(reinterpret_cast<const char*>(of.values) + at);
}

/// An item is a row of the router, a row of gate and its of up in the shared experts, or such a pair in a
/// chosen expert, in this order.
template <typename T>
struct item_rows {
  const T* first = nullptr;   ///< of the router or of gate; null: nothing
  const T* second = nullptr;  ///< of up
};

/// The first items need no choice: each warp has loaded its own before the kernel before this one has ended.
/// A vector of weights is loaded again, for the next item, as soon as it has been used. Depth is in steps of
/// Vectors vectors a lane.
template <typename T, int Vectors>
__global__ __launch_bounds__(block_threads,
                             blocks_per_multiprocessor) void expert_gate_up_gemv(token_experts<T> p) {
  constexpr int width = vector_width<T>;
  constexpr int step = warp_size * width * Vectors;
  extern __shared__ __align__(16) float x_shared[];
  __shared__ float scratch[block_warps];
  __shared__ __align__(16) shared_ranking choice;
  const int depth = p.shape.hidden;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int lane_k = lane * width;
  const int dense_items = p.shape.experts + p.shared_width;
  const int items = dense_items + p.shape.top_k * p.shape.width;
  const int stride = static_cast<int>(gridDim.x) * block_warps;
  // The router's rows go to the first blocks: those that wait for them start later, if not at once.
  const int first_item =
      static_cast<int>(blockIdx.x) * block_warps + static_cast<int>(threadIdx.x) / warp_size;

  const auto dense_rows = [&](int item) -> item_rows<T> {
    if (item < p.shape.experts) return {p.router + static_cast<std::int64_t>(item) * depth, nullptr};
    if (item >= dense_items) return {};
    const T* gate = p.shared_gate_up + static_cast<std::int64_t>(item - p.shape.experts) * depth;
    return {gate, gate + static_cast<std::int64_t>(p.shared_width) * depth};
  };
  const auto expert_rows = [&](int item) -> item_rows<T> {
    if (item >= items) return {};
    const int row = item - dense_items;
    const std::int64_t expert = choice.ids[row / p.shape.width];
    const T* gate = p.gate_up + (expert * 2 * p.shape.width + row % p.shape.width) * depth;
    return {gate, gate + static_cast<std::int64_t>(p.shape.width) * depth};
  };
  uint4 held[2][Vectors];
  const auto load = [&](const item_rows<T>& rows, int v, int k) {
    held[0][v] = held[1][v] = {0, 0, 0, 0};
    if (k >= depth) return;
    if (rows.first != nullptr) held[0][v] = load_once(rows.first + k);
    if (rows.second != nullptr) held[1][v] = load_once(rows.second + k);
  };
  const auto load_first = [&](const item_rows<T>& rows) {
#pragma unroll
    for (int v = 0; v < Vectors; ++v) load(rows, v, v * warp_size * width + lane_k);
  };

  load_first(dense_rows(first_item));
  const thin_product<T> x_of{
      .x = p.hidden, .norm_weight = p.norm_weight, .epsilon = p.epsilon, .depth = depth};
  const x_stage<T> stage(x_of);
  // As in attention: of an earlier kernel than the previous one, and early, so that nothing waits for it.
  const int filled = p.next_context.keys == nullptr ? 0 : load_of_step(p.next_context.position);
  wait_for_previous_kernel();
  const float factor = stage.bring(x_shared, scratch);

  const auto multiply_item = [&](const item_rows<T>& rows, const item_rows<T>& next, float(&sums)[2]) {
    sums[0] = sums[1] = 0;
    for (int first_k = 0; first_k < depth; first_k += step) {
      const bool rows_end = first_k + step >= depth;
      const item_rows<T> then = rows_end ? next : rows;
      const int then_k = rows_end ? 0 : first_k + step;
#pragma unroll
      for (int v = 0; v < Vectors; ++v) {
        const uint4 now[2] = {held[0][v], held[1][v]};
        const int k = v * warp_size * width + lane_k;
        load(then, v, then_k + k);
        if (first_k + k >= depth) continue;
        float x[width];
        load_x<T>(x_shared, first_k + k, depth, x);
#pragma unroll
        for (int s = 0; s < 2; ++s) sums[s] += multiply_vector<T>(now[s], x);
      }
    }
    sums[0] = warp_sum(sums[0]) * factor;
    sums[1] = warp_sum(sums[1]) * factor;
  };

  int item = first_item;
  float sums[2];
  for (; item < dense_items; item += stride) {
    multiply_item(dense_rows(item), dense_rows(item + stride), sums);
    if (lane != 0) continue;
    if (item < p.shape.experts)
      publish(p.logits + item, sums[0]);
    else
      p.activated[item - p.shape.experts] = from_float<T>(silu_times(sums[0], sums[1]));
  }
  fetch_lines(p.shared_down, static_cast<std::int64_t>(depth) * p.shared_width * static_cast<int>(sizeof(T)));
  fetch_context(p.next_context, filled);  // while the choice is made, memory has little else to do
  choice.make(p);
  // Only now: the next kernel clears the logits.
  let_next_kernel_start();
  load_first(expert_rows(item));
  if (first_item == 0) choice.publish_choice(p);
  for (; item < items; item += stride) {
    multiply_item(expert_rows(item), expert_rows(item + stride), sums);
    if (lane == 0) p.activated[item - p.shape.experts] = from_float<T>(silu_times(sums[0], sums[1]));
  }
}

template <typename T, int Vectors>
void start_gate_up(const queue& to, const token_experts<T>& product) {
  const auto kernel = expert_gate_up_gemv<T, Vectors>;
  const std::size_t shared_bytes = static_cast<std::size_t>(product.shape.hidden) * sizeof(float);
  if (shared_bytes > 40U * 1024U)
    allow_shared_bytes(kernel, shared_bytes);  // 48 KiB, less what the kernel has itself
  // As many as run at once: all wait for the logits.
  const bool two_fit = shared_bytes <= to.shared_bytes / 2 - 6144;
  const int blocks = to.multiprocessors * (two_fit ? blocks_per_multiprocessor : 1);
  launch(to, kernel, dim3(static_cast<unsigned>(blocks)), dim3(block_threads), shared_bytes, product);
}

}  // namespace token_expert_products

template <typename T>
void multiply_expert_down(const queue& to, const token_experts<T>& product);  // expert_down.cu

/// Vectors: those of a row of 1280 at once, else 4 at a time; more leave no room for a second block.
template <typename T>
void multiply_token_experts(const queue& to, const token_experts<T>& product) {
  const auto row_vectors = ceil_div(product.shape.hidden, warp_size * vector_width<T>);
  if (row_vectors % 5 == 0)
    start_gate_up<T, 5>(to, product);
  else
    start_gate_up<T, 4>(to, product);
  multiply_expert_down(to, product);
}

template void multiply_token_experts(const queue&, const token_experts<float>&);
template void multiply_token_experts(const queue&, const token_experts<bf16>&);

}  // namespace profgate::llm::cuda
