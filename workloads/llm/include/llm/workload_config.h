#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "llm/model_shape.h"
#include "vision/preprocess.h"
#include "vision/vision_shape.h"

namespace profgate::llm {

/// An image that is asked for: a file, or a synthetic one.
struct image_request {
  std::string file;  ///< empty: synthetic
  std::int64_t seed = 0;
  std::int64_t width = 0;
  std::int64_t height = 0;
  vision::vision_mode mode = vision::vision_mode::base;
};

/// What a model is asked to go on from: text, behind an image where there is one.
struct input_request {
  std::string name;
  std::string place;                       ///< "<file>:<line>", for messages
  std::string prompt_tag;                  ///< names the synthetic tokens
  std::optional<std::string> tokens_file;  ///< the text's tokens; else there are prompt_tokens synthetic ones
  std::int64_t prompt_tokens = 0;          ///< of the text
  std::int64_t decode_tokens = 0;
  std::optional<image_request> image;
};

/// What profgate-llm reads of the resolved config.yaml; other keys belong to other steps.
struct workload_config {
  std::string device;
  std::int64_t prompt_tokens = 0;
  std::int64_t decode_tokens = 0;
  std::int64_t batch = 1;
  unsigned threads = 0;  ///< 0: every CPU this process may run on
  std::string seed_tag;  ///< names the synthetic prompt; the model's name where none is given
  std::string nvtx_domain;
  bool decode_step_ranges = true;
  bool cuda_graphs = true;
  std::int64_t planted_delay_ns = 0;  ///< added to every decode step; 0: nothing
  bool measure_ceilings = true;       ///< in --mode bench

  int repetitions = 1;
  int warmup = 0;
  std::int64_t energy_limit_s = 0;  ///< for repeating a stage whose energy its timed runs do not tell

  std::string model_name;
  std::string dtype;
  std::optional<std::string> checkpoint;       ///< a Hugging Face directory; synthetic weights without it
  std::optional<model_shape> shape;            ///< given for synthetic weights
  std::optional<vision::vision_shape> vision;  ///< given; hidden_size is not
  std::vector<input_request> inputs;           ///< one at least
  std::optional<std::string> reference;        ///< an entry of reference_file
  std::string reference_file;
};

/// A model whose work is only counted may be one that this engine cannot run.
enum class use_of_config { running, counting };

/// Throws bad_input with "<path>:<line>" for a key that is missing, malformed or not supported.
workload_config read_workload_config(const std::string& path, use_of_config use = use_of_config::running);

}  // namespace profgate::llm
