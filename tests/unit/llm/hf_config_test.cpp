#include "llm/hf_config.h"

#include <sys/stat.h>

#include "llm/json_file.h"
#include "support.h"
#include "vision_config.h"

namespace profgate::llm {
namespace {

using namespace testing_support;

nlohmann::json llama() {
  return {{"model_type", "llama"},    {"vocab_size", 32},       {"hidden_size", 16},
          {"intermediate_size", 24},  {"num_hidden_layers", 2}, {"num_attention_heads", 4},
          {"num_key_value_heads", 2}, {"rms_norm_eps", 1e-6},   {"rope_theta", 10000.0},
          {"hidden_act", "silu"}};
}

nlohmann::json qwen3_moe() {
  auto document = llama();
  document.update({{"model_type", "qwen3_moe"},
                   {"num_experts", 8},
                   {"num_experts_per_tok", 2},
                   {"moe_intermediate_size", 12},
                   {"norm_topk_prob", true},
                   {"decoder_sparse_step", 1},
                   {"mlp_only_layers", nlohmann::json::array()}});
  return document;
}

/// As DeepSeek-OCR is released: what has the class's default value is left out.
nlohmann::json deepseek_ocr() {
  return {{"model_type", "deepseek_vl_v2"},
          {"vision_config", {{"hidden_act", "gelu"}}},
          {"language_config",
           {{"architectures", {"DeepseekV2ForCausalLM"}},
            {"vocab_size", 129280},
            {"hidden_size", 1280},
            {"intermediate_size", 6848},
            {"num_hidden_layers", 12},
            {"num_attention_heads", 10},
            {"num_key_value_heads", 10},
            {"first_k_dense_replace", 1},
            {"kv_lora_rank", nullptr},
            {"moe_intermediate_size", 896},
            {"n_routed_experts", 64},
            {"n_shared_experts", 2},
            {"num_experts_per_tok", 6},
            {"topk_method", "greedy"},
            {"use_mla", false}}}};
}

model_shape read_document(const nlohmann::json& document) {
  const temporary_directory directory;
  return read_hf_config(directory.write("config.json", document.dump()));
}

void expect_field_refused(const std::string& field, const nlohmann::json& value,
                          nlohmann::json document = llama()) {
  document[field] = value;
  expect_bad_input(field, [&] { read_document(document); });
}

TEST(hf_config, reads_both_spellings_of_the_rotary_base) {
  EXPECT_EQ(read_document(llama()).rope_theta, 10000.0);
  auto newer = llama();
  newer.erase("rope_theta");
  expect_bad_input("rope_theta is missing", [&] { read_document(newer); });
  newer["rope_parameters"] = {{"rope_theta", 500000.0}, {"rope_type", "default"}};
  EXPECT_EQ(read_document(newer).rope_theta, 500000.0);
}

TEST(hf_config, derives_what_may_be_absent) {
  auto document = llama();
  document.erase("num_key_value_heads");
  document["head_dim"] = nullptr;
  const auto shape = read_document(document);
  EXPECT_EQ(shape.head_dim, 4);
  EXPECT_EQ(shape.num_key_value_heads, 4);
  EXPECT_FALSE(shape.tie_word_embeddings);
}

TEST(hf_config, knows_what_each_architecture_adds) {
  auto document = llama();
  EXPECT_FALSE(read_document(document).attention_bias || read_document(document).qk_norm);
  document["model_type"] = "qwen2";
  EXPECT_TRUE(read_document(document).attention_bias);
  document["model_type"] = "qwen3";
  EXPECT_TRUE(read_document(document).qk_norm);
}

TEST(hf_config, reads_the_stretched_frequencies_of_llama_3) {
  const nlohmann::json scaling = {{"factor", 8.0},
                                  {"low_freq_factor", 1.0},
                                  {"high_freq_factor", 4.0},
                                  {"original_max_position_embeddings", 8192},
                                  {"rope_type", "llama3"}};
  auto document = llama();
  EXPECT_FALSE(read_document(document).rope_scaling);
  document["rope_scaling"] = scaling;
  ASSERT_TRUE(read_document(document).rope_scaling);
  EXPECT_EQ(read_document(document).rope_scaling->original_max_position_embeddings, 8192);
  document.erase("rope_scaling");
  document["rope_parameters"] = scaling;
  ASSERT_TRUE(read_document(document).rope_scaling);
  EXPECT_EQ(read_document(document).rope_scaling->high_freq_factor, 4);
  document["rope_parameters"]["factor"] = 0.5;
  expect_bad_input("rope_scaling.factor is not at least 1", [&] { read_document(document); });
  document["rope_parameters"].erase("factor");
  expect_bad_input("rope_parameters: factor is missing", [&] { read_document(document); });
}

TEST(hf_config, reads_the_number_of_experts_under_each_of_its_names) {
  for (const char* field : {"num_experts", "num_local_experts", "n_routed_experts"}) {
    auto document = qwen3_moe();
    document.erase("num_experts");
    document[field] = 16;
    const auto shape = read_document(document);
    EXPECT_EQ(shape.num_experts, 16) << field;
    EXPECT_EQ(shape.num_experts_per_tok, 2);
    EXPECT_EQ(shape.moe_intermediate_size, 12);
    EXPECT_TRUE(shape.norm_topk_prob && shape.qk_norm && shape.has_experts(0));
  }
}

TEST(hf_config, reads_the_decoder_of_deepseek_ocr) {
  const auto nested = deepseek_ocr();
  auto plain = nested.at("language_config");
  plain["model_type"] = "deepseek_v2";
  for (const auto& document : {nested, plain}) {
    const auto shape = read_document(document);
    EXPECT_EQ(shape.architecture, "deepseek_v2");
    EXPECT_EQ(shape.head_dim, 128);
    EXPECT_EQ(shape.rms_norm_eps, 1e-6);
    EXPECT_EQ(shape.rope_theta, 10000);
    EXPECT_EQ(shape.shared_intermediate_size, 1792);
    EXPECT_FALSE(shape.norm_topk_prob || shape.qk_norm || shape.has_experts(0));
    EXPECT_TRUE(shape.has_experts(1));
    EXPECT_EQ(parameter_count(shape), 2'934'734'080);
  }
}

TEST(hf_config, refuses_experts_it_does_not_compute) {
  expect_field_refused("decoder_sparse_step", 2, qwen3_moe());
  expect_field_refused("mlp_only_layers", {0}, qwen3_moe());
  expect_field_refused("num_experts", nullptr, qwen3_moe());
  expect_field_refused("num_experts", 1025, qwen3_moe());
  expect_field_refused("num_experts_per_tok", 9, qwen3_moe());
  expect_field_refused("num_experts_per_tok", nullptr, qwen3_moe());
  expect_field_refused("moe_intermediate_size", 0, qwen3_moe());
  const auto deepseek = deepseek_ocr().at("language_config");
  expect_field_refused("use_mla", true, deepseek);
  expect_field_refused("use_mla", nullptr, deepseek);
  expect_field_refused("moe_layer_freq", 2, deepseek);
  expect_field_refused("scoring_func", "sigmoid", deepseek);
  expect_field_refused("topk_method", "group_limited_greedy", deepseek);
  expect_field_refused("routed_scaling_factor", 2.5, deepseek);
  expect_field_refused("n_shared_experts", std::int64_t{1} << 60, deepseek);
  expect_field_refused("sliding_window_size", 128, deepseek_ocr());
  auto quantised = deepseek_ocr();
  quantised["quantization_config"] = {{"bits", 4}};
  expect_bad_input("quantization_config", [&] { read_document(quantised); });
  quantised["language_config"] = 7;
  expect_bad_input("language_config: not a JSON object", [&] { read_document(quantised); });
}

TEST(hf_config, refuses_by_name_what_it_does_not_compute) {
  expect_field_refused("model_type", 7);
  expect_field_refused("hidden_act", "gelu");
  expect_field_refused("rope_scaling", {{"rope_type", "longrope"}});
  expect_field_refused("rope_scaling", {{"type", "linear"}});
  expect_field_refused("rope_parameters", {{"rope_type", "yarn"}});
  expect_field_refused("sliding_window", 4096);
  expect_field_refused("use_sliding_window", true);
  expect_field_refused("layer_types", {"sliding_attention"});
  expect_field_refused("quantization_config", {{"bits", 4}});
  expect_field_refused("num_experts", 8);
  expect_field_refused("num_local_experts", 8);
  expect_field_refused("n_routed_experts", 8);
  expect_field_refused("attention_bias", true);
  expect_field_refused("mlp_bias", true);
  expect_field_refused("partial_rotary_factor", 0.5);
  auto document = llama();
  document["model_type"] = "gemma";
  expect_bad_input("architecture 'gemma' is not supported", [&] { read_document(document); });
}

TEST(hf_config, ignores_a_window_that_is_switched_off) {
  auto document = llama();
  document["sliding_window"] = 4096;
  document["use_sliding_window"] = false;
  EXPECT_NO_THROW(read_document(document));
}

TEST(hf_config, refuses_impossible_numbers_by_name) {
  expect_field_refused("hidden_size", "wide");
  expect_field_refused("hidden_size", 63.5);
  expect_field_refused("hidden_size", true);
  expect_field_refused("vocab_size", 0);
  expect_field_refused("num_hidden_layers", 1'000'000'000'000);
  expect_field_refused("num_key_value_heads", 3);
  expect_field_refused("num_attention_heads", 0);
  expect_field_refused("head_dim", 5);
  expect_field_refused("rms_norm_eps", -1);
  expect_bad_input("config.json: cannot be read", [] { read_hf_config("/nonexistent/config.json"); });
  const temporary_directory directory;
  expect_bad_input("not a JSON object", [&] { read_hf_config(directory.write("config.json", "[1]")); });
}

TEST(hf_config, a_vision_encoder_that_cannot_be_is_told_by_its_field) {
  const temporary_directory directory;
  const auto read = [&](const nlohmann::json& vision) {
    return read_hf_vision_config(
        directory.write("config.json", nlohmann::json{{"vision_config", vision}}.dump()));
  };
  EXPECT_EQ(read(vision_config())->sam.mlp_width, 32);
  const std::string place = directory.file("config.json") + ": vision_config: ";
  const auto expect_refused = [&](const std::string& part, const char* field, const nlohmann::json& value,
                                  const std::string& words) {
    nlohmann::json changed = vision_config();
    if (value.is_null())
      changed["width"][part].erase(field);
    else
      changed["width"][part][field] = value;
    expect_bad_input(place + "width: " + part + ": " + words, [&] { read(changed); });
  };
  expect_refused("sam_vit_b", "heads", 3, "heads is 3, which does not divide width, 8");
  expect_refused("sam_vit_b", "heads", 0, "heads is 0, not between 1 and 1048576");
  expect_refused("sam_vit_b", "heads", nullptr, "heads is missing, and its default is 12, which does not");
  expect_refused("sam_vit_b", "global_attn_indexes", {1, 9},
                 "global_attn_indexes is 1, 9: there is no layer 9, layers is 2");
  expect_refused("sam_vit_b", "downsample_channels", nullptr,
                 "downsample_channels is missing, and its default is 512, 1024: the last is not "
                 "clip-l-14-224's width, 8");
  expect_refused("clip-l-14-224", "heads", 5, "heads is 5, which does not divide width, 8");
  expect_refused("clip-l-14-224", "patch_size", 0, "image_size is 224, patch_size 0: no patch");
  nlohmann::json uneven = vision_config();
  uneven["image_size"] = 500;
  expect_bad_input(place + "image_size: vision encoder: an image of 500 pixels", [&] { read(uneven); });
}

TEST(hf_config, neither_crashes_by_depth_nor_hangs_on_a_fifo) {
  const temporary_directory directory;
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  const std::string file =
      directory.write("config.json", R"({"model_type": "llama", "layer_types": )" + deep + "}");
  expect_bad_input("config.json: nested more than 64 levels deep", [&] { read_hf_config(file); });
  std::filesystem::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  expect_bad_input("config.json: is not a file", [&] { read_hf_config(file); });
}

}  // namespace
}  // namespace profgate::llm
