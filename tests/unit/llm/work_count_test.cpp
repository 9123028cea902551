#include "llm/work_count.h"

#include "support.h"

namespace profgate::llm {
namespace {

using namespace testing_support;

// Small enough to count by hand: hidden 4, two heads and one KV head of 2, MLP 3, vocabulary 10, one layer.
model_shape by_hand() {
  return {.architecture = "llama",
          .vocab_size = 10,
          .hidden_size = 4,
          .intermediate_size = 3,
          .num_hidden_layers = 1,
          .num_attention_heads = 2,
          .num_key_value_heads = 1,
          .head_dim = 2,
          .rms_norm_eps = 1e-5,
          .rope_theta = 10000};
}

// A token's products: q 4x4, k and v 2x4 each, o 4x4, gate, up and down 3x4 each: 84 multiply-adds, 168
// FLOPs.
constexpr std::int64_t token_flops = 168;
constexpr std::int64_t lm_head_flops = 2 * 4 * 10;
// Two heads of 2, times keys and times values, 2 FLOPs each: 16 for each position seen.
constexpr std::int64_t attention_flops = 16;
// 84 in products, two norms of 4, the last norm of 4, the head of 40; the embedding's 40 apart.
constexpr std::int64_t weights_without_embedding = 84 + 12 + 40;
// One KV head of 2, keys and values, 4 bytes.
constexpr std::int64_t position_bytes = 16;

constexpr workload_size three_then_two = {.prompt_tokens = 3, .decode_tokens = 2};

TEST(work_count, prefill_by_hand) {
  const auto counted = prefill_work(by_hand(), three_then_two);
  EXPECT_EQ(counted.flops, 3 * token_flops + attention_flops * (1 + 2 + 3) + lm_head_flops);
  EXPECT_EQ(counted.bytes, 4 * (weights_without_embedding + 3 * 4) + 2 * 3 * position_bytes);
}

TEST(work_count, decode_by_hand) {
  const auto counted = decode_work(by_hand(), three_then_two);
  EXPECT_EQ(counted.flops, 2 * (token_flops + lm_head_flops) + attention_flops * (4 + 5));
  // Each step reads every position and writes its own.
  EXPECT_EQ(counted.bytes, 2 * 4 * (weights_without_embedding + 4) + (4 + 1 + 5 + 1) * position_bytes);
}

TEST(work_count, a_batch_shares_the_weights_and_nothing_else) {
  auto size = three_then_two;
  size.batch = 5;
  EXPECT_EQ(prefill_work(by_hand(), size).flops, 5 * prefill_work(by_hand(), three_then_two).flops);
  EXPECT_EQ(decode_work(by_hand(), size).flops, 5 * decode_work(by_hand(), three_then_two).flops);
  EXPECT_EQ(prefill_work(by_hand(), size).bytes,
            4 * (weights_without_embedding + 15 * 4) + 5 * 2 * 3 * position_bytes);
  EXPECT_EQ(decode_work(by_hand(), size).bytes,
            2 * 4 * (weights_without_embedding + 5 * 4) + 5 * (4 + 1 + 5 + 1) * position_bytes);
}

TEST(work_count, bfloat16_halves_the_bytes) {
  auto size = three_then_two;
  size.element_bytes = 2;
  EXPECT_EQ(2 * prefill_work(by_hand(), size).bytes, prefill_work(by_hand(), three_then_two).bytes);
  EXPECT_EQ(2 * decode_work(by_hand(), size).bytes, decode_work(by_hand(), three_then_two).bytes);
  EXPECT_EQ(decode_work(by_hand(), size).flops, decode_work(by_hand(), three_then_two).flops);
}

TEST(work_count, a_tied_head_reads_the_embedding) {
  auto tied = by_hand();
  tied.tie_word_embeddings = true;
  EXPECT_EQ(parameter_count(by_hand()), 84 + 12 + 80);
  EXPECT_EQ(parameter_count(tied), 84 + 12 + 40);
  EXPECT_EQ(decode_work(tied, three_then_two).bytes, decode_work(by_hand(), three_then_two).bytes);
}

/// The same with a second layer of 4 experts of 5, two for each token, and a shared one of 6.
model_shape experts_by_hand() {
  auto shape = by_hand();
  shape.architecture = "deepseek_v2";
  shape.num_hidden_layers = 2;
  shape.num_experts = 4;
  shape.num_experts_per_tok = 2;
  shape.moe_intermediate_size = 5;
  shape.shared_intermediate_size = 6;
  shape.first_dense_layers = 1;
  return shape;
}

TEST(work_count, experts_by_hand) {
  // The second layer: attention 48 as in the first, router 4x4, two experts of 3x5x4, the shared one of
  // 3x6x4.
  constexpr std::int64_t second_layer = 48 + 16 + 2 * 60 + 72;
  const auto counted = decode_work(experts_by_hand(), three_then_two);
  EXPECT_EQ(counted.flops,
            2 * (token_flops + 2 * second_layer + lm_head_flops) + 2 * attention_flops * (4 + 5));
  // One token touches exactly its two experts; two more norms of 4.
  constexpr std::int64_t weights = weights_without_embedding + 8 + second_layer;
  EXPECT_EQ(counted.bytes, 2 * 4 * (weights + 4) + 2 * (4 + 1 + 5 + 1) * position_bytes);
}

TEST(work_count, more_tokens_touch_more_experts) {
  auto size = three_then_two;
  size.batch = 2;
  // A token misses half of the experts: two touch 4 * (1 - 1/4) = 3 of them, one more than one does.
  const std::int64_t cache = (4 + 1 + 5 + 1) * 2 * position_bytes;
  EXPECT_EQ(decode_work(experts_by_hand(), size).bytes - 2 * cache,
            decode_work(experts_by_hand(), three_then_two).bytes - cache + 2 * 4 * (60 + 4));
  // The six tokens of the prompts touch 4 * (1 - 1/64) = 3.9375 experts: 236 weights of 240.
  const std::int64_t all_but_experts = weights_without_embedding + 8 + 48 + 16 + 72;
  EXPECT_EQ(prefill_work(experts_by_hand(), size).bytes,
            4 * (all_but_experts + 236 + 6 * 4) + 2 * 2 * 3 * 2 * position_bytes);
}

TEST(work_count, is_put_right_by_the_experts_that_were_used) {
  auto size = three_then_two;
  size.batch = 2;
  EXPECT_EQ(missing_prefill_bytes(experts_by_hand(), size, 4), 15) << "0.0625 experts of 60 weights";
  EXPECT_EQ(missing_prefill_bytes(experts_by_hand(), size, 2), -465) << "of 3.9375";
}

TEST(work_count, says_how_experts_were_counted_only_where_there_are_some) {
  const auto mentions_experts = [](const model_shape& shape) {
    for (const auto& sentence : work_assumptions(shape, three_then_two))
      if (sentence.find("experts") != std::string::npos) return true;
    return false;
  };
  EXPECT_FALSE(mentions_experts(by_hand()));
  EXPECT_TRUE(mentions_experts(experts_by_hand()));
}

TEST(work_count, of_llama_3_1_8b) {
  const model_shape shape = {.architecture = "llama",
                             .vocab_size = 128256,
                             .hidden_size = 4096,
                             .intermediate_size = 14336,
                             .num_hidden_layers = 32,
                             .num_attention_heads = 32,
                             .num_key_value_heads = 8,
                             .head_dim = 128,
                             .rms_norm_eps = 1e-5,
                             .rope_theta = 500000};
  // 6.98 G weights in layers, twice for 2048 tokens: 28.6 TFLOP. Attention: 4 * 4096 * 32 for each of
  // 2048 * 2049 / 2 pairs: 1.1.
  const workload_size one = {.prompt_tokens = 2048, .decode_tokens = 1, .batch = 1, .element_bytes = 2};
  EXPECT_NEAR(static_cast<double>(prefill_work(shape, one).flops) * 1e-12, 29.7, 0.05);
  // All but the embedding's 525 M of 8030 M weights: 15.01 GB. Keys and values: 128 KiB a position, 0.27 GB.
  EXPECT_NEAR(static_cast<double>(decode_work(shape, one).bytes) * 1e-9, 15.01 + 0.27, 0.01);
  auto sixteen = one;
  sixteen.batch = 16;
  EXPECT_NEAR(static_cast<double>(decode_work(shape, sixteen).bytes) * 1e-9, 15.01 + 16 * 0.2687, 0.01);
}

TEST(element_bytes, of_a_config) {
  workload_config config;
  config.dtype = "bfloat16";
  EXPECT_EQ(element_bytes_of(config), 2);
  config.dtype = "float32";
  EXPECT_EQ(element_bytes_of(config), 4);
}

}  // namespace
}  // namespace profgate::llm
