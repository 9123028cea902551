#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "analysis/profile.h"
#include "compare/profile_comparison.h"
#include "core/error.h"
#include "core/json.h"
#include "core/kernel_names.h"
#include "core/stage_names.h"

namespace profgate::compare {
namespace {

using analysis::measured;
using nlohmann::json;

/// What is different in every run, and explains nothing.
constexpr std::array<std::string_view, 16> volatile_facts{"run_id",
                                                          "created_utc",
                                                          "taken_utc",
                                                          "gpu_at_end",
                                                          "memory_available_bytes",
                                                          "memory_used_bytes",
                                                          "load_average_1min_count",
                                                          "temperature_c",
                                                          "power_w",
                                                          "argv",
                                                          "config_sha256",
                                                          "not_measured",
                                                          "schema_version",
                                                          "processes",
                                                          "sm_clock_mhz",
                                                          "memory_clock_mhz"};

std::string scalar_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.10g}", value.get<double>());
  return value.dump();
}

std::string joined(const json& list) {
  std::string text;
  for (const json& element : list) text += (text.empty() ? "" : ", ") + scalar_text(element);
  return text.empty() ? "none" : text;
}

/// Every leaf under its dotted name.
void flatten(const json& value, const std::string& name, std::map<std::string, std::string>& facts) {
  if (value.is_object()) {
    for (const auto& [key, element] : value.items()) {
      if (std::find(volatile_facts.begin(), volatile_facts.end(), key) != volatile_facts.end()) continue;
      if (element.is_null()) {
        const json reasons = value.value("not_measured", json::object());
        facts[name + "." + key] = "not measured: " + reasons.value(key, "no reason was recorded");
      } else {
        flatten(element, name + "." + key, facts);
      }
    }
  } else if (value.is_array() && !value.empty() && value.front().is_object()) {
    for (std::size_t i = 0; i < value.size(); ++i) flatten(value[i], fmt::format("{}.{}", name, i), facts);
  } else {
    facts[name] = value.is_array() ? joined(value) : scalar_text(value);
  }
}

std::map<std::string, std::string> facts_of(const json& profile) {
  std::map<std::string, std::string> all;
  flatten(profile["environment"], "environment", all);
  flatten(profile["model"], "model", all);
  flatten(profile["correctness"], "correctness", all);
  flatten(profile["counters"], "counters", all);
  for (const char* key : {"device", "mode", "pair"}) {
    if (profile["run"].contains(key)) all[std::string("run.") + key] = scalar_text(profile["run"][key]);
  }
  for (const json& input : profile["inputs"]) {
    if (input.contains("name") && input.contains("value"))
      all["input." + scalar_text(input["name"])] = scalar_text(input["value"]);
  }
  // A prompt with images is longer than the text that the configuration asks for.
  const json throughput = profile.value("throughput", json::object());
  const json prompt_tokens = throughput.value("prompt_tokens_count", json());
  const auto asked_for = all.find("input.prompt_tokens");
  if (prompt_tokens.is_number() && asked_for != all.end() && asked_for->second != scalar_text(prompt_tokens))
    all["input.prompt_tokens_with_images"] = scalar_text(prompt_tokens);
  for (const json& capture : profile["timeline"]["captures"]) {
    all["timeline.tool"] = capture.value("tool", "");
    all["timeline.tool_version"] = capture.contains("tool_version") && !capture["tool_version"].is_null()
                                       ? scalar_text(capture["tool_version"])
                                       : "";
  }
  // shorter names for what readers look for
  std::map<std::string, std::string> facts;
  for (auto& [name, value] : all) {
    std::string shorter = name;
    for (const auto& [from, to] :
         {std::pair<std::string_view, std::string_view>{"environment.gpu_at_start.devices.", "gpu."},
          {"environment.gpu_at_start.", "gpu."},
          {"environment.environment.", "variable."},
          {"environment.", ""}}) {
      if (shorter.starts_with(from)) {
        shorter = std::string(to) + shorter.substr(from.size());
        break;
      }
    }
    facts[shorter] = std::move(value);
  }
  return facts;
}

/// What the pointer leads to. Something on the way that is null brings its own reason.
measured<double> figure_at(const json& from, const std::string& pointer) {
  const json* value = &from;
  for (std::size_t start = 1; start <= pointer.size();) {
    const std::size_t end = std::min(pointer.find('/', start), pointer.size());
    const std::string key = pointer.substr(start, end - start);
    start = end + 1;
    const auto found = value->is_object() ? value->find(key) : value->end();
    if (found == value->end()) return measured<double>::absent("the profile does not have it");
    if (found->is_null()) {
      const json reasons = value->value("not_measured", json::object());
      return measured<double>::absent(reasons.value(key, "no reason was recorded"));
    }
    value = &*found;
  }
  if (!value->is_number()) return measured<double>::absent("the profile does not have it");
  return value->get<double>();
}

/// With the ± of those that have one.
std::map<std::string, measured<double>> figures_at(const json& from, const std::vector<figure_row>& rows) {
  std::map<std::string, measured<double>> figures;
  for (const figure_row& row : rows) {
    figures[row.key] = figure_at(from, row.key);
    if (!row.uncertainty_key.empty()) figures[row.uncertainty_key] = figure_at(from, row.uncertainty_key);
  }
  return figures;
}

std::optional<double> optional_at(const json& from, const std::string& pointer) {
  const measured<double> figure = figure_at(from, pointer);
  return figure ? std::optional<double>(*figure) : std::nullopt;
}

