// The decoder's attention over a prompt against plain loops: by warpgroups, in blocks of few and of many
// warps.
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

}  // namespace
}  // namespace profgate::llm::cuda
