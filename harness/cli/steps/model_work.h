#pragma once

#include <filesystem>

#include "steps/step.h"

namespace profgate::cli {

/// Counts the FLOPs and bytes of a program's model and leaves them in `folder`, beside its samples: where the
/// adapter found a Hugging Face config, or model.checkpoint names a folder with one, and the tokens are
/// known. What stands in the way is noted.
void count_model_work(step_context& context, const std::filesystem::path& folder);

}  // namespace profgate::cli
