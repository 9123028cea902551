#include "llm/result.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <span>
#include <type_traits>
#include <variant>

#include "llm/fnv1a.h"
#include "llm/json_file.h"
#include "telemetry_json.h"

namespace profgate::llm {
namespace {

using nlohmann::ordered_json;

/// Numbers only: a flag is 0 or 1.
ordered_json dims_json(const model_shape& shape) {
  ordered_json dims;
  for (const auto& field : shape_fields())
    std::visit(
        [&](auto member) {
          if constexpr (std::is_same_v<decltype(member), bool model_shape::*>)
            dims[field.name] = shape.*member ? 1 : 0;
          else
            dims[field.name] = shape.*member;
        },
        field.member);
  if (shape.rope_scaling) dims["rope_scaling_factor"] = shape.rope_scaling->factor;
  return dims;
}

/// Beside the decoder's, under names that say whose they are.
void put_vision_dims(const vision::vision_shape& shape, ordered_json& dims) {
  dims["vision_image_size"] = shape.sam.image_size;
  dims["vision_patch_size"] = shape.sam.patch_size;
  dims["vision_sam_width"] = shape.sam.width;
  dims["vision_sam_layers"] = shape.sam.layers;
  dims["vision_sam_heads"] = shape.sam.heads;
  dims["vision_sam_mlp_width"] = shape.sam.mlp_width;
  dims["vision_sam_window"] = shape.sam.window;
  dims["vision_clip_width"] = shape.clip.width;
  dims["vision_clip_layers"] = shape.clip.layers;
  dims["vision_clip_heads"] = shape.clip.heads;
  dims["vision_clip_mlp_width"] = shape.clip.mlp_width;
}

ordered_json model_json(const run_request& request) {
  const workload_config& config = request.config;
  ordered_json dims = dims_json(request.shape);
  if (request.vision) put_vision_dims(request.vision->shape, dims);
  return {{"name", config.model_name},
          {"architecture", request.shape.architecture},
          {"dtype", config.dtype},
          {"weights", config.checkpoint ? "checkpoint" : "synthetic"},
          {"parameters", request.parameters()},
          {"active_parameters", active_parameter_count(request.shape)},
          {"dims", std::move(dims)}};
}

ordered_json work_json(const work& counted) {
  return {{"flops", counted.flops}, {"bytes", counted.bytes}};
}

/// The model, how much it was asked, and what that takes.
void put_model(const run_request& request, ordered_json& document) {
  document["model"] = model_json(request);
  document["tokens"] = {{"prompt", request.prompt_tokens()},
                        {"decode", request.decode_tokens()},
                        {"batch", request.config.batch}};
  document["work"] = {{"prefill", work_json(request.prefill())}, {"decode_all", work_json(request.decode())}};
  document["work_assumptions"] = request.assumptions();
}

ordered_json samples_json(const std::vector<std::int64_t>& prefill_ns,
                          const std::vector<std::int64_t>& decode_all_ns,
                          const std::vector<std::int64_t>& vision_ns) {
  ordered_json samples = {{"prefill", prefill_ns}, {"decode_all", decode_all_ns}};
  if (!vision_ns.empty()) samples["vision"] = vision_ns;
  return samples;
}

ordered_json inputs_json(const run_request& request, const run_result& result) {
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    const loaded_input& input = request.inputs[i];
    const input_result& found = result.inputs[i];
    ordered_json tokens = {{"prompt", input.prompt_tokens}, {"decode", input.request.decode_tokens}};
    if (input.picture) tokens["image"] = input.picture->rows;
    ordered_json entry = {
        {"name", input.request.name},
        {"tokens", std::move(tokens)},
        {"samples_ns", samples_json(found.prefill_ns, found.decode_all_ns, found.vision_ns)},
        {"logits_hash", hash_text(found.logits_hash)}};
    if (input.picture) {
      const auto& [pixels, mode, layout, rows] = *input.picture;
      entry["image"] = {{"width", pixels.width},
                        {"height", pixels.height},
                        {"mode", vision::text_of(mode)},
                        {"tiles", layout.grid.tiles()}};
    }
    list.push_back(std::move(entry));
  }
  return list;
}

/// Of several inputs, the hash of theirs.
std::uint64_t logits_hash(const std::vector<input_result>& inputs) {
  if (inputs.size() == 1) return inputs.front().logits_hash;
  std::vector<std::uint64_t> hashes;
  for (const auto& input : inputs) hashes.push_back(input.logits_hash);
  return fnv1a_64(std::as_bytes(std::span(hashes)));
}

std::vector<token_id> greedy_tokens(const std::vector<input_result>& inputs) {
  std::vector<token_id> tokens;
  for (const auto& input : inputs) tokens.insert(tokens.end(), input.greedy.begin(), input.greedy.end());
  return tokens;
}

ordered_json ceilings_json(const std::optional<ceilings>& attainable) {
  if (!attainable) return nullptr;
  return {{"flops_per_s", attainable->flops_per_s},
          {"memory_bytes_per_s", attainable->memory_bytes_per_s},
          {"method", attainable->method}};
}

template <typename Value>
ordered_json or_null(const std::optional<Value>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

/// Of a layer the fullest expert and the mean one: by number experts of one layer have nothing to do with
/// those of another.
ordered_json expert_layer_json(const layer_rows& counted) {
  const auto total = std::accumulate(counted.rows.begin(), counted.rows.end(), std::int64_t{0});
  return {{"layer", counted.layer},
          {"largest_rows", *std::max_element(counted.rows.begin(), counted.rows.end())},
          {"mean_rows", static_cast<double>(total) / static_cast<double>(counted.rows.size())},
          {"unused", std::count(counted.rows.begin(), counted.rows.end(), 0)}};
}

void put_experts(const run_request& request, const run_result& result, ordered_json& document) {
  for (const auto& [stage, layers] : result.expert_rows) {
    if (layers.empty()) continue;
    ordered_json list = ordered_json::array();
    for (const layer_rows& counted : layers) list.push_back(expert_layer_json(counted));
    const auto tokens = stage == "prefill" ? request.prompt_tokens() : request.decode_tokens();
    document["experts"][stage] = {{"top_k", request.shape.num_experts_per_tok},
                                  {"experts", request.shape.num_experts},
                                  {"tokens", tokens * request.config.batch},
                                  {"layers", std::move(list)}};
  }
}

/// Of several inputs nobody knows which experts each of them needs.
void put_work_of_used_experts(const run_request& request, const run_result& result, ordered_json& document) {
  const auto counted = result.expert_rows.find("prefill");
  if (counted == result.expert_rows.end() || counted->second.empty() || request.inputs.size() != 1) return;
  std::int64_t used = 0;
  for (const layer_rows& layer : counted->second)
    used += std::count_if(layer.rows.begin(), layer.rows.end(), [](auto rows) { return rows > 0; });
  document["work"]["prefill"] = work_json(request.prefill(used));
  document["work_assumptions"].push_back(
      "of the prefill the experts that its tokens really chose are read, and not as many as if they chose "
      "evenly");
}

}  // namespace

std::string hash_text(std::uint64_t hash) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(hash));
  return text;
}

