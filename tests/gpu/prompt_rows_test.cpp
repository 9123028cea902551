// Rows in a prompt on a GPU: what a token embeds to, given as a row, must do what the token does.
#include <gmock/gmock.h>

#include "llm/backend.h"
#include "llm/failure.h"
#include "llm/synthetic_weights.h"
#include "vision_on_gpu.h"

namespace profgate::llm::cuda {
namespace {

using namespace testing_support;

model_shape rows_shape() {
  return {.architecture = "llama",
          .vocab_size = 1000,
          .hidden_size = 64,
          .intermediate_size = 176,
          .num_hidden_layers = 2,
          .num_attention_heads = 2,
          .num_key_value_heads = 1,
          .head_dim = 64,
          .rms_norm_eps = 1e-5,
          .rope_theta = 10000};
}

template <typename T>
class prompt_rows_on_gpu : public vision_on_gpu {
 protected:
  static std::unique_ptr<backend> make(const decoder_capacity& capacity) {
    static const stage_ranges ranges("test");
    workload_config config;
    config.device = "cuda";
    config.dtype = sizeof(T) == sizeof(float) ? "float32" : "bfloat16";
    config.measure_ceilings = false;
    return make_cuda_backend(config, rows_shape(), capacity, ranges);
  }
  static std::vector<float> embedded(std::span<const token_id> tokens) {
    const tensor_spec spec{"model.embed_tokens.weight", {1000, 64}};
    std::vector<float> rows(tokens.size() * 64);
    for (std::size_t i = 0; i < tokens.size(); ++i)
      fill_synthetic_slice(spec, tokens[i] * 64, std::span(rows).subspan(i * 64, 64));
    return rows;
  }
};
TYPED_TEST_SUITE(prompt_rows_on_gpu, both_types, type_names);

TYPED_TEST(prompt_rows_on_gpu, do_what_their_tokens_do) {
  const std::int64_t length = 2100;  // two chunks; the second place of rows lies in both
  const auto tokens = synthetic_tokens("rows", length, 1000);
  const auto model = this->make({1, length, length});
  auto& engine = model->engine();
  engine.prefill(tokens);
  engine.finish();
  const std::vector<float> expected(engine.logits().begin(), engine.logits().end());

  auto placeholders = tokens;
  std::vector<device_array<TypeParam>> memory;
  std::vector<prompt_rows> rows;
  for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{0, 3}, {2000, 90}, {2099, 1}}) {
    memory.emplace_back(this->embedded(std::span(tokens).subspan(first, count)));
    std::fill_n(placeholders.begin() + static_cast<std::ptrdiff_t>(first), count, 7);
    rows.push_back({first, std::as_bytes(std::span<const TypeParam>(memory.back().get(), count * 64))});
  }
  engine.reset();
  engine.prefill_with_rows(placeholders, rows);
  engine.finish();
  EXPECT_EQ(std::vector<float>(engine.logits().begin(), engine.logits().end()), expected);

  engine.reset();
  engine.prefill(placeholders);
  engine.finish();
  EXPECT_NE(std::vector<float>(engine.logits().begin(), engine.logits().end()), expected);
}

/// The second prompt comes while most of the first has not been read yet.
TYPED_TEST(prompt_rows_on_gpu, of_a_prompt_under_way_are_not_overwritten) {
  const std::int64_t length = 2100;
  const auto first = synthetic_tokens("first", length, 1000);
  const auto second = synthetic_tokens("second", length, 1000);
  const auto model = this->make({1, 2 * length, length});
  auto& engine = model->engine();
  const auto logits_of_both = [&](bool waits) {
    engine.reset();
    engine.prefill(first);
    if (waits) engine.finish();
    engine.prefill(second);
    engine.finish();
    return std::vector<float>(engine.logits().begin(), engine.logits().end());
  };
  const auto expected = logits_of_both(true);
  EXPECT_EQ(logits_of_both(false), expected);
}

TYPED_TEST(prompt_rows_on_gpu, are_refused_without_placeholders) {
  const device_array<TypeParam> two_rows(std::size_t{128});
  const auto refusal = [&](std::int64_t batch, std::size_t first, std::size_t values) -> std::string {
    const auto model = this->make({batch, 8, 8});
    const std::vector<token_id> placeholders(static_cast<std::size_t>(4 * batch));
    const prompt_rows rows{first, std::as_bytes(std::span<const TypeParam>(two_rows.get(), values))};
    try {
      model->engine().prefill_with_rows(placeholders, {&rows, 1});
    } catch (const failure& problem) {
      EXPECT_EQ(problem.code(), exit_code::bad_input);
      return problem.what();
    }
    model->engine().finish();
    return "";
  };
  using ::testing::HasSubstr;
  EXPECT_EQ(refusal(1, 2, 128), "");
  EXPECT_THAT(refusal(1, 3, 128), HasSubstr("at position 3 of a prompt of 4 tokens"));
  EXPECT_THAT(refusal(1, 5, 0), HasSubstr("at position 5 of"));
  EXPECT_THAT(refusal(1, 0, 127), HasSubstr("bytes of rows of"));
  EXPECT_THAT(refusal(2, 0, 128), HasSubstr("rows in the prompts of 2 sequences"));
}

}  // namespace
}  // namespace profgate::llm::cuda
