#pragma once

#include <string>

#include "llm/model_shape.h"

namespace profgate::llm {

/// Reads the shape from a Hugging Face config.json, or from its language_config where the decoder stands
/// behind a vision encoder. A field that would change the computation and is not implemented (a sliding
/// window, latent attention, quantisation, …) throws bad_input naming it.
model_shape read_hf_config(const std::string& path);

}  // namespace profgate::llm
