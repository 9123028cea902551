// Kernels of layers with experts.
#include <random>
#include <vector>

#include "cuda_rounds.h"
#include "expert_gemv.h"

namespace profgate::llm::cuda::bench {
namespace {

struct expert_case {
  const char* name;
  expert_shape shape;
  int shared_width;
};

constexpr expert_case expert_cases[] = {{"deepseek-ocr-decoder", {64, 6, 1280, 896, false}, 1792},
                                        {"qwen3-30b-a3b", {128, 8, 2048, 768, true}, 0}};

/// One token through a layer with experts; the bytes are those of what it reads.
void token_layer(benchmark::State& state, const expert_case& c) {
  const turn_memory memory(std::size_t{1} << 20U);
  auto shared = memory.shared();
  const std::int64_t hidden = c.shape.hidden;
  const std::int64_t expert = 3 * hidden * c.shape.width;
  const std::int64_t dense = hidden * (c.shape.experts + 3 * std::int64_t{c.shared_width});
  token_experts<element> product{
      .shape = c.shape,
      .shared_width = c.shared_width,
      .epsilon = 1e-5F,
      .norm_weight = shared.take<element>(hidden),
      .hidden = shared.take<element>(hidden),
      .activated = shared.take<element>(c.shared_width + std::int64_t{c.shape.top_k} * c.shape.width),
      .logits = shared.take<float>(c.shape.experts),
      .choices = shared.take<std::uint64_t>(c.shape.top_k),
      .readers = shared.take<unsigned>(1),
      .ids = shared.take<int>(c.shape.top_k)};
  PROFGATE_CUDA(cudaMemset(the_gpu().pool.bytes(), 0, shared.bytes_taken()));
  const std::size_t own_bytes =
      static_cast<std::size_t>(dense + c.shape.experts * expert) * sizeof(element) + 4096;
  time_rounds(state, {.bytes = static_cast<double>(dense + c.shape.top_k * expert) * sizeof(element)},
              [&](int turn) {
                auto own = memory.own(turn, own_bytes);
                product.router = own.take<element>(hidden * c.shape.experts);
                product.gate_up = own.take<element>(c.shape.experts * expert / 3 * 2);
                product.down = own.take<element>(c.shape.experts * expert / 3);
                product.shared_gate_up = own.take<element>(2 * hidden * c.shared_width);
                product.shared_down = own.take<element>(hidden * c.shared_width);
                multiply_token_experts(the_gpu().to, product);
              });
}

struct routed_chunk {
  routing routed;
  expert_order order;
};

/// A chunk's tokens choose at random: from all experts alike or, as a model's do, unevenly, so that the
/// fullest expert has some eight times the rows of the mean.
routed_chunk route_chunk(const expert_case& c, int tokens, bool uneven, memory_layout& shared) {
  const int slots = tokens * c.shape.top_k;
  const int tiles = largest_tile_count(slots, c.shape.experts);
  const routing routed{shared.take<float>(std::int64_t{tokens} * c.shape.experts), shared.take<int>(slots),
                       shared.take<float>(slots)};
  const expert_order order{shared.take<int>(slots),
                           shared.take<int>(slots),
                           shared.take<int>(tiles),
                           shared.take<int>(tiles),
                           shared.take<int>(tiles),
                           shared.take<int>(1),
                           tile_tokens_on<element>(the_gpu().to)};
  std::mt19937 random(1);
  std::vector<float> logits(static_cast<std::size_t>(tokens) * static_cast<std::size_t>(c.shape.experts));
  std::normal_distribution<float> normal;
  std::vector<float> preference(static_cast<std::size_t>(c.shape.experts));
  for (float& of_expert : preference) of_expert = uneven ? normal(random) : 0.0F;
  for (std::size_t i = 0; i < logits.size(); ++i)
    logits[i] = normal(random) + preference[i % preference.size()];
  PROFGATE_CUDA(
      cudaMemcpy(routed.router_logits, logits.data(), logits.size() * sizeof(float), cudaMemcpyHostToDevice));
  PROFGATE_CUDA(cudaDeviceSynchronize());
  route(the_gpu().to, c.shape, tokens, routed);
  order_by_expert(the_gpu().to, c.shape, routed.ids, tokens, order);
  return {routed, order};
}

/// A chunk's choice of experts and their order; the bytes are logits in, slots and rows out.
void choose_and_order(benchmark::State& state, const expert_case& c, int tokens) {
  auto shared = turn_memory(0).shared();
  const routed_chunk chunk = route_chunk(c, tokens, true, shared);
  const queue& to = the_gpu().to;
  time_rounds(state, {.bytes = 4.0 * tokens * (c.shape.experts + 4.0 * c.shape.top_k)}, [&](int) {
    route(to, c.shape, tokens, chunk.routed);
    order_by_expert(to, c.shape, chunk.routed.ids, tokens, chunk.order);
  });
}

/// The sum of a chunk's chosen experts.
void combine(benchmark::State& state, const expert_case& c, int tokens) {
  auto shared = turn_memory(0).shared();
  const routed_chunk chunk = route_chunk(c, tokens, true, shared);
  const std::int64_t elements = std::int64_t{tokens} * c.shape.hidden;
  const auto* from = shared.take<element>(elements * c.shape.top_k);
  auto* hidden = shared.take<element>(elements);
  time_rounds(state, {.bytes = static_cast<double>(elements) * (c.shape.top_k + 2) * sizeof(element)},
              [&](int) {
                combine_experts(the_gpu().to, c.shape, from, chunk.routed.shares, chunk.order.row_of_slot,
                                tokens, hidden);
              });
}

/// Both products of a chunk's chosen experts.
void grouped_layer(benchmark::State& state, const expert_case& c, int tokens, bool uneven) {
  const turn_memory memory(std::size_t{1} << 30U);
  auto shared = memory.shared();
  const routed_chunk chunk = route_chunk(c, tokens, uneven, shared);
  const std::int64_t hidden = c.shape.hidden;
  const int slots = tokens * c.shape.top_k;
  const auto* x = shared.take<element>(tokens * hidden);
  auto* inner = shared.take<element>(std::int64_t{slots} * c.shape.width);
  auto* out = shared.take<element>(slots * hidden);
  const std::int64_t matrix = hidden * c.shape.width;
  const std::int64_t weights = 3 * matrix * c.shape.experts;
  time_rounds(state,
              {.bytes = static_cast<double>(weights) * sizeof(element),
               .flops = 6.0 * static_cast<double>(slots) * static_cast<double>(matrix)},
              [&](int turn) {
                auto own = memory.own(turn, static_cast<std::size_t>(weights) * sizeof(element) + 4096);
                grouped_product<element> product{.x = x,
                                                 .weight = own.take<element>(2 * matrix * c.shape.experts),
                                                 .out = inner,
                                                 .rows = c.shape.width,
                                                 .depth = c.shape.hidden,
                                                 .gather_divisor = c.shape.top_k,
                                                 .slots = slots,
                                                 .experts = c.shape.experts};
                multiply_grouped(the_gpu().to, product, grouped_end::swiglu, chunk.order);
                product.x = inner;
                product.weight = own.take<element>(matrix * c.shape.experts);
                product.out = out;
                product.rows = c.shape.hidden;
                product.depth = c.shape.width;
                product.gather_divisor = 0;
                multiply_grouped(the_gpu().to, product, grouped_end::store, chunk.order);
              });
}

}  // namespace

void add_experts() {
  for (const auto& c : expert_cases) {
    add(std::string("token_experts/") + c.name, [&c](benchmark::State& state) { token_layer(state, c); });
    add(std::string("route2048/") + c.name,
        [&c](benchmark::State& state) { choose_and_order(state, c, 2048); });
    add(std::string("combine2048/") + c.name, [&c](benchmark::State& state) { combine(state, c, 2048); });
    for (const int tokens : {283, 2048}) {
      const std::string name = "grouped" + std::to_string(tokens);
      add(name + "/" + c.name,
          [&c, tokens](benchmark::State& state) { grouped_layer(state, c, tokens, false); });
      add(name + "_uneven/" + c.name,
          [&c, tokens](benchmark::State& state) { grouped_layer(state, c, tokens, true); });
    }
  }
}

}  // namespace profgate::llm::cuda::bench
