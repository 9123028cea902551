#include "llm/result.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <type_traits>
#include <variant>

#include "llm/json_file.h"
#include "llm/work_count.h"
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

ordered_json model_json(const workload_config& config, const model_shape& shape) {
  return {{"name", config.model_name},
          {"architecture", shape.architecture},
          {"dtype", config.dtype},
          {"weights", config.checkpoint ? "checkpoint" : "synthetic"},
          {"parameters", parameter_count(shape)},
          {"active_parameters", active_parameter_count(shape)},
          {"dims", dims_json(shape)}};
}

ordered_json work_json(const work& counted) {
  return {{"flops", counted.flops}, {"bytes", counted.bytes}};
}

/// The model, how much it was asked, and what that takes.
void put_model(const workload_config& config, const model_shape& shape, ordered_json& document) {
  document["model"] = model_json(config, shape);
  document["tokens"] = {
      {"prompt", config.prompt_tokens}, {"decode", config.decode_tokens}, {"batch", config.batch}};
  const auto size = size_of(config);
  document["work"] = {{"prefill", work_json(prefill_work(shape, size))},
                      {"decode_all", work_json(decode_work(shape, size))}};
  document["work_assumptions"] = work_assumptions(shape, size);
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

ordered_json graph_maps_json(const std::vector<graph_map>& maps) {
  ordered_json list = ordered_json::array();
  for (const auto& map : maps) {
    ordered_json nodes = ordered_json::array();
    for (const auto& node : map.nodes)
      nodes.push_back({{"op", node.op}, {"kernel", node.kernel}, {"grid", node.grid}, {"block", node.block}});
    list.push_back({{"graph", map.graph}, {"nodes", std::move(nodes)}});
  }
  return list;
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

void put_experts(const model_shape& shape, const workload_config& config, const run_result& result,
                 ordered_json& document) {
  for (const auto& [stage, layers] : result.expert_rows) {
    if (layers.empty()) continue;
    ordered_json list = ordered_json::array();
    for (const layer_rows& counted : layers) list.push_back(expert_layer_json(counted));
    const auto tokens = stage == "prefill" ? config.prompt_tokens : config.decode_tokens;
    document["experts"][stage] = {{"top_k", shape.num_experts_per_tok},
                                  {"experts", shape.num_experts},
                                  {"tokens", tokens * config.batch},
                                  {"layers", std::move(list)}};
  }
}

}  // namespace

std::string hash_text(std::uint64_t hash) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(hash));
  return text;
}

void write_counted_work(const std::string& path, const workload_config& config, const model_shape& shape) {
  ordered_json document;
  document["schema_version"] = 1;
  document["mode"] = "count";
  document["samples_ns"] = ordered_json::object();
  put_model(config, shape, document);
  write_json_file(path, document);
}

void write_result(const std::string& path, const workload_config& config, const model_shape& shape,
                  const run_result& result) {
  ordered_json document;
  document["schema_version"] = 1;
  document["mode"] = result.mode;
  document["device"] = {{"kind", result.device.kind},
                        {"name", result.device.name},
                        {"threads", or_null(result.device.threads)},
                        {"pci_bus_id", or_null(result.device.pci_bus_id)},
                        {"libraries", result.device.libraries}};
  put_model(config, shape, document);
  document["samples_ns"] = {{"prefill", result.prefill_ns}, {"decode_all", result.decode_all_ns}};
  document["decode_step_ns"] = result.decode_step_ns;
  document["ceilings"] = ceilings_json(result.attainable);
  if (!result.attainable) document["ceilings_reason"] = result.ceilings_reason;
  document["memory"] = {{"weight_bytes", result.memory.weight_bytes},
                        {"kv_cache_bytes", result.memory.kv_cache_bytes},
                        {"scratch_bytes", result.memory.scratch_bytes}};
  document["memory_peak_bytes"] = or_null(result.memory.peak_bytes);
  put_telemetry(result.telemetry, document);
  document["logits_hash"] = hash_text(result.logits_hash);
  document["greedy"] = result.greedy;
  document["reference"] = nullptr;
  document["reference_distance"] = nullptr;
  if (result.reference) {
    document["reference"] = {{"name", result.reference->name},
                             {"distance", result.reference->distance},
                             {"cosine", result.reference->cosine}};
    document["reference_distance"] = result.reference->distance;
  }
  put_experts(shape, config, result, document);
  document["graph_maps"] = graph_maps_json(result.graph_maps);
  write_json_file(path, document);
}

}  // namespace profgate::llm
