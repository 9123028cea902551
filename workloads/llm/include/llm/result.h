#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "llm/backend.h"
#include "llm/ceilings.h"
#include "llm/decoder.h"
#include "llm/inputs.h"
#include "llm/reference.h"
#include "llm/telemetry.h"

namespace profgate::llm {

/// What one input took and gave.
struct input_result {
  std::vector<std::int64_t> prefill_ns;  ///< one a repetition, as all of these
  std::vector<std::int64_t> vision_ns;   ///< the image's part of the prefill; empty without an image
  std::vector<std::int64_t> decode_all_ns;
  std::uint64_t logits_hash = 0;
  std::vector<token_id> greedy;
};

/// What one run found; written as the result JSON of the workload contract (workloads/README.md).
struct run_result {
  std::string mode;
  device_description device;
  std::vector<input_result> inputs;          ///< as in run_request
  std::vector<std::int64_t> decode_step_ns;  ///< every step of every repetition, in order
  std::optional<ceilings> attainable;
  std::string ceilings_reason;  ///< why there are none
  memory_use memory;
  std::optional<reference_match> reference;
  std::map<std::string, std::vector<layer_rows>> expert_rows;  ///< by stage; only in --mode bench
  telemetry_report telemetry;

  /// The inputs' times of each repetition, added; empty where none of them has any.
  std::vector<std::int64_t> total_ns(std::vector<std::int64_t> input_result::*times) const;
};

/// "0x" and 16 hexadecimal digits.
std::string hash_text(std::uint64_t hash);

/// What a model has to do, of --mode count.
void write_counted_work(const std::string& path, const run_request& request);

void write_result(const std::string& path, const run_request& request, const run_result& result);

}  // namespace profgate::llm
