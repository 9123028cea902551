#include "steps/model_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "artifacts/files.h"
#include "core/json.h"
#include "parsers/adapter_report.h"
#include "runs/model_request.h"
#include "runs/process_samples.h"
#include "steps/run_command.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

/// As profgate-llm reads it. JSON is YAML, too.
std::string config_of(const runs::model_request& model, const fs::path& config_folder) {
  const nlohmann::json document = {{"workload",
                                    {{"device", "cuda"},
                                     {"batch", model.tokens->batch},
                                     {"prompt_tokens", model.tokens->prompt},
                                     {"decode_tokens", std::max<std::int64_t>(1, model.tokens->decoded)}}},
                                   {"stage1", {{"repetitions", 1}, {"warmup", 0}}},
                                   {"model",
                                    {{"name", model.name},
                                     {"dtype", model.dtype},
                                     {"weights", "checkpoint"},
                                     {"checkpoint", config_folder.string()}}}};
  return core::json_text(document);
}

}  // namespace

void count_model_work(step_context& context, const fs::path& folder) {
  const runs::model_request model = runs::model_request_of(
      context.config, parsers::read_adapter_reports(parsers::adapter_report_files(folder)),
      runs::read_process_samples(folder / "process_samples.json").decode_steps);
  if (!model.missing.empty()) return;
  std::vector<std::string>& notes = context.status.notes;
  if (!fs::exists(context.parts.llm_program)) {
    notes.push_back(
        fmt::format("{}there is no {}", runs::not_counted_note, context.parts.llm_program.string()));
    return;
  }
  fs::path config_folder = model.checkpoint;
  if (config_folder.empty()) {
    config_folder = folder / "model";
    artifacts::make_folder(config_folder);
    artifacts::write_file_atomically(config_folder / "config.json", model.model_config);
  }
  artifacts::write_file_atomically(folder / "work.yaml", config_of(model, config_folder));
  step_command count;
  count.command.argv = {context.parts.llm_program.string(),
                        "--config",
                        (folder / "work.yaml").string(),
                        "--mode",
                        "count",
                        "--result",
                        (folder / runs::counted_work_file).string()};
  count.what = "the work of its model";
  count.log_file = folder / "work.log";
  const process::outcome outcome = run_command(context, count);
  if (outcome.how == process::ending::exited && outcome.exit_code == 0) return;
  const std::string words = outcome.tail.substr(0, outcome.tail.find('\n'));
  notes.push_back(fmt::format("{}{}", runs::not_counted_note, words.empty() ? describe(outcome) : words));
}

}  // namespace profgate::cli