std::vector<double> samples_of(const json& stage) {
  std::vector<double> samples_ns;
  const auto bare = stage.find("bare");
  if (bare == stage.end() || !bare->is_object()) return samples_ns;
  for (const json& sample : bare->value("samples_ns", json::array()))
    if (sample.is_number()) samples_ns.push_back(sample.get<double>());
  return samples_ns;
}

std::string text_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

side_kernel kernel_of(const json& row, const char* name_key) {
  side_kernel kernel;
  kernel.name = text_at(row, name_key);
  kernel.path = text_at(row, "op_name");
  kernel.category = text_at(row, "category");
  kernel.device = text_at(row, "device");
  kernel.launches = optional_at(row, "/calls_count").value_or(0);
  kernel.total_ns = optional_at(row, "/total_ns").value_or(0);
  kernel.exclusive_ns = optional_at(row, "/own_ns");
  return kernel;
}

std::string why_no_kernels(const json& profile, const json& stage) {
  for (const auto& [object, key] :
       {std::pair<const json&, const char*>{stage, "traced"}, {profile["kernels"], "total_ns"}}) {
    const auto found = object.find(key);
    if (found != object.end() && !found->is_null()) continue;
    const json reasons = object.value("not_measured", json::object());
    return reasons.value(key, "no reason was recorded");
  }
  return "the trace holds none in this stage";
}

side_device device_of(const json& from) {
  side_device device;
  device.figures = figures_at(from, device_figure_rows());
  for (const json& row : from.value("categories", json::array()))
    device.categories.push_back(kernel_of(row, "category"));
  for (const json& row : from.value("operators", json::array()))
    device.operators.push_back({text_at(row, "op_name"), optional_at(row, "/kernels_count").value_or(0),
                                optional_at(row, "/cuda_own_ns").value_or(0)});
  return device;
}

side_stage stage_of(const json& profile, const json& from) {
  side_stage stage;
  stage.name = text_at(from, "name");
  stage.figures = figures_at(from, stage_figure_rows());
  stage.samples_ns = samples_of(from);
  for (const json& row : from.value("kernel_groups", json::array()))
    stage.kernels.push_back(kernel_of(row, "kernel_name"));
  for (const json& row : from.value("categories", json::array()))
    stage.categories.push_back(kernel_of(row, "category"));
  if (stage.kernels.empty()) stage.kernels_absent_reason = why_no_kernels(profile, from);
  const json operators = from.value("operators", json::array());
  const bool on_device = std::any_of(operators.begin(), operators.end(), [](const json& row) {
    return row.contains("cuda_own_ns") && row["cuda_own_ns"].is_number();
  });
  stage.operator_time = on_device ? "on the device" : "on the host";
  for (const json& row : operators) {
    const measured<double> time = figure_at(row, on_device ? "/cuda_own_ns" : "/exclusive_ns");
    if (time)
      stage.operators.push_back(
          {text_at(row, "op_name"), optional_at(row, "/calls_count").value_or(0), *time});
  }
  if (stage.name == core::decode_all_stage)
    stage.tokens = optional_at(profile, "/throughput/decode_tokens_count");
  const auto traced = from.find("traced");
  if (traced == from.end() || !traced->is_object()) return stage;
  stage.traced_occurrences = std::max(1.0, optional_at(*traced, "/occurrences_count").value_or(1));
  for (const json& device : traced->value("devices", json::array()))
    if (device.is_object()) stage.devices[text_at(device, "device")] = device_of(device);
  return stage;
}

}  // namespace

compared_side side_of_profile(std::string_view profile_json, const std::string& file,
                              const std::string& name) {
  analysis::validate_profile(profile_json, file);
  const json profile = core::parse_json(profile_json);
  compared_side side;
  side.name = name;
  side.source = "run";
  side.pair = text_at(profile["run"], "pair");
  side.model = text_at(profile["run"], "model");
  side.config = text_at(profile["run"], "config");
  side.created_utc = text_at(profile["run"], "created_utc");
  side.device_name = text_at(profile["model"], "device_name");
  side.facts = facts_of(profile);
  if (side.device_name.empty() && side.facts.count("gpu.0.name") > 0)
    side.device_name = side.facts["gpu.0.name"];
  if (side.device_name.empty() && side.facts.count("host.cpu_model") > 0)
    side.device_name = side.facts["host.cpu_model"];
  if (side.facts.count("git.commit") > 0 && !side.facts["git.commit"].starts_with("not measured"))
    side.commit = side.facts["git.commit"];
  side.figures = figures_at(profile, run_figure_rows());
  for (const json& told : profile.value("program_figures", json::array())) {
    if (const auto median = optional_at(told, "/median"))
      side.told.push_back({text_at(told, "name"), text_at(told, "unit"), *median, {}});
  }
  const json& ceilings = profile["ceilings"];
  if (optional_at(ceilings, "/vendor_flops_per_s") || optional_at(ceilings, "/vendor_bytes_per_s"))
    side.are_peaks_configured = text_at(ceilings, "vendor_source").empty();
  for (const json& stage : profile["stages"]) side.stages.push_back(stage_of(profile, stage));
  for (const json& problem : profile["timeline"].value("problems", json::array()))
    if (problem.is_string()) side.problems.push_back(problem.get<std::string>());
  return side;
}

}  // namespace profgate::compare
