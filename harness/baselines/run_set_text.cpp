#include "run_set_text.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "artifacts/sha256.h"
#include "baselines/run_set_file.h"
#include "core/error.h"
#include "core/escape.h"
#include "core/experts_json.h"

namespace profgate::baselines {
namespace {

using nlohmann::json;  // keeps keys sorted

json text_json(const std::string& text) {
  return core::to_valid_utf8(text);
}

json texts_json(const std::vector<std::string>& texts) {
  json list = json::array();
  for (const std::string& text : texts) list.push_back(text_json(text));
  return list;
}

template <class Values, class Convert>
json list_json(const Values& values, Convert convert) {
  json list = json::array();
  for (const auto& value : values) list.push_back(convert(value));
  return list;
}

void put_quantity(json& object, const char* key, const std::optional<double>& value) {
  if (!value) return;
  if (!std::isfinite(*value) || *value < 0) {
    throw core::bad_input(fmt::format("a run set cannot hold the value {}", *value),
                          "leave out what was not measured");
  }
  object[key] = *value + 0.0;  // -0 would be read as 0
}

json acceptance_json(const acceptance& accepted) {
  return {{"accepted_utc", text_json(accepted.accepted_utc)},
          {"author", text_json(accepted.author)},
          {"commit", text_json(accepted.commit)},
          {"previous_sha256", text_json(accepted.previous_sha256)},
          {"reason", text_json(accepted.reason)}};
}

json identity_json(const gate::build_identity& identity) {
  json versions = json::object();
  for (const auto& [name, version] : identity.versions)
    versions[core::to_valid_utf8(name)] = text_json(version);
  json object = {{"boot_id", text_json(identity.boot_id)},
                 {"commit", text_json(identity.commit)},
                 {"config_sha256", text_json(identity.config_sha256)},
                 {"device_name", text_json(identity.device_name)},
                 {"device_uuid", text_json(identity.device_uuid)},
                 {"host", text_json(identity.host)},
                 {"is_dirty", identity.is_dirty},
                 {"is_profiled", identity.is_profiled},
                 {"model", text_json(identity.model)},
                 {"multiprocessors", identity.multiprocessors},
                 {"pair", text_json(identity.pair)},
                 {"profgate_version", text_json(identity.profgate_version)},
                 {"versions", std::move(versions)}};
  if (!identity.typed_settings_sha256.empty())
    object["typed_settings_sha256"] = text_json(identity.typed_settings_sha256);
  return object;
}

json process_json(const gate::process_record& process) {
  json conditions = {{"foreign_processes", texts_json(process.conditions.foreign_processes)},
                     {"throttle_reasons", texts_json(process.conditions.throttle_reasons)}};
  put_quantity(conditions, "power_w", process.conditions.power_w);
  put_quantity(conditions, "sm_clock_mhz", process.conditions.sm_clock_mhz);
  put_quantity(conditions, "temperature_c", process.conditions.temperature_c);
  json samples = json::object();
  for (const auto& [stage, values_ns] : process.samples_ns) {
    for (const std::int64_t ns : values_ns) {
      if (ns > 0) continue;
      throw core::bad_input(fmt::format("an iteration took {} ns, which cannot be", ns),
                            "let the workload time its stages with a clock of nanoseconds");
    }
    samples[core::to_valid_utf8(stage)] = values_ns;
  }
  json object = {{"conditions", std::move(conditions)},
                 {"samples_ns", std::move(samples)},
                 {"slot", process.slot},
                 {"started_utc", text_json(process.started_utc)}};
  if (process.spoiled_by) object["spoiled_by"] = text_json(*process.spoiled_by);
  return object;
}

json facts_json(const gate::operation_facts& facts) {
  json launches = json::array();
  for (const auto& [configuration, count] : facts.launches) {
    json& launch = launches.emplace_back(json{{"block", configuration.block},
                                              {"count", count},
                                              {"grid", configuration.grid},
                                              {"registers_per_thread", configuration.registers_per_thread},
                                              {"shared_bytes", configuration.shared_bytes}});
    if (configuration.dynamic_shared_bytes > 0)
      launch["dynamic_shared_bytes"] = configuration.dynamic_shared_bytes;
    if (configuration.local_bytes > 0) launch["local_bytes"] = configuration.local_bytes;
    if (configuration.cluster != std::array<std::uint32_t, 3>{}) launch["cluster"] = configuration.cluster;
  }
  json object = {{"launches", std::move(launches)},
                 {"name", text_json(facts.name)},
                 {"operator_path", text_json(facts.path)}};
  if (facts.bytes > 0) object["bytes"] = facts.bytes;
  if (!facts.code.empty()) object["code"] = text_json(facts.code);
  return object;
}

json structure_json(const gate::stage_structure& structure) {
  json object = {{"tokens", structure.tokens}};
  for (const auto& [operation, count] : structure.calls) {
    object["calls"].push_back({{"count", count},
                               {"name", text_json(operation.first)},
                               {"operator_path", text_json(operation.second)}});
  }
  if (structure.graph_copies) object["graph_copies"] = *structure.graph_copies;
  if (structure.graph_nodes) object["graph_nodes"] = *structure.graph_nodes;
  if (structure.kernels) object["kernels"] = list_json(*structure.kernels, text_json);
  if (!structure.kernels_absent_reason.empty())
    object["kernels_absent_reason"] = text_json(structure.kernels_absent_reason);
  if (structure.launches) object["launches"] = *structure.launches;
  if (structure.synchronisations) {
    json& calls = object["synchronisations"] = json::object();
    for (const auto& [call, count] : *structure.synchronisations) calls[core::to_valid_utf8(call)] = count;
  }
  if (!structure.operations.empty()) object["operations"] = list_json(structure.operations, facts_json);
  return object;
}

/// A list a column: objects would repeat their keys for each of a model's layers.
json layers_json(const std::vector<analysis::layer_sum>& layers) {
  json object = {{"cost_ns", json::array()}, {"launches", json::array()}, {"number", json::array()}};
  for (const analysis::layer_sum& one : layers) {
    object["cost_ns"].push_back(one.cost_ns);
    object["launches"].push_back(one.launches);
    object["number"].push_back(one.layer);
  }
  return object;
}

json operation_json(const analysis::operation_sum& sum, bool has_shares) {
  json object = {{"launches", sum.launches},
                 {"name", text_json(sum.name)},
                 {"operator_path", text_json(sum.operator_path)},
                 {"total_ns", sum.total_ns}};
  if (!sum.category.empty()) object["category"] = text_json(sum.category);
  if (has_shares) {
    object["first_at_ns"] = sum.first_at_ns;
    object["shared_ns"] = analysis::whole_ns(sum.exclusive_units);
    if (sum.waiting_ns > 0) object["waiting_ns"] = sum.waiting_ns;
    if (sum.latency_ns) object["latency_ns"] = *sum.latency_ns;
    if (sum.early_launches) object["early_launches"] = *sum.early_launches;
    if (!sum.layers.empty()) object["layers"] = layers_json(sum.layers);
  }
  return object;
}

using traced_process = std::map<std::string, analysis::stage_operations>;

json operations_json(const traced_process& stages) {
  json object = json::object();
  for (const auto& [stage, traced] : stages) {
    json& rows = object[core::to_valid_utf8(stage)] = json::array();
    for (const analysis::operation_sum& sum : traced.operations)
      rows.push_back(operation_json(sum, traced.times.has_value()));
  }
  return object;
}

json times_json(const traced_process& stages) {
  json object = json::object();
  for (const auto& [stage, traced] : stages) {
    if (!traced.times) continue;
    json idle = json::object();
    for (std::size_t i = 0; i < analysis::idle_cause_count; ++i)
      idle[analysis::to_text(static_cast<analysis::idle_cause>(i))] = traced.times->idle.by_cause_ns[i];
    json& written = object[core::to_valid_utf8(stage)] = {{"idle_ns", std::move(idle)},
                                                          {"occurrences", traced.times->occurrences},
                                                          {"time_ns", traced.times->time_ns}};
    for (const analysis::idle_place& place : traced.times->places) {
      written["places"].push_back({{"call", text_json(place.call)},
                                   {"cause", analysis::to_text(place.cause)},
                                   {"host_range", text_json(place.host_range)},
                                   {"idle_ns", place.idle_ns}});
    }
  }
  return object;
}

json counts_json(const gate::kernel_counts& counts) {
  json object = {{"launches", counts.launches},
                 {"name", text_json(counts.name)},
                 {"operator_path", text_json(counts.path)},
                 {"stage", text_json(counts.stage)}};
  for (const gate::count_row& row : gate::count_rows()) put_quantity(object, row.key, counts.*row.value);
  return object;
}

json document_of(const stored_run_set& stored) {
  const gate::run_set& runs = stored.runs;
  json structure = json::object();
  for (const auto& [stage, of] : runs.structure) structure[core::to_valid_utf8(stage)] = structure_json(of);
  json document = {{"accepted", list_json(stored.accepted, acceptance_json)},
                   {"content_sha256", ""},
                   {"created_utc", text_json(runs.created_utc)},
                   {"identity", identity_json(runs.identity)},
                   {"kernels", list_json(runs.traces, operations_json)},
                   {"processes", list_json(runs.processes, process_json)},
                   {"run_id", text_json(stored.run_id)},
                   {"schema_version", "1.1"},
                   {"structure", std::move(structure)},
                   {"traced_stages", list_json(runs.traces, times_json)}};
  if (!runs.gated_stages.empty()) document["gated_stages"] = texts_json(runs.gated_stages);
  for (const auto& [name, unit] : runs.units_of_figures)
    document["figure_units"][core::to_valid_utf8(name)] = text_json(unit);
  if (runs.decode_tokens) document["decode_tokens"] = *runs.decode_tokens;
  if (!runs.experts.empty()) document["experts"] = core::experts_json(runs.experts);
  if (!runs.untraced_because.empty()) document["untraced_because"] = text_json(runs.untraced_because);
  if (!runs.counters.empty()) document["counters"] = list_json(runs.counters, counts_json);
  if (!runs.uncounted_because.empty()) document["uncounted_because"] = text_json(runs.uncounted_because);
  return document;
}

/// How far down each value of the document gets lines of its own: git shows a change of one process as one
/// line.
int lines_below(const std::string& key) {
  if (key == "kernels" || key == "structure") return 3;
  return key == "accepted" || key == "counters" || key == "experts" || key == "identity" ||
                 key == "processes" || key == "traced_stages"
             ? 1
             : 0;
}

struct layout {
  bool has_spaces = true;  ///< after commas and colons
  int broken_levels = 0;   ///< that get a line for each of their values
  int indent = 0;
};

std::string laid_out(const json& value, const layout& how);

std::string between(char open, const std::vector<std::string>& parts, char close, const layout& how) {
  const bool is_broken = how.broken_levels > 0 && !parts.empty();
  const std::string line_start =
      is_broken ? "\n" + std::string(static_cast<std::size_t>(how.indent), ' ') : "";
  std::string text(1, open);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += how.has_spaces && !is_broken ? ", " : ",";
    text += is_broken ? line_start + "  " + parts[i] : parts[i];
  }
  return text + line_start + close;
}

/// As JSON's other writers lay it out, but for lines of several values, which they do not know.
std::string laid_out(const json& value, const layout& how) {
  const layout inner{how.has_spaces, how.broken_levels - 1, how.indent + 2};
  std::vector<std::string> parts;
  if (value.is_object()) {
    for (const auto& [key, member] : value.items())
      parts.push_back(json(key).dump() + (how.has_spaces ? ": " : ":") + laid_out(member, inner));
    return between('{', parts, '}', how);
  }
  if (value.is_array()) {
    for (const json& item : value) parts.push_back(laid_out(item, inner));
    return between('[', parts, ']', how);
  }
  // The shortest text that reads as the same number, without ".0": the checksum must not depend on a library.
  return value.is_number_float() ? fmt::format("{}", value.get<double>()) : value.dump();
}

std::string document_text(const json& document) {
  std::vector<std::string> members;
  for (const auto& [key, value] : document.items())
    members.push_back(json(key).dump() + ": " + laid_out(value, {true, lines_below(key), 2}));
  return between('{', members, '}', {true, 1, 0}) + "\n";
}

}  // namespace

std::string content_sha256_of(const json& document) {
  json content = document;
  content.erase("content_sha256");
  return artifacts::sha256_hex(laid_out(content, {false, 0, 0}));
}

std::string run_set_text(const stored_run_set& stored) {
  json document = document_of(stored);
  document["content_sha256"] = content_sha256_of(document);
  return document_text(document);
}

std::string measurement_id(const stored_run_set& stored) {
  if (!stored.run_id.empty()) return stored.run_id;
  stored_run_set runs_alone = stored;
  runs_alone.accepted.clear();
  return artifacts::sha256_hex(document_text(document_of(runs_alone)));
}

}  // namespace profgate::baselines
