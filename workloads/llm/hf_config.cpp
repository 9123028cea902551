#include "llm/hf_config.h"

#include <optional>

#include "llm/failure.h"
#include "llm/json_file.h"

namespace profgate::llm {
namespace {

using nlohmann::json;

/// Looks fields up by name; null counts as absent, as Hugging Face writes it.
class config_fields {
 public:
  config_fields(const json& document, const std::string& path) : m_document(document), m_path(path) {}

  const json* find(const char* field) const {
    const auto found = m_document.find(field);
    return found == m_document.end() || found->is_null() ? nullptr : &*found;
  }

  template <typename Value>
  std::optional<Value> optional(const char* field) const {
    const json* value = find(field);
    if (value == nullptr) return std::nullopt;
    try {
      return value->get<Value>();
    } catch (const json::exception&) {
      throw bad_input(m_path + ": " + field + " has the wrong type", "fetch config.json again");
    }
  }

  template <typename Value>
  Value required(const char* field) const {
    const auto value = optional<Value>(field);
    if (!value) throw bad_input(m_path + ": " + field + " is missing", "fetch config.json again");
    return *value;
  }

  failure unsupported(const std::string& field_and_value) const {
    return bad_input(m_path + ": " + field_and_value + " is not supported",
                     "use a dense llama, qwen2 or qwen3 model with default rotary positions");
  }

 private:
  const json& m_document;
  const std::string& m_path;
};

/// Refuses what would change the computation in a way that is not implemented here.
void refuse_unsupported(const config_fields& config) {
  if (const auto act = config.optional<std::string>("hidden_act"); act && *act != "silu")
    throw config.unsupported("hidden_act '" + *act + "'");
  for (const char* field : {"num_experts", "num_local_experts", "n_routed_experts", "quantization_config"})
    if (config.find(field) != nullptr) throw config.unsupported(field);
  for (const char* field : {"use_sliding_window", "mlp_bias", "attention_bias"})
    if (config.optional<bool>(field).value_or(false)) throw config.unsupported(std::string(field) + " true");
  // use_sliding_window false makes Qwen's sliding_window a number without effect.
  if (config.find("sliding_window") != nullptr && config.find("use_sliding_window") == nullptr)
    throw config.unsupported("sliding_window");
  if (config.optional<double>("partial_rotary_factor").value_or(1.0) != 1.0)
    throw config.unsupported("partial_rotary_factor");
  if (const json* types = config.find("layer_types"); types != nullptr)
    for (const auto& type : *types)
      if (type != "full_attention") throw config.unsupported("layer_types " + type.dump());
}

/// rope_theta stood beside the other fields first, then moved into rope_parameters. Both occur.
double read_rope_theta(const json& document, const config_fields& config, const std::string& path) {
  for (const char* field : {"rope_scaling", "rope_parameters"}) {
    const json* rope = config.find(field);
    if (rope == nullptr) continue;
    if (!rope->is_object())
      throw bad_input(path + ": " + field + " is not an object", "fetch config.json again");
    for (const char* type_field : {"rope_type", "type"}) {
      const auto type = rope->find(type_field);
      if (type != rope->end() && *type != "default")
        throw config.unsupported(std::string(field) + "." + type_field + " " + type->dump());
    }
  }
  if (const auto theta = config.optional<double>("rope_theta")) return *theta;
  const auto parameters = document.value("rope_parameters", json::object());
  return config_fields(parameters, path).required<double>("rope_theta");
}

}  // namespace

model_shape read_hf_config(const std::string& path) {
  const json document = read_json_file(path);
  if (!document.is_object()) throw bad_input(path + ": not a JSON object", "fetch config.json again");
  const config_fields config(document, path);

  model_shape shape;
  shape.architecture = config.required<std::string>("model_type");
  refuse_unsupported(config);
  shape.vocab_size = config.required<std::int64_t>("vocab_size");
  shape.hidden_size = config.required<std::int64_t>("hidden_size");
  shape.intermediate_size = config.required<std::int64_t>("intermediate_size");
  shape.num_hidden_layers = config.required<std::int64_t>("num_hidden_layers");
  shape.num_attention_heads = config.required<std::int64_t>("num_attention_heads");
  shape.num_key_value_heads =
      config.optional<std::int64_t>("num_key_value_heads").value_or(shape.num_attention_heads);
  if (shape.num_attention_heads <= 0)
    throw bad_input(path + ": num_attention_heads is not positive", "fetch config.json again");
  shape.head_dim =
      config.optional<std::int64_t>("head_dim").value_or(shape.hidden_size / shape.num_attention_heads);
  shape.rms_norm_eps = config.required<double>("rms_norm_eps");
  shape.rope_theta = read_rope_theta(document, config, path);
  shape.tie_word_embeddings = config.optional<bool>("tie_word_embeddings").value_or(false);
  shape.attention_bias = shape.architecture == "qwen2";
  shape.qk_norm = shape.architecture == "qwen3";
  validate(shape, path);
  return shape;
}

}  // namespace profgate::llm
