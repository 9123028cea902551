#include "llm/workload_config.h"

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "llm/failure.h"
#include "read_inputs.h"
#include "yaml_group.h"

namespace profgate::llm {
namespace {

constexpr std::int64_t largest_cuda_batch = 64;
constexpr std::int64_t longest_planted_delay_ns = 1'000'000'000;

std::optional<llama3_rope_scaling> read_rope_scaling(const yaml_group& shape) {
  if (!shape.has("rope_scaling")) return std::nullopt;
  const yaml_group scaling = shape.child("rope_scaling");
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

model_shape read_shape(const yaml_group& group, const std::string& path) {
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

/// The published epsilons are no settings. hidden_size is the decoder's, which may come with a checkpoint.
vision::vision_shape read_vision(const yaml_group& given) {
  given.require_only({"sam", "clip"});
  const yaml_group sam = given.child("sam");
  sam.require_only({"image_size", "patch_size", "width", "layers", "heads", "mlp_width", "window",
                    "global_layers", "neck_width", "compressed_widths"});
  const yaml_group clip = given.child("clip");
  clip.require_only({"width", "layers", "heads", "mlp_width", "position_side"});
  vision::vision_shape shape;
  const auto read = [](const yaml_group& from, const char* key, std::int64_t& to) {
    to = from.required<std::int64_t>(key);
  };
  read(sam, "image_size", shape.sam.image_size);
  read(sam, "patch_size", shape.sam.patch_size);
  read(sam, "width", shape.sam.width);
  read(sam, "layers", shape.sam.layers);
  read(sam, "heads", shape.sam.heads);
  read(sam, "mlp_width", shape.sam.mlp_width);
  read(sam, "window", shape.sam.window);
  read(sam, "neck_width", shape.sam.neck_width);
  shape.sam.global_layers = sam.required<std::vector<std::int64_t>>("global_layers");
  const auto widths = sam.required<std::vector<std::int64_t>>("compressed_widths");
  if (widths.size() != shape.sam.compressed_widths.size())
    throw sam.refuse("compressed_widths", "has " + std::to_string(widths.size()) + " widths",
                     "give those of the two convolutions");
  std::copy(widths.begin(), widths.end(), shape.sam.compressed_widths.begin());
  read(clip, "width", shape.clip.width);
  read(clip, "layers", shape.clip.layers);
  read(clip, "heads", shape.clip.heads);
  read(clip, "mlp_width", shape.clip.mlp_width);
  read(clip, "position_side", shape.clip.position_side);
  return shape;
}

void read_model(const yaml_group& model, const std::string& path, workload_config& config) {
  config.model_name = model.required<std::string>("name");
  config.dtype = model.required<std::string>("dtype");
  const auto weights = model.required<std::string>("weights");
  if (weights == "checkpoint")
    config.checkpoint = model.required<std::string>("checkpoint");
  else if (weights == "synthetic")
    config.shape = read_shape(model.child("shape"), path);
  else
    throw model.refuse("weights", "is '" + weights + "'", "use synthetic or checkpoint");
  if (model.has("vision") && model.child("vision").has_group("clip"))
    config.vision = read_vision(model.child("vision"));
  if (model.has("reference") && !model.required<std::string>("reference").empty()) {
    config.reference = model.required<std::string>("reference");
    config.reference_file = model.required<std::string>("reference_file");
  }
}

void refuse_what_cannot_run(const yaml_group& workload, const yaml_group& model,
                            const workload_config& config) {
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

constexpr const char* config_remedy = "give --config the resolved config.yaml of a run";

}  // namespace

YAML::Node load_yaml(const std::string& path, const std::string& remedy) {
  try {
    return YAML::LoadFile(path);
  } catch (const YAML::BadFile&) {
    throw bad_input(path + ": cannot be read", remedy);
  } catch (const YAML::ParserException& error) {
    throw bad_input(path + ":" + std::to_string(error.mark.line + 1) + ": not YAML: " + error.msg, remedy);
  }
}

workload_config read_workload_config(const std::string& path, use_of_config use) {
  const YAML::Node document = load_yaml(path, config_remedy);
  if (!document.IsMap()) throw bad_input(path + ": not a YAML map", config_remedy);
  const yaml_group root(path, "", document);

  workload_config config;
  const yaml_group workload = root.child("workload");
  config.device = workload.required<std::string>("device");
  config.prompt_tokens = workload.at_least("prompt_tokens", 1);
  config.decode_tokens = workload.at_least("decode_tokens", 1);
  config.batch = workload.has("batch") ? workload.at_least("batch", 1) : 1;
  config.threads = workload.has("threads") ? static_cast<unsigned>(workload.at_least("threads", 0)) : 0;
  config.nvtx_domain = workload.value_or<std::string>("nvtx_domain", "LLM");
  config.decode_step_ranges = workload.value_or("decode_step_ranges", true);
  if (workload.has("planted_delay_ns"))
    config.planted_delay_ns = workload.between("planted_delay_ns", 0, longest_planted_delay_ns);

  const yaml_group stage1 = root.child("stage1");
  config.repetitions = static_cast<int>(stage1.at_least("repetitions", 1));
  config.warmup = static_cast<int>(stage1.at_least("warmup", 0));
  if (stage1.has("energy_limit_s")) config.energy_limit_s = stage1.at_least("energy_limit_s", 0);
  config.measure_ceilings = stage1.value_or("ceilings", true);

  config.cuda_graphs = workload.value_or("cuda_graphs", true);
  const yaml_group model = root.child("model");
  read_model(model, path, config);
  config.seed_tag = workload.value_or("seed_tag", config.model_name);
  config.inputs = read_inputs(root, config);
  if (use == use_of_config::running) refuse_what_cannot_run(workload, model, config);
  return config;
}

}  // namespace profgate::llm
