#include "rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>

#include "config/schema.h"
#include "core/error.h"

namespace profgate::config {
namespace {

[[noreturn]] void refuse(const resolved& composed, std::string_view key, const std::string& what,
                         std::string remedy) {
  throw core::bad_input(composed.origin(key), 0, what, std::move(remedy));
}

bool contains(const std::vector<std::string>& items, const std::string& wanted) {
  return std::find(items.begin(), items.end(), wanted) != items.end();
}

void require(const resolved& composed, std::string_view key, std::string_view why) {
  if (!composed.is_null(key)) return;
  refuse(composed, key, fmt::format("'{}' is not set, but {}", key, why),
         fmt::format("set it ({}) in the YAML of the {}", accepted_values(*find_row(key)),
                     key.substr(0, key.find('.'))));
}

void check_heads(const resolved& composed) {
  const std::int64_t heads = composed.integer("model.shape.num_attention_heads");
  const std::int64_t kv_heads = composed.integer("model.shape.num_key_value_heads");
  if (heads % kv_heads != 0) {
    refuse(composed, "model.shape.num_key_value_heads",
           fmt::format("{} query heads cannot share {} key and value heads evenly", heads, kv_heads),
           "make model.shape.num_attention_heads a multiple of model.shape.num_key_value_heads");
  }
  if (composed.integer("model.shape.head_dim") % 2 != 0) {
    refuse(composed, "model.shape.head_dim", "'model.shape.head_dim' is odd, but RoPE rotates two halves",
           "make it even");
  }
}

}  // namespace

void check_combinations(const resolved& composed) {
  const std::vector<std::string> stages = composed.list("workload.stages");
  if (stages.empty()) {
    refuse(composed, "workload.stages", "'workload.stages' is empty: nothing would be measured",
           "name at least one NVTX range that the workload opens");
  }
  if (!composed.boolean("nsys.gating_nvtx")) return;
  const std::string gate = composed.text("nsys.gate_range");
  if (!contains(stages, gate)) {
    refuse(composed, "nsys.gate_range",
           fmt::format("nsys.gate_range '{}' is no stage of the workload: the trace would be empty", gate),
           fmt::format("set nsys.gate_range to one of workload.stages ({}), or nsys.gating_nvtx to false",
                       fmt::join(stages, ", ")));
  }
  if (!contains(composed.list("nsys.trace"), "nvtx")) {
    refuse(composed, "nsys.trace", "nsys.gating_nvtx needs 'nvtx' in nsys.trace: the gate would never open",
           "add nvtx to nsys.trace, or set nsys.gating_nvtx to false");
  }
}

void check_llm(const resolved& composed) {
  for (const char* key :
       {"model.name", "model.dtype", "model.weights", "workload.prompt_tokens", "workload.decode_tokens"}) {
    require(composed, key, "the engine llm needs it");
  }
  if (!composed.is_null("model.reference")) {
    require(composed, "model.reference_file", "model.reference names an entry of it");
  }
  if (composed.text("model.weights") == "checkpoint") {
    require(composed, "model.checkpoint", "model.weights is checkpoint");
    return;  // the shape comes with it
  }
  for (const schema_row& row : schema()) {
    if (row.key.starts_with("model.shape."))
      require(composed, row.key, "synthetic weights need the whole shape");
  }
  check_heads(composed);
}

}  // namespace profgate::config
