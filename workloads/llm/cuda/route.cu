#include "device.cuh"
#include "experts.h"

namespace profgate::llm::cuda {
inline namespace routing_kernels {  // named: a kernel keeps its name from build to build

constexpr int block_warps = 8;
constexpr int block_threads = block_warps * warp_size;
constexpr int largest_per_lane = largest_expert_count / warp_size;

/// The larger value and its index among the lanes; of equals the smaller index.
__device__ inline void warp_largest(float& value, int& index) {
#pragma unroll
  for (int offset = warp_size / 2; offset > 0; offset /= 2) {
    const float other_value = __shfl_xor_sync(all_lanes, value, offset);
    const int other_index = __shfl_xor_sync(all_lanes, index, offset);
    if (other_value > value || (other_value == value && other_index < index)) {
      value = other_value;
      index = other_index;
    }
  }
}

/// One warp turns a token's logits into its choice.
__device__ inline void choose_experts(const expert_shape& shape, const float* logits, int* ids,
                                      float* shares) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  float values[largest_per_lane];
  float largest = -INFINITY;
#pragma unroll
  for (int i = 0; i < largest_per_lane; ++i) {
    const int expert = i * warp_size + lane;
    values[i] = expert < shape.experts ? __ldcg(logits + expert) : -INFINITY;
    largest = fmaxf(largest, values[i]);
  }
  for (int offset = warp_size / 2; offset > 0; offset /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(all_lanes, largest, offset));
  float total = 0;
#pragma unroll
  for (int i = 0; i < largest_per_lane; ++i) total += __expf(values[i] - largest);
  total = warp_sum(total);
  float chosen_total = 0;
  float own_share = 0;  // of choice number `lane`
  for (int k = 0; k < shape.top_k; ++k) {
    float best = -INFINITY;
    int index = shape.experts;
#pragma unroll
    for (int i = 0; i < largest_per_lane; ++i)
      if (values[i] > best) {
        best = values[i];
        index = i * warp_size + lane;
      }
    warp_largest(best, index);
    if (index >= shape.experts)
      index = k;  // nothing but NaN: any expert, so that nobody reads beyond the last
#pragma unroll
    for (int i = 0; i < largest_per_lane; ++i)
      if (i * warp_size + lane == index) values[i] = -INFINITY;
    const float share = __expf(best - largest) / total;
    chosen_total += share;
    if (lane == k) own_share = share;
    if (lane == 0) ids[k] = index;
  }
  if (lane < shape.top_k) shares[lane] = shape.renormalise ? own_share / chosen_total : own_share;
}

/// A warp a router row. Grid: (experts / block_warps, tokens); the last block of a token chooses.
template <typename T>
__global__ __launch_bounds__(block_threads) void route_kernel(expert_shape shape, const T* x,
                                                              const T* norm_weight, float epsilon,
                                                              const T* router, routing out) {
  constexpr int width = vector_width<T>;
  wait_for_previous_kernel();
  let_next_kernel_start();
  const int token = static_cast<int>(blockIdx.y);
  const int expert = static_cast<int>(blockIdx.x) * block_warps + static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  x += static_cast<std::int64_t>(token) * shape.hidden;
  float sum = 0;
  float squares = 0;
  if (expert < shape.experts) {
    const T* row = router + static_cast<std::int64_t>(expert) * shape.hidden;
#pragma unroll 4
    for (int k = lane * width; k < shape.hidden; k += warp_size * width) {
      float values[width];
      float weights[width];
      unpack<T>(*reinterpret_cast<const uint4*>(x + k), values);
      unpack<T>(*reinterpret_cast<const uint4*>(row + k), weights);
      if (norm_weight != nullptr) {
        float factors[width];
        unpack<T>(*reinterpret_cast<const uint4*>(norm_weight + k), factors);
#pragma unroll
        for (int i = 0; i < width; ++i) {
          squares += values[i] * values[i];
          values[i] *= factors[i];
        }
      }
#pragma unroll
      for (int i = 0; i < width; ++i) sum += values[i] * weights[i];
    }
    sum = warp_sum(sum);
    if (norm_weight != nullptr) sum *= rsqrtf(warp_sum(squares) / static_cast<float>(shape.hidden) + epsilon);
    if (lane == 0) out.router_logits[static_cast<std::int64_t>(token) * shape.experts + expert] = sum;
  }
  if (!last_block_here(out.counters + token, gridDim.x) || threadIdx.x >= warp_size) return;
  choose_experts(shape, out.router_logits + static_cast<std::int64_t>(token) * shape.experts,
                 out.ids + static_cast<std::int64_t>(token) * shape.top_k,
                 out.shares + static_cast<std::int64_t>(token) * shape.top_k);
}

}  // namespace routing_kernels

template <typename T>
void route(const queue& to, const expert_shape& shape, const T* x, const T* norm_weight, float epsilon,
           const T* router, int tokens, const routing& out) {
  launch(to, route_kernel<T>, dim3(ceil_div(shape.experts, block_warps), static_cast<unsigned>(tokens)),
         dim3(block_threads), 0, shape, x, norm_weight, epsilon, router, out);
}

template void route(const queue&, const expert_shape&, const float*, const float*, float, const float*, int,
                    const routing&);
template void route(const queue&, const expert_shape&, const bf16*, const bf16*, float, const bf16*, int,
                    const routing&);

}  // namespace profgate::llm::cuda
