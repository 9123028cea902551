#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "llm/backend.h"
#include "llm/ceilings.h"
#include "llm/decoder.h"
#include "llm/model_shape.h"
#include "llm/reference.h"
#include "llm/telemetry.h"
#include "llm/workload_config.h"

namespace profgate::llm {

/// What one run found; written as the result JSON of the workload contract (workloads/README.md).
struct run_result {
  std::string mode;
  device_description device;
  std::vector<std::int64_t> prefill_ns;      ///< one a repetition
  std::vector<std::int64_t> decode_all_ns;   ///< one a repetition
  std::vector<std::int64_t> decode_step_ns;  ///< every step of every repetition, in order
  std::optional<ceilings> attainable;
  std::string ceilings_reason;  ///< why there are none
  memory_use memory;
  std::uint64_t logits_hash = 0;
  std::vector<token_id> greedy;
  std::optional<reference_match> reference;
  std::vector<graph_map> graph_maps;
  std::map<std::string, std::vector<layer_rows>> expert_rows;  ///< by stage; only in --mode bench
  telemetry_report telemetry;
};

/// "0x" and 16 hexadecimal digits.
std::string hash_text(std::uint64_t hash);

/// What a model has to do, of --mode count.
void write_counted_work(const std::string& path, const workload_config& config, const model_shape& shape);

void write_result(const std::string& path, const workload_config& config, const model_shape& shape,
                  const run_result& result);

}  // namespace profgate::llm
