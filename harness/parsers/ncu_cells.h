#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What stands in a cell of ncu's tables, whatever file they came in.
namespace profgate::parsers {

/// Names of the raw page's columns. The one of NVTX ranges begins so and goes on.
inline constexpr std::string_view ncu_kernel_column = "Kernel Name";
inline constexpr std::string_view ncu_grid_column = "Grid Size";
inline constexpr std::string_view ncu_block_column = "Block Size";
inline constexpr std::string_view ncu_device_column = "Device";
inline constexpr std::string_view ncu_ranges_column_start = "thread Domain:Push/Pop_Range:";

/// Metrics, launch and device attributes have two underscores in their name; other columns have none.
inline bool is_metric_column(std::string_view name) {
  return name.find("__") != std::string_view::npos;
}

enum class number_kind { number, no_number, separated };

struct ncu_number {
  number_kind kind = number_kind::no_number;
  double value = 0;
};

/// A number as the C locale writes it; `no_number`: a text, or nothing; `separated`: it begins like a number
/// and has, or may have, a separator of thousands or a comma for its point.
ncu_number parse_ncu_number(std::string_view cell);

/// "(128, 1, 1)", or nothing.
std::optional<std::array<std::uint32_t, 3>> parse_ncu_size(std::string_view cell);

/// The ranges of `domain` in a cell like
/// `4455  "LLM:decode_all:none:none:none:none:REGISTERED:decode_all"  "LLM:…"`, outermost first.
std::vector<std::string> parse_ncu_ranges(std::string_view cell, const std::string& domain);

}  // namespace profgate::parsers