std::vector<std::int64_t> run_result::total_ns(std::vector<std::int64_t> input_result::*times) const {
  std::vector<std::int64_t> sums;
  for (const auto& input : inputs) {
    const auto& of_input = input.*times;
    sums.resize(std::max(sums.size(), of_input.size()));
    for (std::size_t i = 0; i < of_input.size(); ++i) sums[i] += of_input[i];
  }
  return sums;
}

void write_counted_work(const std::string& path, const run_request& request) {
  ordered_json document;
  document["schema_version"] = 1;
  document["mode"] = "count";
  document["samples_ns"] = ordered_json::object();
  put_model(request, document);
  write_json_file(path, document);
}

void write_result(const std::string& path, const run_request& request, const run_result& result) {
  ordered_json document;
  document["schema_version"] = 1;
  document["mode"] = result.mode;
  document["device"] = {{"kind", result.device.kind},
                        {"name", result.device.name},
                        {"threads", or_null(result.device.threads)},
                        {"pci_bus_id", or_null(result.device.pci_bus_id)},
                        {"libraries", result.device.libraries}};
  put_model(request, document);
  document["samples_ns"] =
      samples_json(result.total_ns(&input_result::prefill_ns), result.total_ns(&input_result::decode_all_ns),
                   result.total_ns(&input_result::vision_ns));
  document["inputs"] = inputs_json(request, result);
  document["decode_step_ns"] = result.decode_step_ns;
  document["ceilings"] = ceilings_json(result.attainable);
  if (!result.attainable) document["ceilings_reason"] = result.ceilings_reason;
  document["memory"] = {{"weight_bytes", result.memory.weight_bytes},
                        {"kv_cache_bytes", result.memory.kv_cache_bytes},
                        {"scratch_bytes", result.memory.scratch_bytes}};
  document["memory_peak_bytes"] = or_null(result.memory.peak_bytes);
  put_telemetry(result.telemetry, document);
  document["logits_hash"] = hash_text(logits_hash(result.inputs));
  document["greedy"] = greedy_tokens(result.inputs);
  document["reference"] = nullptr;
  document["reference_distance"] = nullptr;
  if (result.reference) {
    document["reference"] = {{"name", result.reference->name},
                             {"distance", result.reference->distance},
                             {"cosine", result.reference->cosine}};
    document["reference_distance"] = result.reference->distance;
  }
  put_experts(request, result, document);
  put_work_of_used_experts(request, result, document);
  write_json_file(path, document);
}

}  // namespace profgate::llm
