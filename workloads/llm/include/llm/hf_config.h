#pragma once

#include <optional>
#include <string>

#include "llm/model_shape.h"
#include "vision/vision_shape.h"

namespace profgate::llm {

/// Reads the shape from a Hugging Face config.json, or from its language_config where the decoder stands
/// behind a vision encoder. A field that would change the computation and is not implemented (a sliding
/// window, latent attention, quantisation, …) throws bad_input naming it.
model_shape read_hf_config(const std::string& path);

/// Its vision_config as DeepSeek-OCR writes it, or nothing where it has none. What its code fixes is not
/// there, and stays as published; hidden_size too. Throws bad_input for another vision encoder.
std::optional<vision::vision_shape> read_hf_vision_config(const std::string& path);

}  // namespace profgate::llm
