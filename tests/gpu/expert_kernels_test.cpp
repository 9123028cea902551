// Layers with experts, kernel by kernel, against plain loops on sizes that nothing divides.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "expert_gemv.h"
#include "vision_on_gpu.h"

namespace profgate::llm::cuda {
namespace {

using namespace testing_support;

using floats = std::vector<float>;

struct layer_size {
  int hidden, experts, top_k, width, shared;
  bool renormalise;
};

/// A layer's weights; gate lies above up.
struct layer_weights {
  layer_size size;
  floats norm, router, gate_up, down, shared_gate_up, shared_down;

  explicit layer_weights(const layer_size& of) : size(of) {
    const auto count = [](int a, int b, int c = 1) {
      return std::max(static_cast<std::size_t>(std::int64_t{a} * b * c), std::size_t{1});
    };
    const float scale = 1.0F / std::sqrt(static_cast<float>(of.hidden));
    norm = noise(count(of.hidden, 1), 1, 1);
    router = noise(count(of.experts, of.hidden), 2 * scale, 2);
    gate_up = noise(count(of.experts, 2 * of.width, of.hidden), scale, 3);
    down = noise(count(of.experts, of.hidden, of.width), scale, 4);
    shared_gate_up = noise(count(2 * of.shared, of.hidden), scale, 5);
    shared_down = noise(count(of.hidden, of.shared), scale, 6);
  }
};

double dot(const float* a, const float* b, int depth) {
  double sum = 0;
  for (int k = 0; k < depth; ++k) sum += static_cast<double>(a[k]) * b[k];
  return sum;
}

/// out += share * down(silu(gate x) * (up x))
void add_swiglu(const floats& x, const float* gate_up, const float* down, int width, double share,
                std::vector<double>& out) {
  const int hidden = static_cast<int>(x.size());
  floats inner(static_cast<std::size_t>(width));
  for (int m = 0; m < width; ++m) {
    const double gate = dot(x.data(), gate_up + std::int64_t{m} * hidden, hidden);
    const double up = dot(x.data(), gate_up + (std::int64_t{m} + width) * hidden, hidden);
    inner[static_cast<std::size_t>(m)] = static_cast<float>(gate / (1 + std::exp(-gate)) * up);
  }
  for (int r = 0; r < hidden; ++r)
    out[static_cast<std::size_t>(r)] += share * dot(inner.data(), down + std::int64_t{r} * width, width);
}

struct expected_layer {
  std::vector<int> ids;
  floats out;
};

expected_layer by_loops(const layer_weights& of, const floats& hidden) {
  const auto& size = of.size;
  const double squares = dot(hidden.data(), hidden.data(), size.hidden);
  floats x = hidden;
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] *= static_cast<float>(of.norm[i] / std::sqrt(squares / size.hidden + 1e-5));
  std::vector<double> shares;
  for (int e = 0; e < size.experts; ++e)
    shares.push_back(std::exp(dot(x.data(), of.router.data() + std::int64_t{e} * size.hidden, size.hidden)));
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= total;
  expected_layer expected;
  expected.ids.resize(shares.size());
  std::iota(expected.ids.begin(), expected.ids.end(), 0);
  std::stable_sort(expected.ids.begin(), expected.ids.end(), [&](int a, int b) {
    return shares[static_cast<std::size_t>(a)] > shares[static_cast<std::size_t>(b)];
  });
  expected.ids.resize(static_cast<std::size_t>(size.top_k));
  double scale = 1;
  if (size.renormalise) {
    double chosen = 0;
    for (const int id : expected.ids) chosen += shares[static_cast<std::size_t>(id)];
    scale = 1 / chosen;
  }
  std::vector<double> out(hidden.begin(), hidden.end());
  add_swiglu(x, of.shared_gate_up.data(), of.shared_down.data(), size.shared, 1, out);
  for (const int id : expected.ids) {
    const auto matrix = std::int64_t{size.width} * size.hidden;
    add_swiglu(x, of.gate_up.data() + id * 2 * matrix, of.down.data() + id * matrix, size.width,
               scale * shares[static_cast<std::size_t>(id)], out);
  }
  expected.out.assign(out.begin(), out.end());
  return expected;
}

template <typename T>
class expert_kernels : public vision_on_gpu {};
TYPED_TEST_SUITE(expert_kernels, both_types, type_names);

/// Twice in a row with other tokens: what the first leaves behind must not reach the second.
TYPED_TEST(expert_kernels, take_one_token_through_a_layer) {
  for (const layer_size& size :
       {layer_size{1280, 64, 6, 56, 112, false}, layer_size{2048, 128, 8, 24, 0, true},
        layer_size{200, 37, 5, 72, 0, true}, layer_size{640, 16, 4, 136, 264, false},
        layer_size{64, 8, 3, 48, 96, false}, layer_size{40, 1, 1, 8, 0, false},
        layer_size{72, 300, 32, 16, 8, true}, layer_size{264, 4, 2, 1032, 0, true}}) {
    SCOPED_TRACE(std::to_string(size.experts) + " experts of " + std::to_string(size.width));
    const layer_weights weights(size);
    const device_array<TypeParam> norm(weights.norm);
    const device_array<TypeParam> router(weights.router);
    const device_array<TypeParam> gate_up(weights.gate_up);
    const device_array<TypeParam> down(weights.down);
    const device_array<TypeParam> shared_gate_up(weights.shared_gate_up);
    const device_array<TypeParam> shared_down(weights.shared_down);
    const device_array<TypeParam> activated(static_cast<std::size_t>(size.shared + size.top_k * size.width));
    // Choices of two floats each, logits, readers: all zeros before and after.
    const auto choice_floats = 2 * static_cast<std::size_t>(size.top_k);
    const std::size_t state_floats = choice_floats + static_cast<std::size_t>(size.experts) + 1;
    const device_array<float> state{floats(state_floats)};
    float* const logits = state.get() + choice_floats;
    const device_array<float> ids(static_cast<std::size_t>(size.top_k));
    const device_array<TypeParam> next_cache{floats(2 * 8 * 64)};
    const int filled = 5;
    const device_memory position(sizeof filled);
    PROFGATE_CUDA(cudaMemcpy(position.bytes(), &filled, sizeof filled, cudaMemcpyHostToDevice));
    std::vector<floats> hidden;
    std::vector<device_array<TypeParam>> on_gpu;
    for (const unsigned seed : {7U, 8U, 9U}) {
      hidden.push_back(noise(static_cast<std::size_t>(size.hidden), 1, seed));
      on_gpu.emplace_back(hidden.back());
    }
    for (const auto& token : on_gpu) {
      multiply_token_experts(
          this->m_queue, token_experts<TypeParam>{
                             .shape = {size.experts, size.top_k, size.hidden, size.width, size.renormalise},
                             .shared_width = size.shared,
                             .epsilon = 1e-5F,
                             .norm_weight = norm.get(),
                             .router = router.get(),
                             .gate_up = gate_up.get(),
                             .down = down.get(),
                             .shared_gate_up = shared_gate_up.get(),
                             .shared_down = shared_down.get(),
                             .hidden = token.get(),
                             .activated = activated.get(),
                             .logits = logits,
                             .choices = reinterpret_cast<std::uint64_t*>(state.get()),
                             .readers = reinterpret_cast<unsigned*>(logits + size.experts),
                             .ids = reinterpret_cast<int*>(ids.get()),
                             .next_context = {.keys = next_cache.get(),
                                              .values = next_cache.get(),
                                              .position = reinterpret_cast<const int*>(position.bytes()),
                                              .kv_heads = 2,
                                              .head_dim = 64,
                                              .capacity = 8}});
    }
    expected_layer expected;
    for (std::size_t i = 0; i < hidden.size(); ++i) {
      SCOPED_TRACE(i);
      expected = by_loops(weights, hidden[i]);
      expect_close<TypeParam>(floats_at(this->m_queue, on_gpu[i].get(), expected.out.size()), expected.out);
    }
    std::vector<int> chosen(expected.ids.size());
    PROFGATE_CUDA(cudaMemcpy(chosen.data(), ids.get(), chosen.size() * sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT_EQ(chosen, expected.ids);
    EXPECT_THAT(floats_at(this->m_queue, state.get(), state_floats), ::testing::Each(0.0F));
  }
}

struct group_size {
  int hidden, experts, top_k, width, tokens;
  float preference;  ///< for the first experts: the others get few tokens, or none
  float spread = 1;  ///< of x; where it is large, so are the gates, and the power of many is infinite
};

/// Choice, order, both products and the sum of several tokens, each against the step before it.
TYPED_TEST(expert_kernels, take_many_tokens_through_a_layer) {
  for (const group_size& size :
       {group_size{64, 8, 3, 48, 40, 0}, group_size{200, 37, 5, 72, 90, 1},
        group_size{136, 4, 2, 264, 300, 1}, group_size{72, 1, 1, 8, 513, 0}, group_size{80, 300, 3, 24, 7, 0},
        group_size{256, 3, 2, 128, 431, 1}, group_size{1280, 16, 6, 96, 700, 0.2F},
        group_size{2048, 4, 2, 40, 65, 0}, group_size{64, 3, 2, 8, 8500, 0},
        group_size{2504, 40, 17, 8, 5, 0}, group_size{64, 4, 2, 48, 50, 0, 100}}) {
    SCOPED_TRACE(std::to_string(size.tokens) + " tokens, " + std::to_string(size.experts) + " experts of " +
                 std::to_string(size.width));
    const auto tokens = static_cast<std::size_t>(size.tokens);
    const auto hidden = static_cast<std::size_t>(size.hidden);
    const auto width = static_cast<std::size_t>(size.width);
    const auto top_k = static_cast<std::size_t>(size.top_k);
    const auto experts = static_cast<std::size_t>(size.experts);
    const std::size_t slots = tokens * top_k;
    const float scale = 1.0F / std::sqrt(static_cast<float>(size.hidden));
    const floats x = noise(tokens * hidden, size.spread, 1);
    const floats gate_up = noise(experts * 2 * width * hidden, scale, 2);
    const floats down = noise(experts * hidden * width, scale, 3);
    const floats before = noise(tokens * hidden, 1, 4);
    floats logits = noise(tokens * experts, 1, 5);
    for (std::size_t i = 0; i < logits.size(); ++i)
      logits[i] -= size.preference * static_cast<float>(i % experts);
    floats expected;
    for (std::size_t token = 0; token < tokens; ++token) {
      const floats own(x.begin() + static_cast<std::ptrdiff_t>(token * hidden),
                       x.begin() + static_cast<std::ptrdiff_t>((token + 1) * hidden));
      std::vector<double> out(before.begin() + static_cast<std::ptrdiff_t>(token * hidden),
                              before.begin() + static_cast<std::ptrdiff_t>((token + 1) * hidden));
      std::vector<std::size_t> ids(experts);
      std::iota(ids.begin(), ids.end(), 0U);
      const float* own_logits = logits.data() + token * experts;
      std::stable_sort(ids.begin(), ids.end(),
                       [&](std::size_t a, std::size_t b) { return own_logits[a] > own_logits[b]; });
      double total = 0;
      for (const std::size_t id : ids) total += std::exp(static_cast<double>(own_logits[id]));
      for (std::size_t choice = 0; choice < top_k; ++choice)
        add_swiglu(own, gate_up.data() + ids[choice] * 2 * width * hidden,
                   down.data() + ids[choice] * width * hidden, size.width,
                   std::exp(static_cast<double>(own_logits[ids[choice]])) / total, out);
      expected.insert(expected.end(), out.begin(), out.end());
    }
    const device_array<TypeParam> x_on_gpu(x);
    const device_array<TypeParam> gate_up_on_gpu(gate_up);
    const device_array<TypeParam> down_on_gpu(down);
    for (const int tile_tokens : std::set{plain_tile_tokens, tile_tokens_on<TypeParam>(this->m_queue)}) {
      const device_array<TypeParam> sum(before);
      const device_array<TypeParam> inner(slots * width);
      const device_array<TypeParam> outer(slots * hidden);
      const device_array<float> router_logits(logits);
      const device_array<float> shares(slots);
      const auto tiles = static_cast<std::size_t>(largest_tile_count(static_cast<int>(slots), size.experts));
      const device_array<float> integers(3 * slots + 3 * tiles + 1);
      auto* next = reinterpret_cast<int*>(integers.get());
      const auto take = [&](std::size_t count) { return std::exchange(next, next + count); };
      const routing routed{router_logits.get(), take(slots), shares.get()};
      const expert_order order{take(slots), take(slots), take(tiles), take(tiles),
                               take(tiles), take(1),     tile_tokens};
      const expert_shape shape{size.experts, size.top_k, size.hidden, size.width, false};

      SCOPED_TRACE("tiles of " + std::to_string(tile_tokens));
      route(this->m_queue, shape, size.tokens, routed);
      order_by_expert(this->m_queue, shape, routed.ids, size.tokens, order);
      grouped_product<TypeParam> product{.x = x_on_gpu.get(),
                                         .weight = gate_up_on_gpu.get(),
                                         .out = inner.get(),
                                         .rows = size.width,
                                         .depth = size.hidden,
                                         .gather_divisor = size.top_k,
                                         .slots = static_cast<int>(slots),
                                         .experts = size.experts};
      multiply_grouped(this->m_queue, product, grouped_end::swiglu, order);
      product.x = inner.get();
      product.weight = down_on_gpu.get();
      product.out = outer.get();
      product.rows = size.hidden;
      product.depth = size.width;
      product.gather_divisor = 0;
      multiply_grouped(this->m_queue, product, grouped_end::store, order);
      combine_experts(this->m_queue, shape, outer.get(), shares.get(), order.row_of_slot, size.tokens,
                      sum.get());
      expect_close<TypeParam>(floats_at(this->m_queue, sum.get(), expected.size()), expected);
    }
  }
}

}  // namespace
}  // namespace profgate::llm::cuda
