#include "llm/hf_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "llm/failure.h"
#include "llm/json_file.h"

namespace profgate::llm {
namespace {

using nlohmann::json;

constexpr const char* damaged_remedy = "fetch config.json again";

/// Looks fields up by name; null counts as absent, as Hugging Face writes it.
class config_fields {
 public:
  config_fields(const json& document, std::string where) : m_document(document), m_where(std::move(where)) {
    if (!document.is_object()) throw bad_input(m_where + ": not a JSON object", damaged_remedy);
  }

  const json* find(const char* field) const {
    const auto found = m_document.find(field);
    return found == m_document.end() || found->is_null() ? nullptr : &*found;
  }

  template <typename Value>
  std::optional<Value> optional(const char* field) const {
    const json* value = find(field);
    if (value == nullptr) return std::nullopt;
    if constexpr (std::is_same_v<Value, std::int64_t>) {  // the JSON library would cut 63.5 and make true 1
      const bool is_whole = value->is_number() && value->get<double>() == std::floor(value->get<double>());
      if (!is_whole) throw bad_input(m_where + ": " + field + " must be a whole number", damaged_remedy);
    }
    try {
      return value->get<Value>();
    } catch (const json::exception&) {
      throw bad_input(m_where + ": " + field + " has the wrong type", damaged_remedy);
    }
  }

  template <typename Value>
  Value required(const char* field) const {
    const auto value = optional<Value>(field);
    if (!value) throw bad_input(m_where + ": " + field + " is missing", damaged_remedy);
    return *value;
  }

  config_fields child(const char* field) const { return {*find(field), m_where + ": " + field}; }

  failure refuse(const std::string& field_and_problem) const {
    return bad_input(m_where + ": " + field_and_problem, damaged_remedy);
  }

  failure unsupported(const std::string& field_and_value) const {
    return bad_input(m_where + ": " + field_and_value + " is not supported",
                     "use a llama, qwen2, qwen3, qwen3_moe or (without MLA) deepseek_v2 model");
  }

  /// Refuses a field that has any other value than this.
  template <typename Value>
  void only(const char* field, const Value& computed) const {
    if (const auto value = optional<Value>(field); value && *value != computed)
      throw unsupported(field + (" " + find(field)->dump()));
  }

