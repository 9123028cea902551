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

TEST(work_count, prefill_by_hand) {
  const auto counted = prefill_work(by_hand(), 3);
  EXPECT_EQ(counted.flops, 3 * token_flops + attention_flops * (1 + 2 + 3) + lm_head_flops);
  EXPECT_EQ(counted.bytes, 4 * (weights_without_embedding + 3 * 4) + 2 * 3 * position_bytes);
}

TEST(work_count, decode_by_hand) {
  const auto counted = decode_work(by_hand(), 3, 2);
  EXPECT_EQ(counted.flops, 2 * (token_flops + lm_head_flops) + attention_flops * (4 + 5));
  // Each step reads every position and writes its own.
  EXPECT_EQ(counted.bytes, 2 * 4 * (weights_without_embedding + 4) + (4 + 1 + 5 + 1) * position_bytes);
}

TEST(work_count, a_tied_head_reads_the_embedding) {
  auto tied = by_hand();
  tied.tie_word_embeddings = true;
  EXPECT_EQ(parameter_count(by_hand()), 84 + 12 + 80);
  EXPECT_EQ(parameter_count(tied), 84 + 12 + 40);
  EXPECT_EQ(decode_work(tied, 3, 2).bytes, decode_work(by_hand(), 3, 2).bytes);
}

}  // namespace
}  // namespace profgate::llm
