#include <map>
#include <memory>

#include "llm/checkpoint.h"
#include "llm/cpu_decoder.h"
#include "llm/hf_config.h"
#include "llm/reference.h"
#include "llm/synthetic_weights.h"
#include "support.h"

namespace profgate::llm {
namespace {

using namespace testing_support;

/// A decoder with all that it refers to.
class loaded_model {
 public:
  loaded_model(const model_shape& shape, unsigned threads, const std::string& checkpoint = "")
      : m_pool(threads),
        m_weights(load_weights(shape, source(checkpoint))),
        m_engine(shape, m_weights, {.positions = 64, .prefill_tokens = 40}, m_pool, m_ranges) {}

  decoder& engine() { return m_engine; }
  /// What a token embeds to.
  std::vector<float> embedded(token_id token, std::int64_t hidden_size) const {
    const float* row = m_weights.embedding + token * hidden_size;
    return {row, row + hidden_size};
  }

 private:
  std::unique_ptr<tensor_source> source(const std::string& checkpoint) {
    if (checkpoint.empty()) return std::make_unique<synthetic_source>(m_pool);
    return std::make_unique<checkpoint_source>(checkpoint, m_pool);
  }

  stage_ranges m_ranges{"test"};
  thread_pool m_pool;
  decoder_weights m_weights;
  cpu_decoder m_engine;
};

/// Every feature at once, and sizes that no vector width divides.
model_shape odd_shape() {
  return {.architecture = "qwen3",
          .vocab_size = 101,
          .hidden_size = 36,
          .intermediate_size = 50,
          .num_hidden_layers = 2,
          .num_attention_heads = 6,
          .num_key_value_heads = 3,
          .head_dim = 10,
          .rms_norm_eps = 1e-6,
          .rope_theta = 10000,
          .tie_word_embeddings = true,
          .attention_bias = true,
          .qk_norm = true};
}

/// The same with experts, in all layers but the first.
model_shape odd_shape_with_experts() {
  auto shape = odd_shape();
  shape.architecture = "qwen3_moe";
  shape.num_experts = 7;
  shape.num_experts_per_tok = 3;
  shape.moe_intermediate_size = 11;
  shape.shared_intermediate_size = 13;
  shape.first_dense_layers = 1;
  shape.norm_topk_prob = true;
  return shape;
}

std::vector<float> logits_of(decoder& engine) {
  engine.finish();
  return {engine.logits().begin(), engine.logits().end()};
}

std::vector<float> prefill(decoder& engine, std::span<const token_id> tokens) {
  engine.prefill(tokens);
  return logits_of(engine);
}

std::vector<float> decode_step(decoder& engine, token_id token) {
  engine.choose({&token, 1});
  engine.decode_step();
  return logits_of(engine);
}

void expect_close(const std::vector<float>& actual, const std::vector<float>& expected) {
  reference as_reference;
  for (std::size_t token = 0; token < expected.size(); ++token)
    as_reference.last_logits.push_back({token, expected[token]});
  ASSERT_EQ(actual.size(), expected.size());
  EXPECT_LT(relative_distance(actual, as_reference), 1e-5);
}

class reproduces : public ::testing::TestWithParam<const char*> {};

TEST_P(reproduces, the_checkpoints_logits_and_tokens) {
  const std::string directory = reference_dir() + "/checkpoints/" + GetParam();
  const auto shape = read_hf_config(directory + "/config.json");
  loaded_model model(shape, 2, directory);
  const auto expected = read_reference(directory + "/reference.json", GetParam(), shape.vocab_size);
  ASSERT_EQ(expected.last_logits.size(), 512U);
  ASSERT_EQ(expected.greedy.size(), 24U);
  EXPECT_LE(check_against(model.engine(), expected, exact).distance, exact.largest_distance);
}

INSTANTIATE_TEST_SUITE_P(cpu_decoder, reproduces, ::testing::Values("llama", "qwen2", "qwen3_moe"));

TEST(cpu_decoder, reproduces_the_synthetic_references_with_any_number_of_threads) {
  const std::map<std::string, model_shape> shapes = {{"llama-tiny", llama_tiny_shape()},
                                                     {"deepseek-moe-tiny", deepseek_moe_tiny_shape()}};
  for (const auto& [name, shape] : shapes) {
    const auto expected = read_reference(reference_dir() + "/synthetic_reference.json", name, 512);
    for (const unsigned threads : {1U, 2U, 3U}) {
      loaded_model model(shape, threads);
      EXPECT_LE(check_against(model.engine(), expected, exact).distance, exact.largest_distance)
          << name << ", " << threads << " threads";
    }
  }
}

TEST(cpu_decoder, decoding_equals_a_longer_prefill) {
  const auto tokens = synthetic_tokens("prompt", 40, 101);
  for (const auto& shape : {odd_shape(), odd_shape_with_experts()}) {
    for (const std::size_t prompt : {1U, 5U, 39U}) {
      loaded_model model(shape, 2);
      const auto at_once = prefill(model.engine(), tokens);
      model.engine().reset();
      auto step_by_step = prefill(model.engine(), std::span(tokens).first(prompt));
      for (std::size_t i = prompt; i < tokens.size(); ++i)
        step_by_step = decode_step(model.engine(), tokens[i]);
      expect_close(step_by_step, at_once);
    }
  }
}

TEST(cpu_decoder, prefill_continues_where_the_cache_ends) {
  const auto tokens = synthetic_tokens("prompt", 40, 101);
  loaded_model model(odd_shape(), 2);
  const auto at_once = prefill(model.engine(), tokens);
  model.engine().reset();
  model.engine().prefill(std::span(tokens).first(17));
  expect_close(prefill(model.engine(), std::span(tokens).subspan(17)), at_once);
}

TEST(cpu_decoder, rows_take_the_place_of_placeholders) {
  const std::vector<token_id> tokens = {5, 9, 7, 3, 8, 2};
  const std::vector<token_id> placeholders = {5, 0, 0, 3, 0, 2};
  loaded_model model(odd_shape(), 2);
  auto& engine = model.engine();
  engine.prefill(tokens);
  const auto expected = decode_step(engine, 4);

  auto image = model.embedded(9, 36);
  const auto second_row = model.embedded(7, 36);
  image.insert(image.end(), second_row.begin(), second_row.end());
  const auto another = model.embedded(8, 36);
  engine.reset();
  engine.prefill_with_rows(placeholders, std::vector<prompt_rows>{{1, as_bytes(std::span(image))},
                                                                  {4, as_bytes(std::span(another))}});
  EXPECT_EQ(decode_step(engine, 4), expected);
}

TEST(cpu_decoder, refuses_rows_without_placeholders) {
  loaded_model model(odd_shape(), 1);
  const std::vector<token_id> placeholders(4);
  const std::vector<float> two_rows(72);
  const auto place = [&](std::size_t first, std::size_t values) {
    const std::vector<prompt_rows> rows = {{first, as_bytes(std::span(two_rows).first(values))}};
    return [&model, placeholders, rows] { model.engine().prefill_with_rows(placeholders, rows); };
  };
  place(2, 72)();
  expect_bad_input("72 values of rows of 36 at position 3 of a prompt of 4 tokens", place(3, 72));
  expect_bad_input("at position 5 of", place(5, 0));
  expect_bad_input("71 values", place(0, 71));
}

TEST(cpu_decoder, refuses_what_it_has_no_room_for) {
  loaded_model model(llama_tiny_shape(), 1);
  auto& engine = model.engine();
  expect_bad_input("a prefill of 41 tokens, with room for 1 to 40",
                   [&] { engine.prefill(std::vector<token_id>(41)); });
  expect_bad_input("a prefill of 0 tokens", [&] { engine.prefill({}); });
  expect_bad_input("token 512 is outside the vocabulary of 512", [&] { decode_step(engine, 512); });
  expect_bad_input("token -1 is outside", [&] { decode_step(engine, -1); });
  engine.prefill(std::vector<token_id>(40));
  for (int i = 0; i < 24; ++i) engine.decode_step();
  expect_bad_input("position 65 is beyond the KV cache of 64", [&] { engine.decode_step(); });
}

TEST(argmax, takes_the_first_of_equals) {
  EXPECT_EQ(argmax(std::vector<float>{-3, 2, 1, 2}), 1);
}

}  // namespace
}  // namespace profgate::llm
