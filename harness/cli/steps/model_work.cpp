#include "steps/model_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "artifacts/files.h"
#include "core/json.h"
#include "parsers/adapter_report.h"
#include "runs/run_reader.h"
#include "steps/run_command.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

/// A model, and how much it is asked.
struct counted_model {
  fs::path config_folder;  ///< holds config.json
  std::string name;
  std::string dtype;
  parsers::generated_tokens tokens{};
};

std::optional<counted_model> seen_model(const std::vector<parsers::adapter_report>& reports,
                                        const fs::path& folder) {
  const auto tokens = parsers::tokens_of(reports);
  for (const parsers::adapter_report& report : reports) {
    if (report.model_config.empty() || !tokens) continue;
    artifacts::make_folder(folder / "model");
    artifacts::write_file_atomically(folder / "model/config.json", report.model_config);
    const std::string name = report.roots.empty() ? "model" : report.roots.front();
    return counted_model{folder / "model", name.substr(name.rfind('.') + 1), report.dtype, *tokens};
  }
  return std::nullopt;
}

std::optional<counted_model> configured_model(const config::resolved& config) {
  for (const char* key :
       {"model.checkpoint", "model.dtype", "workload.prompt_tokens", "workload.decode_tokens"})
    if (config.is_null(key)) return std::nullopt;
  return counted_model{config.text("model.checkpoint"),
                       config.is_null("model.name") ? "model" : config.text("model.name"),
                       config.text("model.dtype"),
                       {config.integer("workload.batch"), config.integer("workload.prompt_tokens"),
                        config.integer("workload.decode_tokens")}};
}

/// As profgate-llm reads it. JSON is YAML, too.
std::string config_of(const counted_model& model) {
  const nlohmann::json document = {{"workload",
                                    {{"device", "cuda"},
                                     {"batch", model.tokens.batch},
                                     {"prompt_tokens", model.tokens.prompt},
                                     {"decode_tokens", std::max<std::int64_t>(1, model.tokens.decoded)}}},
                                   {"stage1", {{"repetitions", 1}, {"warmup", 0}}},
                                   {"model",
                                    {{"name", model.name},
                                     {"dtype", model.dtype},
                                     {"weights", "checkpoint"},
                                     {"checkpoint", model.config_folder.string()}}}};
  return core::json_text(document);
}

}  // namespace

void count_model_work(step_context& context, const fs::path& folder) {
  std::optional<counted_model> model = configured_model(context.config);
  if (!model)
    model = seen_model(parsers::read_adapter_reports(parsers::adapter_report_files(folder)), folder);
  if (!model) return;
  std::vector<std::string>& notes = context.status.notes;
  if (!fs::exists(context.parts.llm_program)) {
    notes.push_back(
        fmt::format("the model's work was not counted: there is no {}", context.parts.llm_program.string()));
    return;
  }
  artifacts::write_file_atomically(folder / "work.yaml", config_of(*model));
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
  notes.push_back(
      fmt::format("the model's work was not counted: {}", words.empty() ? describe(outcome) : words));
}

}  // namespace profgate::cli
