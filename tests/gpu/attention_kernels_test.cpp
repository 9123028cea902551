// The decoder's attention against plain loops: over a prompt by warpgroups, in blocks of few and of many
// warps; of one token of each sequence, its context split over blocks.
#include <gmock/gmock.h>

#include <cmath>

#include "attention.h"
#include "vision_on_gpu.h"

namespace profgate::llm::cuda {
namespace {

using namespace testing_support;

struct prompt_size {
  int heads, kv_heads, head_dim, first_position, tokens;
};

/// [tokens, heads, head_dim] of queries that come after first_position cached ones.
std::vector<float> by_loops(const prompt_size& size, std::size_t capacity, const std::vector<float>& qkv,
                            const std::vector<float>& keys, const std::vector<float>& values) {
  const auto dim = static_cast<std::size_t>(size.head_dim);
  const auto heads = static_cast<std::size_t>(size.heads);
  const auto kv_heads = static_cast<std::size_t>(size.kv_heads);
  std::vector<float> out;
  for (std::size_t token = 0; token < static_cast<std::size_t>(size.tokens); ++token)
    for (std::size_t head = 0; head < heads; ++head) {
      const float* query = qkv.data() + (token * (heads + 2 * kv_heads) + head) * dim;
      const std::size_t cache = head / (heads / kv_heads) * capacity * dim;
      std::vector<double> sums(dim);
      double total = 0;
      for (std::size_t at = 0; at <= static_cast<std::size_t>(size.first_position) + token; ++at) {
        double score = 0;
        for (std::size_t d = 0; d < dim; ++d)
          score += static_cast<double>(query[d]) * keys[cache + at * dim + d];
        const double share = std::exp(score / std::sqrt(static_cast<double>(size.head_dim)));
        total += share;
        for (std::size_t d = 0; d < dim; ++d) sums[d] += share * values[cache + at * dim + d];
      }
      for (const double sum : sums) out.push_back(static_cast<float>(sum / total));
    }
  return out;
}

template <typename T>
class attention_kernels : public vision_on_gpu {};
TYPED_TEST_SUITE(attention_kernels, both_types, type_names);

/// Groups of 1, 2, 4, 5, 7 and 8 heads, one token, tiles that are full and that are not, prompts that go on.
std::vector<prompt_size> prompt_sizes(int multiprocessors) {
  const int many = multiprocessors;  // heads, each with two blocks of queries
  return {{3, 3, 128, 0, 150},    {4, 2, 64, 70, 200},   {many, many, 128, 5, 140}, {many, 1, 64, 0, 129},
          {2, 2, 128, 0, 1},      {10, 10, 128, 0, 640}, {8, 2, 128, 127, 257},     {5, 1, 128, 64, 65},
          {14, 2, 128, 128, 128}, {16, 2, 128, 1, 383},  {8, 1, 64, 300, 3},        {2, 1, 64, 0, 256},
          {2, 1, 128, 129, 127},  {1, 1, 64, 1000, 283}, {2, 1, 128, 0, 63}};
}

template <typename T>
void compare_with_loops(const queue& to) {
  for (const prompt_size& size : prompt_sizes(to.multiprocessors)) {
    SCOPED_TRACE(std::to_string(size.heads) + " heads of " + std::to_string(size.head_dim) + ", " +
                 std::to_string(size.tokens) + " tokens from " + std::to_string(size.first_position));
    const auto capacity = static_cast<std::size_t>(size.first_position + size.tokens) + 3;
    const auto cached = static_cast<std::size_t>(size.kv_heads * size.head_dim) * capacity;
    const auto width = static_cast<std::size_t>((size.heads + 2 * size.kv_heads) * size.head_dim);
    const auto qkv = noise(static_cast<std::size_t>(size.tokens) * width, 1, 1);
    const auto keys = noise(cached, 1, 2);
    const auto values = noise(cached, 1, 3);
    const auto expected = by_loops(size, capacity, qkv, keys, values);
    const device_array<T> qkv_on_gpu(qkv);
    const device_array<T> keys_on_gpu(keys);
    const device_array<T> values_on_gpu(values);
    const device_array<float> angles(noise(capacity * static_cast<std::size_t>(size.head_dim) / 2, 1, 4));
    const device_array<T> out(expected.size());
    prefill_attention(to,
                      attention_inputs<T>{.qkv = qkv_on_gpu.get(),
                                          .cosines = angles.get(),
                                          .sines = angles.get(),
                                          .keys = keys_on_gpu.get(),
                                          .values = values_on_gpu.get(),
                                          .capacity = static_cast<std::int64_t>(capacity),
                                          .out = out.get(),
                                          .heads = size.heads,
                                          .kv_heads = size.kv_heads,
                                          .head_dim = size.head_dim},
                      0, size.first_position, size.tokens);
    expect_close<T>(floats_at(to, out.get(), expected.size()), expected);
  }
}

TYPED_TEST(attention_kernels, attend_to_a_prompt) {
  compare_with_loops<TypeParam>(this->m_queue);
}

TYPED_TEST(attention_kernels, attend_to_a_prompt_without_warpgroups) {
  this->m_queue.warpgroups = false;
  compare_with_loops<TypeParam>(this->m_queue);
}

struct step_size {
  int heads, kv_heads, head_dim, capacity, position, batch;
};

/// Three layers in a row: what the blocks of one tell each other must not reach the next.
template <typename T>
void compare_steps_with_loops(const queue& to) {
  for (const step_size& size : {step_size{10, 10, 128, 2112, 2047, 1}, step_size{10, 10, 128, 964, 900, 1},
                                step_size{16, 16, 128, 300, 280, 1}, step_size{12, 12, 64, 2304, 2303, 1},
                                step_size{5, 5, 128, 964, 17, 2}, step_size{16, 8, 128, 2112, 2100, 1},
                                step_size{32, 8, 128, 1000, 999, 1}, step_size{28, 4, 128, 700, 13, 1},
                                step_size{32, 8, 128, 600, 500, 16}, step_size{4, 4, 64, 300, 0, 3},
                                step_size{4, 2, 8, 400, 333, 2}}) {
    SCOPED_TRACE(std::to_string(size.heads) + " heads of " + std::to_string(size.head_dim) + " at " +
                 std::to_string(size.position) + ", batch " + std::to_string(size.batch));
    const auto batch = static_cast<std::size_t>(size.batch);
    const auto dim = static_cast<std::size_t>(size.head_dim);
    const auto heads = static_cast<std::size_t>(size.heads);
    const auto kv_heads = static_cast<std::size_t>(size.kv_heads);
    const auto capacity = static_cast<std::size_t>(size.capacity);
    const auto position = static_cast<std::size_t>(size.position);
    const std::size_t width = (heads + 2 * kv_heads) * dim;
    const std::size_t cached = kv_heads * capacity * dim;  // of a sequence
    const context_split split = split_context(to, size.batch, size.heads, size.kv_heads, size.capacity);
    const std::size_t parts = batch * heads * static_cast<std::size_t>(split.blocks);
    const device_array<float> sums{std::vector<float>(parts * dim)};
    const device_array<float> stats{std::vector<float>(2 * parts)};         // float2
    const device_array<float> counters{std::vector<float>(batch * heads)};  // all bits 0
    const device_array<float> cosines{std::vector<float>(batch * dim / 2, 1.0F)};
    const device_array<float> sines{std::vector<float>(batch * dim / 2)};
    const std::vector<int> at_position(batch, size.position);
    const device_memory positions(batch * sizeof(int));
    PROFGATE_CUDA(
        cudaMemcpy(positions.bytes(), at_position.data(), batch * sizeof(int), cudaMemcpyHostToDevice));
    std::vector<device_array<T>> arrays;  // of each layer: qkv, keys, values, out
    std::vector<std::vector<float>> expected;
    for (unsigned layer = 0; layer < 3; ++layer) {
      const auto qkv = noise(batch * width, 1, 10 * layer + 1);
      auto keys = noise(batch * cached, 1, 10 * layer + 2);
      auto values = noise(batch * cached, 1, 10 * layer + 3);
      arrays.emplace_back(qkv);
      arrays.emplace_back(keys);
      arrays.emplace_back(values);
      arrays.emplace_back(batch * heads * dim);
      expected.emplace_back();
      for (std::size_t sequence = 0; sequence < batch; ++sequence) {
        const std::vector<float> own(qkv.begin() + static_cast<std::ptrdiff_t>(sequence * width),
                                     qkv.begin() + static_cast<std::ptrdiff_t>((sequence + 1) * width));
        std::vector<float> own_keys(keys.begin() + static_cast<std::ptrdiff_t>(sequence * cached),
                                    keys.begin() + static_cast<std::ptrdiff_t>((sequence + 1) * cached));
        std::vector<float> own_values(values.begin() + static_cast<std::ptrdiff_t>(sequence * cached),
                                      values.begin() + static_cast<std::ptrdiff_t>((sequence + 1) * cached));
        for (std::size_t head = 0; head < kv_heads; ++head)
          for (std::size_t d = 0; d < dim; ++d) {
            const std::size_t cached_at = (head * capacity + position) * dim + d;
            own_keys[cached_at] = own[(heads + head) * dim + d];
            own_values[cached_at] = own[(heads + kv_heads + head) * dim + d];
          }
        const auto one = by_loops({size.heads, size.kv_heads, size.head_dim, size.position, 1}, capacity, own,
                                  own_keys, own_values);
        expected.back().insert(expected.back().end(), one.begin(), one.end());
      }
    }
    for (std::size_t layer = 0; layer < expected.size(); ++layer)
      decode_attention(to,
                       attention_inputs<T>{.qkv = arrays[4 * layer].get(),
                                           .keys = arrays[4 * layer + 1].get(),
                                           .values = arrays[4 * layer + 2].get(),
                                           .capacity = size.capacity,
                                           .out = arrays[4 * layer + 3].get(),
                                           .heads = size.heads,
                                           .kv_heads = size.kv_heads,
                                           .head_dim = size.head_dim},
                       {reinterpret_cast<const int*>(positions.bytes()), cosines.get(), sines.get()},
                       size.batch,
                       {sums.get(), reinterpret_cast<float2*>(stats.get()),
                        reinterpret_cast<unsigned*>(counters.get()), split.blocks, split.clustered});
    for (std::size_t layer = 0; layer < expected.size(); ++layer)
      expect_close<T>(floats_at(to, arrays[4 * layer + 3].get(), expected[layer].size()), expected[layer]);
    EXPECT_THAT(floats_at(to, counters.get(), batch * heads), ::testing::Each(0.0F));
  }
}

TYPED_TEST(attention_kernels, attend_to_a_context_of_split_positions) {
  compare_steps_with_loops<TypeParam>(this->m_queue);
}

TYPED_TEST(attention_kernels, attend_to_a_context_of_split_positions_without_clusters) {
  this->m_queue.clusters = false;
  compare_steps_with_loops<TypeParam>(this->m_queue);
}

}  // namespace
}  // namespace profgate::llm::cuda
