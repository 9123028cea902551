#include "runs/model_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace profgate::runs {
namespace {

bool has_any_of_model(const config::resolved& config) {
  return config::has_adapter(config) || !config.is_null("model.checkpoint") || !config.is_null("model.dtype");
}

void set_model(const config::resolved& config, const std::vector<parsers::adapter_report>& reports,
               model_request& model) {
  const auto seen = std::find_if(reports.begin(), reports.end(), [](const parsers::adapter_report& report) {
    return !report.model_config.empty();
  });
  if (!config.is_null("model.checkpoint")) {
    model.checkpoint = config.text("model.checkpoint");
    model.given.emplace_back("model.checkpoint");
    if (!config.is_null("model.name")) model.name = config.text("model.name");
  } else if (seen != reports.end()) {
    model.model_config = seen->model_config;
    if (!seen->roots.empty()) model.name = seen->roots.front().substr(seen->roots.front().rfind('.') + 1);
    model.given.emplace_back("the config of the model that was seen");
  } else {
    model.missing.emplace_back("model.checkpoint=<folder with config.json>");
  }
  if (!config.is_null("model.dtype")) {
    model.dtype = config.text("model.dtype");
    model.given.emplace_back("model.dtype");
  } else if (seen != reports.end() && !seen->dtype.empty()) {
    model.dtype = seen->dtype;
  } else {
    model.missing.emplace_back("model.dtype");
  }
}

void set_tokens(const config::resolved& config, const std::vector<parsers::adapter_report>& reports,
                const std::vector<std::int64_t>& decode_steps, model_request& model) {
  const bool has_prompt = !config.is_null("workload.prompt_tokens");
  const bool has_decode = !config.is_null("workload.decode_tokens");
  // What the model was given is the truth: a configuration that other programs share may say otherwise.
  if (const std::optional<parsers::generated_tokens> seen = parsers::tokens_of(reports, decode_steps)) {
    model.tokens = seen;
    model.given.emplace_back("tokens, read off the model's inputs");
    return;
  }
  if (has_prompt) model.given.emplace_back("workload.prompt_tokens");
  if (has_decode) model.given.emplace_back("workload.decode_tokens");
  if (!has_prompt) model.missing.emplace_back("workload.prompt_tokens");
  if (!has_decode) model.missing.emplace_back("workload.decode_tokens");
  if (!has_prompt || !has_decode) {
    model.missing.emplace_back("workload.batch where it is not 1");
    return;
  }
  model.tokens = {config.integer("workload.batch"), config.integer("workload.prompt_tokens"),
                  config.integer("workload.decode_tokens")};
}

}  // namespace

model_request model_request_of(const config::resolved& config,
                               const std::vector<parsers::adapter_report>& reports,
                               const std::vector<std::int64_t>& decode_steps) {
  model_request model;
  set_model(config, reports, model);
  set_tokens(config, reports, decode_steps, model);
  return model;
}

std::string how_to_tell_work(const config::resolved& config, const model_request& model,
                             const std::string& count_failure) {
  if (!count_failure.empty())
    return fmt::format("mend what kept them from being counted ({})", count_failure);
  if (!has_any_of_model(config)) return "a result JSON of its own can tell them (workloads/README.md)";
  if (model.missing.empty()) return "run again: all that is needed to count them is there now";
  std::string words =
      fmt::format("the model's shape gives them; still missing: {}", fmt::join(model.missing, ", "));
  if (!model.given.empty()) words += fmt::format(" (there is: {})", fmt::join(model.given, ", "));
  return words;
}

}  // namespace profgate::runs
