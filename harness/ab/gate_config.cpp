#include "ab/gate_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "artifacts/inputs.h"
#include "artifacts/sha256.h"
#include "config/input_files.h"
#include "config/schema.h"
#include "core/error.h"
#include "core/records.h"
#include "core/stage_names.h"

namespace profgate::ab {
namespace {

bool decides_what_is_measured(const std::string& key) {
  const bool is_for_profilers = key == "workload.profile_range" || key == "workload.calls_profiler_api";
  // A client is a command, and counts as one; how a server is waited for and stopped decides nothing.
  if (key == "workload.client" || key.starts_with("workload.server.")) return false;
  if (key == "workload.planted_delay_ns" || key == "stage1.energy_limit_s" || is_for_profilers) return false;
  return key.starts_with("workload.") || key.starts_with("model.") || key.starts_with("stage1.") ||
         key.starts_with("inputs.");
}

/// Settings that came after the first baselines were kept count where somebody sets them: else every baseline
/// would be one of other settings.
bool is_younger_than_baselines(const std::string& key) {
  return key == "workload.adapter" || key == "workload.figures" || key.starts_with("inputs.");
}

/// Of files that the workload is fed their content counts, not where they lie; of a manifest also that of
/// the files it names.
std::string counted_value(const config::resolved& config, const config::schema_row& row) {
  const bool is_file = row.key == "inputs.manifest" || row.key == "inputs.image";
  if (!is_file || config.is_null(row.key)) return config.plain_text(row.key, "\n");
  std::string hashes;
  for (const std::filesystem::path& file : config::files_of_input(config, row.key))
    hashes += artifacts::describe_input(file, true).sha256;
  return hashes;
}

/// Without the folders of one machine: "/home/ada/bin/bench" is "bench", "--weights=/data/x.bin"
/// "--weights=x.bin".
std::string without_folders(const std::string& word) {
  const std::size_t begin = word.starts_with('/') ? 0 : word.find("=/") + 1;  // 0 where it has none
  if (word[begin] != '/') return word;
  std::filesystem::path path = word.substr(begin);
  if (!path.has_filename()) path = path.parent_path();
  return word.substr(0, begin) + path.filename().string();
}

void add_command(const char* what, const std::vector<std::string>& words, artifacts::sha256& hash) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string counted =
        i == 0 ? std::filesystem::path(words[i]).filename().string() : without_folders(words[i]);
    hash.update(fmt::format("{}={}:{}\n", what, counted.size(), counted));
  }
}

artifacts::sha256 hash_of_settings(const arm_build& build) {
  const config::resolved of_gate = gate_config(build.config);
  artifacts::sha256 hash;
  for (const config::schema_row& row : config::schema()) {
    if (!decides_what_is_measured(row.key)) continue;
    const std::string value = counted_value(of_gate, row);
    if (is_younger_than_baselines(row.key) && (value == row.default_yaml || value.empty())) continue;
    hash.update(fmt::format("{}={}\n", row.key, value));
  }
  return hash;
}

void add_figures(const config::resolved& config, comparison_settings& settings) {
  const std::vector<std::string> ranges = config.list("workload.stages");
  const auto is_in = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const config::record& figure : config.records("workload.figures")) {
    const std::string& name = figure.at("name");
    settings.units_of_figures[name] = figure.at("unit");
    if (!is_in(settings.stages, name)) continue;
    if (gate::kind_of_unit(figure.at("unit")) == gate::figure_kind::unknown) {
      throw core::bad_input(
          fmt::format(
              "{}: gate.stages names the figure '{}', whose unit '{}' does not say which way is better",
              config.origin("gate.stages"), name, figure.at("unit")),
          "take it out of gate.stages, or give it a unit of time (s, ms, us, ns, ms/token) or a rate (…/s)");
    }
    if (!is_in(ranges, name)) settings.told_stages.push_back(name);
  }
}

}  // namespace

config::resolved gate_config(const config::resolved& own) {
  const std::string origin = "the gate";
  config::resolved config =
      own.with("stage1.repetitions", own.integer("gate.iterations"), origin)
          .with("stage1.warmup", std::int64_t{0}, origin)  // the first rounds do not count
          .with("stage1.energy_limit_s", std::int64_t{0}, origin)
          .with("stage1.ceilings", false, origin);
  if (own.is_null("workload.decode_tokens") || own.is_null("gate.decode_tokens")) return config;
  const std::int64_t tokens =
      std::min(own.integer("workload.decode_tokens"), own.integer("gate.decode_tokens"));
  return config.with("workload.decode_tokens", tokens, origin);
}

