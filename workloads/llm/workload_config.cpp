#include "llm/workload_config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "llm/failure.h"

namespace profgate::llm {
namespace {

constexpr std::int64_t largest_cuda_batch = 64;
constexpr std::int64_t longest_planted_delay_ns = 1'000'000'000;

/// One group of the document ("workload", "model.shape"); it knows its path for messages.
class group {
 public:
  group(std::string file, std::string path, const YAML::Node& node)
      : m_file(std::move(file)), m_path(std::move(path)), m_node(node) {}

  group child(const char* key) const {
    const YAML::Node node = m_node[key];
    if (!present(node) || !node.IsMap())
      throw bad_input(where(node) + key_path(key) + " is missing", "compose the config with this group");
    return {m_file, key_path(key), node};
  }

  bool has(const char* key) const { return present(m_node[key]); }

  template <typename Value>
  Value required(const char* key) const {
    if (!has(key))
      throw bad_input(where(m_node) + key_path(key) + " is missing",
                      "set " + key_path(key) + " in the config");
    const YAML::Node node = m_node[key];
    try {
      return node.as<Value>();
    } catch (const YAML::Exception&) {
      throw bad_input(where(node) + key_path(key) + " has the wrong type", "correct its value");
    }
  }

  template <typename Value>
  Value value_or(const char* key, Value otherwise) const {
    return has(key) ? required<Value>(key) : otherwise;
  }

  std::int64_t at_least(const char* key, std::int64_t least) const { return between(key, least, 1'000'000); }

  std::int64_t between(const char* key, std::int64_t least, std::int64_t most) const {
    const auto value = required<std::int64_t>(key);
    if (value < least || value > most)
      throw bad_input(where(m_node[key]) + key_path(key) + " is " + std::to_string(value) + ", not between " +
                          std::to_string(least) + " and " + std::to_string(most),
                      "correct its value");
    return value;
  }

  /// Refuses the first key that is set and not among the known ones.
  void require_only(const std::vector<std::string_view>& known) const {
    for (const auto& item : m_node) {
      const auto key = item.first.as<std::string>();
      if (present(item.second) && std::find(known.begin(), known.end(), key) == known.end())
        throw bad_input(where(item.second) + key_path(key.c_str()) + " is not supported by this engine",
                        "remove it");
    }
  }

  failure refuse(const char* key, const std::string& why, const std::string& remedy) const {
    return bad_input(where(m_node[key]) + key_path(key) + " " + why, remedy);
  }

 private:
  static bool present(const YAML::Node& node) { return node.IsDefined() && !node.IsNull(); }
  std::string key_path(const char* key) const { return m_path.empty() ? key : m_path + "." + key; }
  std::string where(const YAML::Node& node) const {
    const YAML::Node& nearest = node.IsDefined() ? node : m_node;
    return m_file + ":" + std::to_string(nearest.Mark().line + 1) + ": ";
  }

