#pragma once

#include <nlohmann/json.hpp>

namespace profgate::llm::testing_support {

/// Of a small vision encoder, as DeepSeek-OCR's config.json has it; CLIP's sizes of images and patches are
/// the defaults.
inline nlohmann::json vision_config() {
  return {{"image_size", 512},
          {"width",
           {{"sam_vit_b",
             {{"width", 8},
              {"layers", 2},
              {"heads", 2},
              {"global_attn_indexes", {1}},
              {"downsample_channels", {4, 8}}}},
            {"clip-l-14-224", {{"width", 8}, {"layers", 1}, {"heads", 2}}}}}};
}

}  // namespace profgate::llm::testing_support