std::string settings_sha256(const arm_build& build) {
  return hash_of_settings(build).hex_digest();
}

std::string config_sha256(const arm_build& build) {
  artifacts::sha256 hash = hash_of_settings(build);
  if (!build.is_of_engine) add_command("command", build.command, hash);
  add_command("client", build.config.list("workload.client"), hash);
  return hash.hex_digest();
}

std::vector<std::string> judged_figures(const config::resolved& config) {
  std::vector<std::string> judged;
  for (const config::record& figure : config.records("workload.figures")) {
    if (gate::kind_of_unit(figure.at("unit")) != gate::figure_kind::unknown)
      judged.push_back(figure.at("name"));
  }
  return judged;
}

std::vector<std::string> gated_stages(const config::resolved& config, bool times_itself) {
  const std::vector<std::string> chosen = config.list("gate.stages");
  if (!chosen.empty()) return chosen;
  // Whoever says which numbers count does not ask for the whole process as well.
  const std::vector<std::string> figures = times_itself ? std::vector<std::string>{} : judged_figures(config);
  // Of a program of others nobody knows that it has the ranges of the contract, unless somebody named them.
  if (!times_itself && !config::has_adapter(config) &&
      config.origin("workload.stages") == config::default_origin)
    return figures.empty() ? std::vector<std::string>{core::whole_process_stage} : figures;
  std::vector<std::string> stages = config.list("workload.stages");
  // A decoder's adapter never opens that of other models.
  if (config::has_adapter(config) && stages.size() > 1) std::erase(stages, core::forward_stage);
  if (!figures.empty()) std::erase(stages, core::whole_process_stage);
  for (const std::string& figure : figures) {
    if (std::find(stages.begin(), stages.end(), figure) == stages.end()) stages.push_back(figure);
  }
  return stages.empty() ? std::vector<std::string>{core::whole_process_stage} : stages;
}

gate::decision_rules decision_rules_of(const config::resolved& config) {
  gate::decision_rules rules;
  rules.screen_ratio = config.number("gate.screen_ratio");
  rules.confirm_ratio = config.number("gate.confirm_ratio");
  rules.improved_ratio = config.number("gate.improved_ratio");
  rules.unchanged_ratio = config.number("gate.unchanged_ratio");
  rules.ignored_difference_ns = 1000.0 * static_cast<double>(config.integer("gate.ignored_difference_us"));
  return rules;
}

gate::stored_rules stored_rules_of(const config::resolved& config) {
  gate::stored_rules rules;
  rules.ratio = config.number("gate.stored_ratio");
  rules.ignored_difference_ns = 1000.0 * static_cast<double>(config.integer("gate.ignored_difference_us"));
  return rules;
}

gate::exact_rules exact_rules_of(const config::resolved& config) {
  return {config.text("gate.kernels") == "fail", config.text("gate.launches") == "fail",
          config.text("gate.graph_nodes") == "fail", config.text("gate.launch_configuration") == "fail"};
}

gate::reduction_rules reduction_rules_of(bool times_itself) {
  return times_itself ? gate::reduction_rules{} : gate::whole_process_rules();
}

comparison_settings settings_of(const arm_build& candidate) {
  const config::resolved& config = candidate.config;
  const bool times_itself = candidate.command_has_placeholders;
  comparison_settings settings;
  settings.stages = gated_stages(config, times_itself);
  add_figures(config, settings);
  if (times_itself && !config.is_null("workload.decode_tokens"))
    settings.decode_tokens = gate_config(config).integer("workload.decode_tokens");
  settings.rules = decision_rules_of(config);
  settings.reduction = reduction_rules_of(times_itself);
  settings.seed = static_cast<std::uint64_t>(config.integer("gate.seed"));
  // A process without ranges and without a GPU leaves nothing in a trace.
  const std::vector<std::string> traced = settings.traced_stages();
  const bool is_traceable =
      times_itself || (!traced.empty() && (config.text("workload.device") == "cuda" ||
                                           traced != std::vector<std::string>{core::whole_process_stage}));
  settings.traced_processes =
      is_traceable ? static_cast<std::size_t>(config.integer("gate.traced_processes")) : 0;
  const gate::exact_rules exact = exact_rules_of(config);
  settings.compares_structure =
      exact.kernels_fail || exact.launches_fail || exact.graph_nodes_fail || exact.launch_configuration_fails;
  return settings;
}

}  // namespace profgate::ab
