#include "core/experts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/escape.h"
#include "core/experts_json.h"

namespace profgate::core {

const expert_layer& expert_use::worst_layer() const {
  return *std::max_element(layers.begin(), layers.end(), [](const expert_layer& a, const expert_layer& b) {
    return a.imbalance() < b.imbalance();
  });
}

double expert_use::median_imbalance() const {
  std::vector<double> all;
  for (const expert_layer& layer : layers) all.push_back(layer.imbalance());
  std::sort(all.begin(), all.end());
  const std::size_t middle = all.size() / 2;
  return all.size() % 2 == 1 ? all[middle] : (all[middle - 1] + all[middle]) / 2;
}

experts_by_stage read_experts(const json_cursor& stages) {
  experts_by_stage result;
  for (const auto& [stage, told] : stages.members()) {
    expert_use& use = result[stage];
    use.top_k = told.require("top_k").integer();
    use.experts = told.require("experts").integer();
    use.tokens = told.require("tokens").integer();
    for (const json_cursor& layer : told.require("layers").items()) {
      use.layers.push_back({layer.require("layer").integer(), layer.require("largest_rows").integer(),
                            layer.require("mean_rows").quantity(), layer.require("unused").integer()});
    }
    if (use.layers.empty()) told.require("layers").fail("is empty, but must hold the layers with experts");
  }
  return result;
}

nlohmann::json experts_json(const experts_by_stage& stages) {
  nlohmann::json document = nlohmann::json::object();
  for (const auto& [stage, use] : stages) {
    nlohmann::json layers = nlohmann::json::array();
    for (const expert_layer& layer : use.layers) {
      layers.push_back({{"layer", layer.layer},
                        {"largest_rows", layer.largest_rows},
                        {"mean_rows", layer.mean_rows},
                        {"unused", layer.unused}});
    }
    document[to_valid_utf8(stage)] = {{"top_k", use.top_k},
                                      {"experts", use.experts},
                                      {"tokens", use.tokens},
                                      {"layers", std::move(layers)}};
  }
  return document;
}

}  // namespace profgate::core
