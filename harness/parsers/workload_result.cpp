#include "parsers/workload_result.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/experts_json.h"
#include "core/json.h"
#include "core/units.h"
#include "whole_file.h"

namespace profgate::parsers {
namespace {

using core::json_cursor;

constexpr std::int64_t supported_schema = 1;
constexpr std::uintmax_t max_result_bytes = std::uintmax_t{256} << 20;

std::vector<std::int64_t> read_durations(const json_cursor& array) {
  std::vector<std::int64_t> durations_ns;
  for (const json_cursor& item : array.items()) {
    durations_ns.push_back(item.count());
    if (durations_ns.back() == 0) item.fail("is 0 ns: leave out what did not run, or use a finer clock");
    if (durations_ns.back() > core::longest_plausible_ns)
      item.fail(fmt::format("is {} ns, more than 28 hours", durations_ns.back()));
  }
  return durations_ns;
}

void read_text(const json_cursor& object, const char* key, std::string& target) {
  if (const auto value = object.find(key)) target = value->text();
}

void read_count(const json_cursor& object, const char* key, std::optional<std::int64_t>& target) {
  if (const auto value = object.find(key)) target = value->count();
}

void read_quantity(const json_cursor& object, const char* key, std::optional<double>& target) {
  if (const auto value = object.find(key)) target = value->quantity();
}

std::map<std::string, std::vector<std::int64_t>> read_stage_durations(const json_cursor& samples) {
  std::map<std::string, std::vector<std::int64_t>> durations_ns;
  for (const auto& [stage, values] : samples.members()) {
    durations_ns[stage] = read_durations(values);
    if (durations_ns[stage].empty()) values.fail("is empty, but must hold one duration a repetition");
  }
  if (durations_ns.empty()) samples.fail("names no stage");
  return durations_ns;
}

std::map<std::string, std::int64_t> read_tokens(const json_cursor& tokens) {
  std::map<std::string, std::int64_t> counts;
  for (const auto& [name, value] : tokens.members()) counts[name] = value.count();
  return counts;
}

std::string image_text(const json_cursor& image) {
  const std::int64_t tiles = image.require("tiles").count();
  return fmt::format("{} x {}, {}{}", image.require("width").count(), image.require("height").count(),
                     image.require("mode").text(),
                     tiles > 0 ? fmt::format(", {} tiles", tiles) : std::string());
}

std::vector<core::workload_input> read_inputs(const json_cursor& list) {
  std::vector<core::workload_input> inputs;
  for (const json_cursor& item : list.items()) {
    core::workload_input input;
    input.name = item.require("name").text();
    input.samples_ns = read_stage_durations(item.require("samples_ns"));
    if (const auto tokens = item.find("tokens")) input.tokens = read_tokens(*tokens);
    if (const auto image = item.find("image")) input.image = image_text(*image);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

void read_samples(const json_cursor& root, core::workload_result& result) {
  result.samples_ns = read_stage_durations(root.require("samples_ns"));
  if (const auto inputs = root.find("inputs")) result.inputs = read_inputs(*inputs);
  if (const auto steps = root.find("decode_step_ns")) result.decode_step_ns = read_durations(*steps);
}

void read_model(const json_cursor& model, core::workload_result& result) {
  read_text(model, "name", result.model_name);
  read_text(model, "architecture", result.model_architecture);
  read_text(model, "dtype", result.model_dtype);
  read_text(model, "weights", result.model_weights);
  read_count(model, "parameters", result.parameters);
  read_count(model, "active_parameters", result.active_parameters);
  if (const auto dims = model.find("dims")) {
    for (const auto& [name, value] : dims->members()) result.model_dims[name] = value.quantity();
  }
}

void read_work(const json_cursor& root, core::workload_result& result) {
  if (const auto work = root.find("work")) {
    for (const auto& [stage, counted] : work->members()) {
      read_quantity(counted, "flops", result.work[stage].flops);
      read_quantity(counted, "bytes", result.work[stage].bytes);
    }
  }
  if (const auto assumptions = root.find("work_assumptions")) {
    result.work_assumptions = assumptions->texts();
  }
  if (const auto ceilings = root.find("ceilings")) {
    read_quantity(*ceilings, "flops_per_s", result.ceiling_flops_per_s);
    read_quantity(*ceilings, "memory_bytes_per_s", result.ceiling_bytes_per_s);
    read_text(*ceilings, "method", result.ceiling_method);
  }
  read_text(root, "ceilings_reason", result.ceilings_reason);
}

void read_correctness(const json_cursor& root, core::workload_result& result) {
  if (const auto hash = root.find("logits_hash")) result.logits_hash = hash->text();
  if (const auto reference = root.find("reference")) {
    if (const auto name = reference->find("name")) result.reference_name = name->text();
    read_quantity(*reference, "distance", result.reference_distance);
    if (const auto cosine = reference->find("cosine")) result.reference_cosine = cosine->number();
  }
}

void read_memory(const json_cursor& root, core::workload_result& result) {
  read_count(root, "memory_peak_bytes", result.memory_peak_bytes);
  if (const auto memory = root.find("memory")) {
    read_count(*memory, "weight_bytes", result.weight_bytes);
    read_count(*memory, "kv_cache_bytes", result.kv_cache_bytes);
    read_count(*memory, "scratch_bytes", result.scratch_bytes);
  }
}

core::value_spread read_spread(const json_cursor& object) {
  const core::value_spread spread{object.require("min").quantity(), object.require("median").quantity(),
                                  object.require("max").quantity()};
  if (spread.min > spread.median || spread.median > spread.max) {
    object.fail(fmt::format("has min {}, median {} and max {}, which are not in that order", spread.min,
                            spread.median, spread.max));
  }
  return spread;
}

core::stage_telemetry read_stage(const json_cursor& stage) {
  core::stage_telemetry taken;
  taken.windows_count = stage.require("windows_count").count();
  taken.windows_ns = stage.require("windows_ns").count();
  taken.samples_count = stage.require("samples_count").count();
  const auto read = [&](const char* key, std::optional<core::value_spread>& target) {
    if (const auto value = stage.find(key)) target = read_spread(*value);
  };
  read("sm_clock_mhz", taken.sm_clock_mhz);
  read("memory_clock_mhz", taken.memory_clock_mhz);
  read("power_w", taken.power_w);
  read("temperature_c", taken.temperature_c);
  if (const auto reasons = stage.find("throttle_reasons")) {
    taken.throttle_reasons = reasons->texts();
  }
  if (const auto energy = stage.find("energy_j")) taken.energy_j = energy->quantity();
  if (const auto runs = stage.find("energy_runs_count")) taken.energy_runs_count = runs->integer(1);
  if (const auto runs = stage.find("energy_runs_ns")) taken.energy_runs_ns = runs->count();
  if (const auto ratio = stage.find("energy_uncertainty_ratio"))
    taken.energy_uncertainty_ratio = ratio->quantity();
  if (const auto method = stage.find("power_method")) taken.power_method = method->text();
  if (const auto reasons = stage.find("not_measured")) {
    for (const auto& [key, reason] : reasons->members()) taken.not_measured[key] = reason.text();
  }
  return taken;
}

/// By stage.
std::map<std::string, core::stage_telemetry> read_telemetry(const json_cursor& stages) {
  std::map<std::string, core::stage_telemetry> result;
  for (const auto& [name, stage] : stages.members()) result[name] = read_stage(stage);
  return result;
}

}  // namespace

core::workload_result parse_workload_result(const std::string& text, const std::string& origin) {
  const std::string remedy =
      "the workload's result must keep the contract of workloads/README.md: schema_version 1 and samples_ns "
      "by stage";
  const core::json_document document(text, origin, remedy);
  const json_cursor root = document.root();
  const json_cursor version = root.require("schema_version");
  if (version.count() != supported_schema) {
    version.fail(fmt::format("is {}, this profgate reads {}", version.count(), supported_schema));
  }
  core::workload_result result;
  if (const auto mode = root.find("mode")) {
    result.mode = mode->text();
    if (result.mode != "bench" && result.mode != "profile" && result.mode != "count") {
      mode->fail(fmt::format("is '{}', but must be 'bench', 'profile' or 'count'", result.mode));
    }
  }
  if (result.mode != "count") read_samples(root, result);  // there nothing ran
  if (const auto device = root.find("device")) {
    read_text(*device, "kind", result.device_kind);
    read_text(*device, "name", result.device_name);
    read_text(*device, "pci_bus_id", result.pci_bus_id);
    if (const auto libraries = device->find("libraries")) {
      for (const auto& [name, library_version] : libraries->members())
        result.library_versions[name] = library_version.text();
    }
  }
  if (const auto tokens = root.find("tokens")) result.tokens = read_tokens(*tokens);
  if (const auto model = root.find("model")) read_model(*model, result);
  read_work(root, result);
  read_memory(root, result);
  if (const auto telemetry = root.find("telemetry")) result.telemetry = read_telemetry(*telemetry);
  read_text(root, "telemetry_reason", result.telemetry_reason);
  read_correctness(root, result);
  if (const auto experts = root.find("experts")) result.experts = core::read_experts(*experts);
  return result;
}

core::workload_result read_workload_result(const std::filesystem::path& file) {
  return parse_workload_result(read_whole_file(file, max_result_bytes, "the workload's --result option"),
                               file.string());
}

}  // namespace profgate::parsers
