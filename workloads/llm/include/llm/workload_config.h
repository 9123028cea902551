#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "llm/model_shape.h"

namespace profgate::llm {

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

  std::string model_name;
  std::string dtype;
  std::optional<std::string> checkpoint;  ///< a Hugging Face directory; synthetic weights without it
  std::optional<model_shape> shape;       ///< given for synthetic weights
  std::optional<std::string> reference;   ///< an entry of reference_file
  std::string reference_file;
};

/// A model whose work is only counted may be one that this engine cannot run.
enum class use_of_config { running, counting };

/// Throws bad_input with "<path>:<line>" for a key that is missing, malformed or not supported.
workload_config read_workload_config(const std::string& path, use_of_config use = use_of_config::running);

}  // namespace profgate::llm
