#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "llm/decoder.h"
#include "llm/model_shape.h"
#include "llm/work_count.h"
#include "llm/workload_config.h"
#include "vision/image.h"
#include "vision/vision_encoder.h"

namespace profgate::llm {

/// An input whose files have been read.
struct loaded_input {
  struct image {
    vision::image pixels;
    vision::vision_mode mode = vision::vision_mode::base;
    vision::view_layout layout;
    std::int64_t rows = 0;  ///< of the prompt
  };

  input_request request;
  std::vector<token_id> text;  ///< of a tokens_file; empty: synthetic
  std::optional<image> picture;
  std::int64_t prompt_tokens = 0;  ///< of each sequence, the image's rows included

  /// Where in the prompt the image's rows begin: behind the token that opens a text.
  static constexpr std::size_t first_image_row = 1;
};

/// Reads what the config asks for. vision is the model's, where it has one. Throws bad_input, with the place
/// that names the input, for a file that is not what it should be and for an image that the model cannot see.
std::vector<loaded_input> load_inputs(const workload_config& config, const model_shape& shape,
                                      const std::optional<vision::vision_shape>& vision);

/// What a vision encoder must be made for; nothing where no input has an image.
std::optional<vision::vision_need> vision_need_of(const std::vector<loaded_input>& inputs,
                                                  const std::optional<vision::vision_shape>& vision);

/// [batch, prompt_tokens]; every sequence its own tokens where they are synthetic, 0 in place of the image's
/// rows.
std::vector<token_id> prompts_for(const loaded_input& input, std::int64_t batch, std::int64_t vocab_size);

/// What a run asks of which model, and what that takes.
struct run_request {
  workload_config config;
  model_shape shape;
  std::vector<loaded_input> inputs;
  std::optional<vision::vision_need> vision;  ///< where an image is among the inputs

  std::int64_t prompt_tokens() const;  ///< of all inputs together, of one sequence each
  std::int64_t decode_tokens() const;
  std::int64_t parameters() const;
  /// One repetition: all inputs, one after the other.
  work prefill() const;
  /// The same with the experts that the tokens of the only input really chose, those of all layers together.
  work prefill(std::int64_t experts_used) const;
  work decode() const;
  std::vector<std::string> assumptions() const;
};

run_request request_of(const workload_config& config);

}  // namespace profgate::llm
