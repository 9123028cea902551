#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// How the tokens of a stage went to the experts of a model's layers: a fact of build and prompt, without
/// noise.
namespace profgate::core {

struct expert_layer {
  std::int64_t layer = 0;         ///< from 0
  std::int64_t largest_rows = 0;  ///< tokens that the fullest expert got
  double mean_rows = 0;
  std::int64_t unused = 0;  ///< experts that got none

  /// 1: all are equally full.
  double imbalance() const { return mean_rows > 0 ? static_cast<double>(largest_rows) / mean_rows : 1; }
  bool operator==(const expert_layer&) const = default;
};

struct expert_use {
  std::int64_t top_k = 0;
  std::int64_t experts = 0;  ///< of a layer, the routed ones
  std::int64_t tokens = 0;
  std::vector<expert_layer> layers{};  ///< those with experts; at least one

  const expert_layer& worst_layer() const;  ///< the first of equals
  double median_imbalance() const;
  bool operator==(const expert_use&) const = default;
};

using experts_by_stage = std::map<std::string, expert_use>;

}  // namespace profgate::core
