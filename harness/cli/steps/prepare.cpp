#include <fmt/format.h>

#include <filesystem>

#include "ab/stale_program.h"
#include "artifacts/files.h"
#include "artifacts/gpu_choice.h"
#include "artifacts/provenance.h"
#include "artifacts/redact.h"
#include "artifacts/sha256.h"
#include "config/input_files.h"
#include "core/error.h"
#include "core/utc_time.h"
#include "machine.h"
#include "process/git.h"
#include "steps/run_command.h"
#include "steps/start_plan.h"
#include "steps/step.h"

namespace profgate::cli {

namespace fs = std::filesystem;

namespace {

std::optional<std::int64_t> integer_or_nothing(const config::resolved& config, std::string_view key) {
  if (config.is_null(key)) return std::nullopt;
  return config.integer(key);
}

std::string text_or(const config::resolved& config, std::string_view key, const std::string& otherwise) {
  return config.is_null(key) ? otherwise : config.text(key);
}

std::vector<artifacts::input_file> input_files(const config::resolved& config) {
  const bool whole = config.boolean("artifacts.hash_whole_inputs");
  std::vector<artifacts::input_file> files;
  if (!config.is_null("model.checkpoint"))
    files = artifacts::describe_inputs(config.text("model.checkpoint"), whole);
  for (const char* key : {"inputs.image", "inputs.manifest"}) {
    for (const fs::path& file : config::files_of_input(config, key))
      files.push_back(artifacts::describe_input(file, whole));
  }
  return files;
}

artifacts::run_inputs inputs_of(const step_context& context) {
  const config::resolved& config = context.config;
  artifacts::run_inputs inputs;
  inputs.model = text_or(config, "model.name", context.manifest.model);
  inputs.model_variant = text_or(config, "model.variant", "");
  inputs.weights = text_or(config, "model.weights", "");
  inputs.files = input_files(config);
  inputs.prompt_tag = text_or(config, "workload.seed_tag", inputs.model);
  if (!config.is_null("inputs.synthetic_image.width"))
    inputs.synthetic_image =
        fmt::format("{} x {}, seed {}", config.integer("inputs.synthetic_image.width"),
                    config.integer("inputs.synthetic_image.height"),
                    integer_or_nothing(config, "inputs.synthetic_image.seed").value_or(1));
  if (!inputs.synthetic_image.empty() || !config.is_null("inputs.image"))
    inputs.image_mode = config.text("inputs.mode");
  if (config.is_null("inputs.manifest")) {
    inputs.prompt_tokens = integer_or_nothing(config, "workload.prompt_tokens");
    inputs.decode_tokens = integer_or_nothing(config, "workload.decode_tokens");
  } else {
    inputs.tokens_absent_reason = "the manifest has those of each input";
  }
  inputs.batch = integer_or_nothing(config, "workload.batch");
  return inputs;
}

artifacts::provenance provenance_of(const step_context& context, const artifacts::run_inputs& inputs,
                                    const std::string& config_text) {
  artifacts::provenance facts;
  facts.run_id = context.run_dir.filename().string();
  facts.created_utc = core::utc_timestamp();
  facts.host = artifacts::gather_host_facts();
  facts.gpu_at_start = artifacts::gather_gpu_facts();
  if (context.config.text("workload.device") == "cuda") {
    const core::measured<artifacts::gpu_device> gpu = artifacts::chosen_gpu(facts.gpu_at_start);
    if (gpu) facts.gpu_at_start.chosen_index = gpu->index;
  }
  facts.git = artifacts::gather_git_facts(context.manifest.project_dir,
                                          context.config.text("gate.baselines_dir"), process::git_output);
  const build_facts& build = context.manifest.build;
  const auto known = [](const std::optional<std::string>& text) {
    using fact = core::measured<std::string>;
    return text ? fact(*text) : fact::absent("the program was not built by a project that registers it");
  };
  facts.build = {PROFGATE_VERSION, known(build.compiler), known(build.type), known(build.flags)};
  facts.tool_versions = tool_versions();
  facts.packages = artifacts::gather_packages(context.manifest.command, context.manifest.working_directory);
  facts.config_sha256 = artifacts::sha256_hex(config_text);
  facts.inputs = inputs.files;
  facts.environment = artifacts::own_environment();
  return facts;
}

}  // namespace

void run_prepare(step_context& context) {
  require_programs(context.manifest, context.config);
  const std::string config_text = context.config.to_yaml();
  const artifacts::run_inputs inputs = inputs_of(context);
  const artifacts::provenance provenance = provenance_of(context, inputs, config_text);
  artifacts::write_file_atomically(context.run_dir / "config.yaml", config_text);
  artifacts::write_file_atomically(context.run_dir / "inputs.yaml", artifacts::inputs_yaml(inputs));
  artifacts::write_file_atomically(context.run_dir / "env.json", artifacts::env_json(provenance));
  if (context.config.text("workload.device") == "cuda") require_gpu(provenance.gpu_at_start);
  if (std::string text = ab::stale_program_text(context.manifest.command.front()); !text.empty())
    context.status.notes.push_back(std::move(text));
  context.display.note(describe(plan_starts(context.config, context.manifest.command_has_placeholders)));
}

}  // namespace profgate::cli