  std::string m_file;
  std::string m_path;
  YAML::Node m_node;
};

std::optional<llama3_rope_scaling> read_rope_scaling(const group& shape) {
  if (!shape.has("rope_scaling")) return std::nullopt;
  const group scaling = shape.child("rope_scaling");
  scaling.require_only(
      {"rope_type", "factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"});
  if (!scaling.has("rope_type")) return std::nullopt;
  const auto type = scaling.required<std::string>("rope_type");
  if (type != "llama3") throw scaling.refuse("rope_type", "is '" + type + "'", "use llama3, or none");
  return llama3_rope_scaling{
      .factor = scaling.required<double>("factor"),
      .low_freq_factor = scaling.required<double>("low_freq_factor"),
      .high_freq_factor = scaling.required<double>("high_freq_factor"),
      .original_max_position_embeddings = scaling.required<double>("original_max_position_embeddings")};
}

model_shape read_shape(const group& group, const std::string& path) {
  std::vector<std::string_view> known = {"architecture", "rope_scaling", "hidden_act",
                                         "max_position_embeddings"};
  for (const auto& field : shape_fields()) known.emplace_back(field.name);
  group.require_only(known);
  if (group.value_or<std::string>("hidden_act", "silu") != "silu")
    throw group.refuse("hidden_act", "is not silu", "choose a model with SwiGLU");
  model_shape shape;
  shape.architecture = group.required<std::string>("architecture");
  for (const auto& [name, member, required] : shape_fields()) {
    if (!required && !group.has(name)) continue;
    std::visit(
        [&, key = name](auto of_shape) {
          using value = std::remove_reference_t<decltype(shape.*of_shape)>;
          shape.*of_shape = group.required<value>(key);
        },
        member);
  }
  if (!group.has("num_key_value_heads")) shape.num_key_value_heads = shape.num_attention_heads;
  if (!group.has("head_dim"))
    shape.head_dim = shape.hidden_size / std::max<std::int64_t>(shape.num_attention_heads, 1);
  shape.rope_scaling = read_rope_scaling(group);
  validate(shape, path + ": model.shape");
  return shape;
}

void read_model(const group& model, const std::string& path, workload_config& config) {
  config.model_name = model.required<std::string>("name");
  config.dtype = model.required<std::string>("dtype");
  const auto weights = model.required<std::string>("weights");
  if (weights == "checkpoint")
    config.checkpoint = model.required<std::string>("checkpoint");
  else if (weights == "synthetic")
    config.shape = read_shape(model.child("shape"), path);
  else
    throw model.refuse("weights", "is '" + weights + "'", "use synthetic or checkpoint");
  if (model.has("reference") && !model.required<std::string>("reference").empty()) {
    config.reference = model.required<std::string>("reference");
    config.reference_file = model.required<std::string>("reference_file");
  }
}

YAML::Node load(const std::string& path) {
  try {
    return YAML::LoadFile(path);
  } catch (const YAML::BadFile&) {
    throw bad_input(path + ": cannot be read", "give --config the resolved config.yaml of a run");
  } catch (const YAML::ParserException& error) {
    throw bad_input(path + ":" + std::to_string(error.mark.line + 1) + ": not YAML: " + error.msg,
                    "give --config the resolved config.yaml of a run");
  }
}

void refuse_what_cannot_run(const group& workload, const group& model, const workload_config& config) {
  if (config.device != "cpu" && config.device != "cuda")
    throw workload.refuse("device", "is '" + config.device + "'", "use cpu or cuda");
  if (config.device == "cuda" && config.batch > largest_cuda_batch)
    throw workload.refuse("batch",
                          "is " + std::to_string(config.batch) + "; the engine decodes up to " +
                              std::to_string(largest_cuda_batch) + " sequences at a time",
                          "set a smaller workload.batch");
  if (config.device == "cpu" && config.batch > 1)
    throw workload.refuse("batch",
                          "is " + std::to_string(config.batch) + "; the CPU decodes one sequence at a time",
                          "set workload.batch=1");
  if (config.dtype != "float32" && config.dtype != "bfloat16")
    throw model.refuse("dtype", "is '" + config.dtype + "'", "use float32 or bfloat16");
  if (config.device == "cpu" && config.dtype != "float32")
    throw model.refuse("dtype", "is '" + config.dtype + "'; the CPU computes in float32",
                       "set model.dtype=float32");
}

}  // namespace

workload_config read_workload_config(const std::string& path, use_of_config use) {
  const YAML::Node document = load(path);
  if (!document.IsMap())
    throw bad_input(path + ": not a YAML map", "give --config the resolved config.yaml of a run");
  const group root(path, "", document);

  workload_config config;
  const group workload = root.child("workload");
  config.device = workload.required<std::string>("device");
  config.prompt_tokens = workload.at_least("prompt_tokens", 1);
  config.decode_tokens = workload.at_least("decode_tokens", 1);
  config.batch = workload.has("batch") ? workload.at_least("batch", 1) : 1;
  config.threads = workload.has("threads") ? static_cast<unsigned>(workload.at_least("threads", 0)) : 0;
  config.nvtx_domain = workload.value_or<std::string>("nvtx_domain", "LLM");
  config.decode_step_ranges = workload.value_or("decode_step_ranges", true);
  if (workload.has("planted_delay_ns"))
    config.planted_delay_ns = workload.between("planted_delay_ns", 0, longest_planted_delay_ns);

  const group stage1 = root.child("stage1");
  config.repetitions = static_cast<int>(stage1.at_least("repetitions", 1));
  config.warmup = static_cast<int>(stage1.at_least("warmup", 0));
  config.measure_ceilings = stage1.value_or("ceilings", true);

  config.cuda_graphs = workload.value_or("cuda_graphs", true);
  const group model = root.child("model");
  read_model(model, path, config);
  config.seed_tag = workload.value_or("seed_tag", config.model_name);
  if (use == use_of_config::running) refuse_what_cannot_run(workload, model, config);
  return config;
}

}  // namespace profgate::llm
