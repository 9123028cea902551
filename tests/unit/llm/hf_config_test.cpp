#include "llm/hf_config.h"

#include "llm/json_file.h"
#include "support.h"

namespace profgate::llm {
namespace {

using namespace testing_support;

nlohmann::json llama() {
  return {{"model_type", "llama"},    {"vocab_size", 32},       {"hidden_size", 16},
          {"intermediate_size", 24},  {"num_hidden_layers", 2}, {"num_attention_heads", 4},
          {"num_key_value_heads", 2}, {"rms_norm_eps", 1e-6},   {"rope_theta", 10000.0},
          {"hidden_act", "silu"}};
}

model_shape read(const nlohmann::json& document) {
  const temporary_directory directory;
  return read_hf_config(directory.write("config.json", document.dump()));
}

void expect_refused(const std::string& field, const nlohmann::json& value) {
  auto document = llama();
  document[field] = value;
  expect_bad_input(field, [&] { read(document); });
}

TEST(hf_config, reads_both_spellings_of_the_rotary_base) {
  EXPECT_EQ(read(llama()).rope_theta, 10000.0);
  auto newer = llama();
  newer.erase("rope_theta");
  expect_bad_input("rope_theta is missing", [&] { read(newer); });
  newer["rope_parameters"] = {{"rope_theta", 500000.0}, {"rope_type", "default"}};
  EXPECT_EQ(read(newer).rope_theta, 500000.0);
}

TEST(hf_config, derives_what_may_be_absent) {
  auto document = llama();
  document.erase("num_key_value_heads");
  document["head_dim"] = nullptr;
  const auto shape = read(document);
  EXPECT_EQ(shape.head_dim, 4);
  EXPECT_EQ(shape.num_key_value_heads, 4);
  EXPECT_FALSE(shape.tie_word_embeddings);
}

TEST(hf_config, knows_what_each_architecture_adds) {
  auto document = llama();
  EXPECT_FALSE(read(document).attention_bias || read(document).qk_norm);
  document["model_type"] = "qwen2";
  EXPECT_TRUE(read(document).attention_bias);
  document["model_type"] = "qwen3";
  EXPECT_TRUE(read(document).qk_norm);
}

TEST(hf_config, refuses_by_name_what_it_does_not_compute) {
  expect_refused("model_type", 7);
  expect_refused("hidden_act", "gelu");
  expect_refused("rope_scaling", {{"rope_type", "llama3"}});
  expect_refused("rope_scaling", {{"type", "linear"}});
  expect_refused("rope_parameters", {{"rope_type", "yarn"}});
  expect_refused("sliding_window", 4096);
  expect_refused("use_sliding_window", true);
  expect_refused("layer_types", {"sliding_attention"});
  expect_refused("quantization_config", {{"bits", 4}});
  expect_refused("num_experts", 8);
  expect_refused("num_local_experts", 8);
  expect_refused("n_routed_experts", 8);
  expect_refused("attention_bias", true);
  expect_refused("mlp_bias", true);
  expect_refused("partial_rotary_factor", 0.5);
  auto document = llama();
  document["model_type"] = "gemma";
  expect_bad_input("architecture 'gemma' is not supported", [&] { read(document); });
}

TEST(hf_config, ignores_a_window_that_is_switched_off) {
  auto document = llama();
  document["sliding_window"] = 4096;
  document["use_sliding_window"] = false;
  EXPECT_NO_THROW(read(document));
}

TEST(hf_config, refuses_impossible_numbers_by_name) {
  expect_refused("hidden_size", "wide");
  expect_refused("vocab_size", 0);
  expect_refused("num_hidden_layers", 1'000'000'000'000);
  expect_refused("num_key_value_heads", 3);
  expect_refused("num_attention_heads", 0);
  expect_refused("head_dim", 5);
  expect_refused("rms_norm_eps", -1);
  expect_bad_input("config.json: cannot be read", [] { read_hf_config("/nonexistent/config.json"); });
  const temporary_directory directory;
  expect_bad_input("not a JSON object", [&] { read_hf_config(directory.write("config.json", "[1]")); });
}

}  // namespace
}  // namespace profgate::llm
