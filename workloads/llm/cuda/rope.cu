#include "attention.h"
#include "rope.cuh"

namespace profgate::llm::cuda {
inline namespace rotary {  // named: a kernel keeps its name from build to build

constexpr int block_warps = 8;

/// One warp a head of one token. Grid: (tokens, all heads / block_warps).
template <typename T>
__global__ __launch_bounds__(block_warps* warp_size) void rope(attention_inputs<T> in, T* qkv, int sequence,
                                                               int first_position) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const int head = static_cast<int>(blockIdx.y) * block_warps + static_cast<int>(threadIdx.x) / warp_size;
  const int all_heads = in.heads + 2 * in.kv_heads;
  if (head >= all_heads) return;
  const int token = static_cast<int>(blockIdx.x);
  const std::int64_t position = first_position + token;
  const float* cosines = in.cosines + position * (in.head_dim / 2);
  const float* sines = in.sines + position * (in.head_dim / 2);
  T* from = qkv + (static_cast<std::int64_t>(token) * all_heads + head) * in.head_dim;
  const auto cached = [&](T* cache, int kv_head) {
    return cache + ((static_cast<std::int64_t>(sequence) * in.kv_heads + kv_head) * in.capacity + position) *
                       in.head_dim;
  };
  if (head < in.heads) {
    head_rotation(cosines, sines, in.q_norm, in.head_dim).apply(from, in.epsilon, [&](int d, float2 values) {
      store_pair(from + d, values);
    });
  } else if (head < in.heads + in.kv_heads) {
    T* key = cached(in.keys, head - in.heads);
    head_rotation(cosines, sines, in.k_norm, in.head_dim).apply(from, in.epsilon, [&](int d, float2 values) {
      store_pair(key + d, values);
    });
  } else {
    T* value = cached(in.values, head - in.heads - in.kv_heads);
    for (int d = static_cast<int>(threadIdx.x) % warp_size * 2; d < in.head_dim; d += 2 * warp_size)
      store_pair(value + d, load_pair(from + d));
  }
}

}  // namespace rotary

template <typename T>
void rotate_and_cache(const queue& to, const attention_inputs<T>& in, int sequence, int first_position,
                      int tokens) {
  const dim3 grid(static_cast<unsigned>(tokens), ceil_div(in.heads + 2 * in.kv_heads, block_warps));
  launch(to, rope<T>, grid, dim3(block_warps * warp_size), 0, in, const_cast<T*>(in.qkv), sequence,
         first_position);
}

template void rotate_and_cache(const queue&, const attention_inputs<float>&, int, int, int);
template void rotate_and_cache(const queue&, const attention_inputs<bf16>&, int, int, int);

}  // namespace profgate::llm::cuda
