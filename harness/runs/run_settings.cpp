#include "runs/run_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "artifacts/redact.h"
#include "core/error.h"
#include "core/expression.h"
#include "core/stage_names.h"
#include "parsers/adapter_report.h"

namespace profgate::runs {

std::vector<std::string> stages_gate_first(const config::resolved& config) {
  std::vector<std::string> stages = config.list("workload.stages");
  const std::string gate = config.text("nsys.gate_range");
  std::stable_partition(stages.begin(), stages.end(),
                        [&](const std::string& stage) { return stage == gate; });
  return stages;
}

std::vector<analysis::stage_rule> stage_rules_of(const config::resolved& config) {
  constexpr std::string_view any = "any";
  const std::string own_domain = config.text("workload.nvtx_domain");
  std::vector<analysis::stage_rule> rules;
  for (const config::record& stage : config.records("workload.stages")) {
    const auto field = [&](const char* key, const std::string& otherwise) {
      const auto found = stage.find(key);
      return found == stage.end() ? otherwise : found->second;
    };
    const std::string range = field("range", stage.at("name"));
    // A program may have ranges of its own by the names that an adapter uses.
    const bool is_adapters = config::has_adapter(config) && parsers::is_adapter_stage(range);
    const std::string domain = field("domain", is_adapters ? core::llm_domain : own_domain);
    rules.push_back({stage.at("name"), range, domain == any ? std::nullopt : std::optional(domain),
                     fmt::format("workload.stages ({})", config.origin("workload.stages")),
                     field("sync", "false") == "true"});
  }
  return rules;
}

std::map<std::string, std::string> stage_expressions_of(const config::resolved& config) {
  std::map<std::string, std::string> expressions;
  for (const analysis::stage_rule& rule : stage_rules_of(config))
    if (core::has_expression_characters(rule.range)) expressions[rule.name] = rule.range;
  return expressions;
}

std::vector<std::string> device_timed_stages(const config::resolved& config) {
  std::vector<std::string> stages;
  if (!config::has_adapter(config)) return stages;
  for (const analysis::stage_rule& rule : stage_rules_of(config)) {
    if (parsers::is_adapter_stage(rule.range)) stages.push_back(rule.name);
  }
  return stages;
}

std::vector<std::string> synchronised_stages(const config::resolved& config) {
  std::vector<std::string> stages;
  for (const analysis::stage_rule& rule : stage_rules_of(config))
    if (rule.is_synchronised) stages.push_back(rule.name);
  return stages;
}

std::vector<profilers::range_name> named_ranges(const config::resolved& config,
                                                const std::vector<std::string>& stages) {
  std::vector<profilers::range_name> ranges;
  for (const analysis::stage_rule& rule : stage_rules_of(config)) {
    if (std::find(stages.begin(), stages.end(), rule.name) == stages.end()) continue;
    if (rule.range != core::every_text && core::has_expression_characters(rule.range)) {
      throw core::bad_input(fmt::format("{}: the stage '{}' is to be synchronised, and its range '{}' is an "
                                        "expression",
                                        rule.where, rule.name, rule.range),
                            "give the stage the same range, or no sync, on both sides");
    }
    ranges.push_back({rule.range, rule.domain.value_or(profilers::any_domain)});
  }
  return ranges;
}

std::string recorded_part_of(const config::resolved& config) {
  std::vector<std::string> parts;
  if (config.boolean("workload.calls_profiler_api"))
    parts.emplace_back("between cudaProfilerStart and cudaProfilerStop");
  if (!config.is_null("nsys.delay_s"))
    parts.push_back(fmt::format("from {} s", config.integer("nsys.delay_s")));
  if (!config.is_null("nsys.duration_s"))
    parts.push_back(fmt::format("for {} s", config.integer("nsys.duration_s")));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// An adapter names a model's modules by their paths.
analysis::layers layers_of(const config::resolved& config) {
  return config::has_adapter(config) ? analysis::layers::together : analysis::layers::apart;
}

std::optional<analysis::hardware_peaks> peaks_of(const config::resolved& config) {
  analysis::hardware_peaks peaks;
  if (!config.is_null("hardware.name")) peaks.name = config.text("hardware.name");
  for (const std::string dtype : {"float32", "bfloat16", "float16"}) {
    const std::string key = "hardware.peak_tflops." + dtype;
    if (!config.is_null(key)) peaks.peak_tflops[dtype] = config.number(key);
  }
  if (!config.is_null("hardware.memory_bandwidth_gbs")) {
    peaks.memory_bandwidth_bytes_per_s = config.number("hardware.memory_bandwidth_gbs") * 1e9;
  }
  if (!config.is_null("hardware.source")) peaks.source = config.text("hardware.source");
  if (peaks.peak_tflops.empty() && !peaks.memory_bandwidth_bytes_per_s) return std::nullopt;
  return peaks;
}

std::vector<analysis::named_value> inputs_of(const config::resolved& config,
                                             const std::map<std::string, std::int64_t>& seen,
                                             bool is_mean_decode) {
  std::vector<analysis::named_value> inputs;
  // Of a program that profgate knows no model of, settings tell nothing: a configuration may serve many.
  const bool has_model = !config.is_null("model.name") || !config.is_null("model.checkpoint");
  for (const std::string key : {"weights", "checkpoint"}) {
    const std::string path = "model." + key;
    if (has_model && !config.is_null(path)) inputs.push_back({key, config.text(path)});
  }
  for (const std::string key : {"prompt_tokens", "decode_tokens", "batch"}) {
    const std::string path = "workload." + key;
    const auto read_off = seen.find(key.substr(0, key.find('_')));
    if (read_off != seen.end()) {
      const bool is_mean = is_mean_decode && key == "decode_tokens";
      inputs.push_back(
          {key, fmt::format("{}, {}", read_off->second,
                            key == "prompt_tokens" && seen.contains("chunks")
                                ? fmt::format("in {} chunks, read off the model's inputs", seen.at("chunks"))
                            : is_mean ? "the mean of all texts: decode steps over prefills"
                                      : "read off the model's inputs")});
    } else if (has_model && !config.is_null("inputs.manifest") && key != "batch") {
      inputs.push_back({key, "of each input as inputs.manifest has it"});
    } else if (has_model && !config.is_null(path)) {
      inputs.push_back({key, std::to_string(config.integer(path))});
    }
  }
  return inputs;
}

std::vector<analysis::changed_setting> changed_settings_of(const config::resolved& config) {
  std::vector<analysis::changed_setting> settings;
  for (const config::changed_setting& changed : config.changed_settings()) {
    const bool is_told_elsewhere = changed.key.starts_with("model.") || changed.key.starts_with("hardware.");
    if (is_told_elsewhere || changed.key.starts_with("categories.")) continue;
    settings.push_back({changed.key, artifacts::redact_text(changed.value), changed.default_value});
  }
  return settings;
}

analysis::category_rules category_rules_of(const config::resolved& config) {
  const auto parsed = [&](const std::string& key) {
    std::vector<analysis::category_rule> rules;
    for (const std::string& text : config.list(key))
      rules.push_back(analysis::parse_category_rule(text, fmt::format("{} ({})", key, config.origin(key))));
    return rules;
  };
  return {parsed("categories.kernels"), parsed("categories.operators")};
}

}  // namespace profgate::runs
