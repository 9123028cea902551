#include "llm/model_shape.h"

#include <set>

#include "support.h"

namespace profgate::llm {
namespace {

using namespace testing_support;

TEST(parameter_count, knows_published_models) {
  EXPECT_EQ(parameter_count(llama_tiny_shape()), 198080);
  const model_shape qwen3 = {.architecture = "qwen3",
                             .vocab_size = 151936,
                             .hidden_size = 1024,
                             .intermediate_size = 3072,
                             .num_hidden_layers = 28,
                             .num_attention_heads = 16,
                             .num_key_value_heads = 8,
                             .head_dim = 128,
                             .rms_norm_eps = 1e-6,
                             .rope_theta = 1e6,
                             .tie_word_embeddings = true,
                             .qk_norm = true};
  EXPECT_EQ(parameter_count(qwen3), 596049920);
  const model_shape qwen2 = {.architecture = "qwen2",
                             .vocab_size = 152064,
                             .hidden_size = 3584,
                             .intermediate_size = 18944,
                             .num_hidden_layers = 28,
                             .num_attention_heads = 28,
                             .num_key_value_heads = 4,
                             .head_dim = 128,
                             .rms_norm_eps = 1e-6,
                             .rope_theta = 1e6,
                             .attention_bias = true};
  EXPECT_EQ(parameter_count(qwen2), 7615616512);
}

TEST(parameter_count, counts_every_expert_and_active_the_chosen_ones) {
  const auto tiny = deepseek_moe_tiny_shape();
  EXPECT_EQ(parameter_count(tiny), 334'272);
  // Two layers leave 5 of 8 experts of three 64 x 48 matrices alone; of the embedding one row is read.
  EXPECT_EQ(active_parameter_count(tiny), 334'272 - 2 * 5 * 3 * 64 * 48 - 511 * 64);
  const model_shape qwen3 = {.architecture = "qwen3_moe",
                             .vocab_size = 151936,
                             .hidden_size = 2048,
                             .intermediate_size = 6144,
                             .num_hidden_layers = 48,
                             .num_attention_heads = 32,
                             .num_key_value_heads = 4,
                             .head_dim = 128,
                             .rms_norm_eps = 1e-6,
                             .rope_theta = 1e6,
                             .qk_norm = true,
                             .num_experts = 128,
                             .num_experts_per_tok = 8,
                             .moe_intermediate_size = 768,
                             .norm_topk_prob = true};
  EXPECT_EQ(parameter_count(qwen3), 30'532'122'624);
  EXPECT_NEAR(static_cast<double>(active_parameter_count(qwen3)), 3.04e9, 0.01e9);
}

TEST(active_parameter_count, of_a_dense_model_leaves_out_what_the_embedding_does_not_look_up) {
  auto shape = llama_tiny_shape();
  EXPECT_EQ(active_parameter_count(shape), parameter_count(shape) - 511 * 64);
  shape.tie_word_embeddings = true;
  EXPECT_EQ(active_parameter_count(shape), parameter_count(shape));
}

TEST(tensors_of, names_experts_as_checkpoints_do) {
  std::set<std::string> names;
  for (const auto& tensor : tensors_of(deepseek_moe_tiny_shape())) names.insert(tensor.name);
  for (const char* name :
       {"model.layers.0.mlp.gate_proj.weight", "model.layers.1.mlp.gate.weight",
        "model.layers.1.mlp.experts.0.gate_proj.weight", "model.layers.2.mlp.experts.7.down_proj.weight",
        "model.layers.2.mlp.shared_experts.up_proj.weight"})
    EXPECT_TRUE(names.contains(name)) << name;
  for (const char* name : {"model.layers.0.mlp.gate.weight", "model.layers.1.mlp.gate_proj.weight",
                           "model.layers.1.mlp.experts.8.gate_proj.weight"})
    EXPECT_FALSE(names.contains(name)) << name;
}

TEST(validate, names_the_field_that_cannot_be) {
  const auto expect_refused = [](const std::string& words, auto change) {
    auto shape = deepseek_moe_tiny_shape();
    validate(shape, "here");
    change(shape);
    expect_bad_input("here: " + words, [&] { validate(shape, "here"); });
  };
  expect_refused("num_experts is 1025, not between 1 and 1024",
                 [](auto& shape) { shape.num_experts = 1025; });
  expect_refused("num_experts_per_tok is 9, not between 1 and 8",
                 [](auto& shape) { shape.num_experts_per_tok = 9; });
  expect_refused("moe_intermediate_size is 0", [](auto& shape) { shape.moe_intermediate_size = 0; });
  expect_refused("shared_intermediate_size is -1", [](auto& shape) { shape.shared_intermediate_size = -1; });
  expect_refused("first_dense_layers is 3, not between 0 and 2",
                 [](auto& shape) { shape.first_dense_layers = 3; });
  expect_refused("num_hidden_layers is 4097", [](auto& shape) { shape.num_hidden_layers = 4097; });
  expect_refused("num_experts times moe_intermediate_size is too large", [](auto& shape) {
    shape.num_hidden_layers = 4096;
    shape.num_experts = 1024;
    shape.hidden_size = shape.moe_intermediate_size = 1 << 20;
  });
  expect_refused("num_experts is set, but the architecture llama has no experts",
                 [](auto& shape) { shape.architecture = "llama"; });
  expect_refused("rope_scaling.high_freq_factor is not above", [](auto& shape) {
    shape.rope_scaling = {
        .factor = 8, .low_freq_factor = 4, .high_freq_factor = 1, .original_max_position_embeddings = 8192};
  });
}

}  // namespace
}  // namespace profgate::llm
