#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/kernel_names.h"

/// The kernels of a profile, as report.html shows them: one table, and the icicle that filters it.
namespace profgate::render {

/// Launches of one kernel under one operator of one stage, whatever their grids; where the device's kernels
/// are not known, an operator by the host's time.
struct kernel_row {
  std::size_t stage = 0;  ///< index into the profile's stages
  std::string stage_name{};
  std::string op{};
  std::string kernel_name{};  ///< whole; empty: the row is an operator
  std::string label{};        ///< what people call it
  std::string category{};
  std::optional<std::size_t> place{};  ///< from left to right in the icicle; none: beside its stage
  double own_ns = 0;
  double share_ratio =
      0;  ///< of its stage's kernel time, an operator's of its traced time; below 0: none of it
  double calls_count = 0;
  double reached_ratio = -1;  ///< of its roof in the run; below 0: not counted
  std::string bound{};
};

/// The largest of each stage first.
std::vector<kernel_row> kernel_rows_of(const nlohmann::json& profile, const core::short_kernel_names& names);

/// Rows of the table with their texts; `left_out` says what is not listed.
nlohmann::json kernel_table_of(const std::vector<kernel_row>& rows);

/// Three layers, stage over operator over kernel, widths by exclusive time: rectangles of a picture 1000
/// wide.
nlohmann::json icicle_of(const std::vector<kernel_row>& rows);

}  // namespace profgate::render
