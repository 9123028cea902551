#include "expert_choice.cuh"

namespace profgate::llm::cuda {
inline namespace routing_kernels {  // named: a kernel keeps its name from build to build

constexpr int block_warps = 8;
constexpr int block_threads = block_warps * warp_size;

/// A warp a token.
__global__ __launch_bounds__(block_threads) void route_kernel(expert_shape shape, int tokens, routing out) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const int token = static_cast<int>(blockIdx.x) * block_warps + static_cast<int>(threadIdx.x) / warp_size;
  if (token >= tokens) return;
  choose_experts(shape, out.router_logits + static_cast<std::int64_t>(token) * shape.experts,
                 out.ids + static_cast<std::int64_t>(token) * shape.top_k,
                 out.shares + static_cast<std::int64_t>(token) * shape.top_k);
}

}  // namespace routing_kernels

void route(const queue& to, const expert_shape& shape, int tokens, const routing& out) {
  launch(to, route_kernel, dim3(ceil_div(tokens, block_warps)), dim3(block_threads), 0, shape, tokens, out);
}

}  // namespace profgate::llm::cuda
