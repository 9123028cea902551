#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "parsers/adapter_report.h"

namespace profgate::runs {

/// The model of a program that tells no FLOPs and bytes itself, and how much it is asked: what is needed to
/// count them. The settings come first; what an adapter saw stands in for those that were not given.
struct model_request {
  std::filesystem::path checkpoint{};  ///< folder with config.json; empty: not given
  std::string model_config{};          ///< as an adapter saw it, where no checkpoint is given
  std::string name = "model";
  std::string dtype{};
  std::optional<parsers::generated_tokens> tokens{};

  std::vector<std::string> given{};    ///< settings, and what was seen, in words
  std::vector<std::string> missing{};  ///< settings that would complete it
};

/// Complete where nothing is missing. `decode_steps`: as parsers::tokens_of() has them.
model_request model_request_of(const config::resolved& config,
                               const std::vector<parsers::adapter_report>& reports,
                               const std::vector<std::int64_t>& decode_steps = {});

/// What would tell the FLOPs and bytes of a program that runs with these settings: the words after "To know
/// it: ". `count_failure`: why they were not counted although all was there; empty: they were never tried.
std::string how_to_tell_work(const config::resolved& config, const model_request& model,
                             const std::string& count_failure);

}  // namespace profgate::runs