 private:
  const json& m_document;
  std::string m_where;
};

/// DeepSeek-OCR's released config names its decoder only by class.
std::string read_architecture(const config_fields& config) {
  const auto classes = config.optional<std::vector<std::string>>("architectures");
  const bool deepseek = classes && !classes->empty() && classes->front() == "DeepseekV2ForCausalLM";
  if (config.find("model_type") == nullptr && deepseek) return "deepseek_v2";
  const auto type = config.required<std::string>("model_type");
  return type == "DeepseekV2" ? "deepseek_v2" : type;
}

/// Refuses what would change the computation in a way that is not implemented here.
void refuse_unsupported(const config_fields& config) {
  config.only<std::string>("hidden_act", "silu");
  if (config.find("quantization_config") != nullptr) throw config.unsupported("quantization_config");
  for (const char* field : {"use_sliding_window", "mlp_bias", "attention_bias"}) config.only(field, false);
  // use_sliding_window false makes Qwen's sliding_window a number without effect.
  if (config.find("sliding_window") != nullptr && config.find("use_sliding_window") == nullptr)
    throw config.unsupported("sliding_window");
  if (config.find("sliding_window_size") != nullptr) throw config.unsupported("sliding_window_size");
  config.only("partial_rotary_factor", 1.0);
  if (const json* types = config.find("layer_types"); types != nullptr)
    for (const auto& type : *types)
      if (type != "full_attention") throw config.unsupported("layer_types " + type.dump());
}

/// rope_theta and rope_scaling stood beside the other fields first, then moved into rope_parameters. Both
/// occur.
void read_rope(const config_fields& config, model_shape& shape) {
  auto theta = config.optional<double>("rope_theta");
  for (const char* field : {"rope_scaling", "rope_parameters"}) {
    if (config.find(field) == nullptr) continue;
    const auto rope = config.child(field);
    if (!theta) theta = rope.optional<double>("rope_theta");
    rope.only("partial_rotary_factor", 1.0);
    const char* type_field = rope.find("rope_type") != nullptr ? "rope_type" : "type";
    const auto type = rope.optional<std::string>(type_field).value_or("default");
    if (type == "llama3")
      shape.rope_scaling = {
          .factor = rope.required<double>("factor"),
          .low_freq_factor = rope.required<double>("low_freq_factor"),
          .high_freq_factor = rope.required<double>("high_freq_factor"),
          .original_max_position_embeddings = rope.required<double>("original_max_position_embeddings")};
    else if (type != "default")
      throw rope.unsupported(std::string(type_field) + " '" + type + "'");
  }
  if (theta || shape.rope_theta == 0)
    shape.rope_theta = theta ? *theta : config.required<double>("rope_theta");
}

constexpr auto expert_count_names =
    std::to_array<const char*>({"num_experts", "num_local_experts", "n_routed_experts"});

void read_experts(const config_fields& config, model_shape& shape) {
  for (const char* field : expert_count_names)
    if (shape.num_experts == 0) shape.num_experts = config.optional<std::int64_t>(field).value_or(0);
  shape.num_experts_per_tok = config.required<std::int64_t>("num_experts_per_tok");
  shape.moe_intermediate_size = config.required<std::int64_t>("moe_intermediate_size");
  shape.norm_topk_prob = config.optional<bool>("norm_topk_prob").value_or(false);
}

void read_qwen3_moe(const config_fields& config, model_shape& shape) {
  config.only<std::int64_t>("decoder_sparse_step", 1);
  config.only("mlp_only_layers", std::vector<std::int64_t>{});
  read_experts(config, shape);
}

void read_deepseek_v2(const config_fields& config, model_shape& shape) {
  if (config.optional<bool>("use_mla").value_or(true)) throw config.unsupported("use_mla true (its default)");
  config.only<std::int64_t>("moe_layer_freq", 1);
  config.only<std::string>("scoring_func", "softmax");
  if (config.optional<std::string>("topk_method") != "gready")  // as its own default misspells it
    config.only<std::string>("topk_method", "greedy");
  config.only("routed_scaling_factor", 1.0);
  read_experts(config, shape);
  shape.first_dense_layers = config.optional<std::int64_t>("first_k_dense_replace").value_or(0);
  const auto shared = config.optional<std::int64_t>("n_shared_experts").value_or(0);
  if (__builtin_mul_overflow(shared, shape.moe_intermediate_size, &shape.shared_intermediate_size))
    throw config.unsupported("n_shared_experts " + std::to_string(shared));
}

/// Of a list the text "512, 1024".
template <typename List>
std::string words_of(const List& numbers) {
  std::string text;
  for (const auto number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

/// "heads is 3", or that config.json lacks it and which value stands for it.
std::string words_of_field(const config_fields& config, const char* field, const std::string& value) {
  return field +
         (config.find(field) != nullptr ? " is " + value : " is missing, and its default is " + value);
}

void read_sizes(const config_fields& config, std::int64_t& width, std::int64_t& layers, std::int64_t& heads) {
  const auto read = [&](const char* field, std::int64_t& to) {
    to = config.optional<std::int64_t>(field).value_or(to);
    if (to < 1 || to > 1 << 20)
      throw config.refuse(std::string(field) + " is " + std::to_string(to) + ", not between 1 and 1048576");
  };
  read("width", width);
  read("layers", layers);
  read("heads", heads);
  if (width % heads != 0)
    throw config.refuse(words_of_field(config, "heads", std::to_string(heads)) +
                        ", which does not divide width, " + std::to_string(width));
}

void read_sam(const config_fields& config, vision::sam_shape& sam) {
  read_sizes(config, sam.width, sam.layers, sam.heads);
  sam.mlp_width = 4 * sam.width;
  if (const auto layers = config.optional<std::vector<std::int64_t>>("global_attn_indexes"))
    sam.global_layers = *layers;
  for (const std::int64_t layer : sam.global_layers)
    if (layer < 0 || layer >= sam.layers)
      throw config.refuse(words_of_field(config, "global_attn_indexes", words_of(sam.global_layers)) +
                          ": there is no layer " + std::to_string(layer) + ", layers is " +
                          std::to_string(sam.layers));
  if (const auto widths = config.optional<std::vector<std::int64_t>>("downsample_channels")) {
    if (widths->size() != sam.compressed_widths.size())
      throw config.refuse("downsample_channels is not a list of two");
    std::copy(widths->begin(), widths->end(), sam.compressed_widths.begin());
  }
}

void read_clip(const config_fields& config, vision::clip_shape& clip) {
  read_sizes(config, clip.width, clip.layers, clip.heads);
  clip.mlp_width = 4 * clip.width;
  const auto image = config.optional<std::int64_t>("image_size").value_or(224);
  const auto patch = config.optional<std::int64_t>("patch_size").value_or(14);
  if (patch <= 0 || image < patch)
    throw config.refuse("image_size is " + std::to_string(image) + ", patch_size " + std::to_string(patch) +
                        ": no patch comes of that");
  clip.position_side = image / patch;
}

}  // namespace

model_shape read_hf_config(const std::string& path) {
  const json document = read_json_file(path);
  const config_fields whole(document, path);
  const bool nested = whole.find("language_config") != nullptr;  // a decoder behind a vision encoder
  const config_fields config = nested ? whole.child("language_config") : whole;

  model_shape shape;
  shape.architecture = read_architecture(config);
  refuse_unsupported(config);
  if (nested) refuse_unsupported(whole);
  if (shape.architecture == "deepseek_v2") {
    // Its config.json leaves these out where they have the values of its class.
    shape.rms_norm_eps = 1e-6;
    shape.rope_theta = 10000;
    read_deepseek_v2(config, shape);
  } else if (shape.architecture == "qwen3_moe") {
    read_qwen3_moe(config, shape);
  } else {
    for (const char* field : expert_count_names)
      if (config.find(field) != nullptr) throw config.unsupported(field);
  }
  shape.vocab_size = config.required<std::int64_t>("vocab_size");
  shape.hidden_size = config.required<std::int64_t>("hidden_size");
  shape.intermediate_size = config.required<std::int64_t>("intermediate_size");
  shape.num_hidden_layers = config.required<std::int64_t>("num_hidden_layers");
  shape.num_attention_heads = config.required<std::int64_t>("num_attention_heads");
  shape.num_key_value_heads =
      config.optional<std::int64_t>("num_key_value_heads").value_or(shape.num_attention_heads);
  if (shape.num_attention_heads <= 0)
    throw bad_input(path + ": num_attention_heads is not positive", damaged_remedy);
  shape.head_dim =
      config.optional<std::int64_t>("head_dim").value_or(shape.hidden_size / shape.num_attention_heads);
  if (shape.rms_norm_eps == 0 || config.find("rms_norm_eps") != nullptr)
    shape.rms_norm_eps = config.required<double>("rms_norm_eps");
  read_rope(config, shape);
  shape.tie_word_embeddings = config.optional<bool>("tie_word_embeddings").value_or(false);
  shape.attention_bias = shape.architecture == "qwen2";
  shape.qk_norm = shape.architecture == "qwen3" || shape.architecture == "qwen3_moe";
  validate(shape, path);
  return shape;
}

std::optional<vision::vision_shape> read_hf_vision_config(const std::string& path) {
  const json document = read_json_file(path);
  const config_fields whole(document, path);
  if (whole.find("vision_config") == nullptr) return std::nullopt;
  const config_fields config = whole.child("vision_config");
  const auto part = [&](const config_fields& from, const char* field) {
    if (from.find(field) == nullptr)
      throw bad_input(path + ": vision_config: " + field + " is missing: no vision encoder of DeepSeek-OCR",
                      "use a checkpoint of DeepSeek-OCR, or inputs without images");
    return from.child(field);
  };
  const config_fields encoders = part(config, "width");
  const config_fields sam = part(encoders, "sam_vit_b");
  const config_fields clip = part(encoders, "clip-l-14-224");

  vision::vision_shape shape;
  shape.sam.image_size = config.optional<std::int64_t>("image_size").value_or(shape.sam.image_size);
  try {
    vision::validate_image_size(shape, shape.sam.image_size);
  } catch (const failure& problem) {
    throw config.refuse("image_size: " + std::string(problem.what()));
  }
  read_sam(sam, shape.sam);
  read_clip(clip, shape.clip);
  if (shape.sam.compressed_widths.back() != shape.clip.width)
    throw sam.refuse(words_of_field(sam, "downsample_channels", words_of(shape.sam.compressed_widths)) +
                     ": the last is not clip-l-14-224's width, " + std::to_string(shape.clip.width));
  return shape;
}

}  // namespace profgate::llm
