#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "core/expression.h"
#include "core/json_path.h"

/// Numbers that a program tells about itself, in a JSON file or on its standard output. What is wrong with
/// them is a bad_input that names the place.
namespace profgate::parsers {

constexpr std::uint64_t max_figure_source_bytes = std::uint64_t{64} << 20;  ///< of a file or an output

enum class figure_kind {
  anything,
  duration,  ///< never negative
};

/// What `path` leads to in the file, which must have been written at `not_before_ns` (since 1970) or later:
/// an older one is of another run.
std::vector<double> read_figure_file(const std::filesystem::path& file, const core::json_path& path,
                                     std::int64_t not_before_ns, figure_kind kind = figure_kind::anything);

/// The first group of `wanted` in each line that it fits; `origin` names the output in messages.
std::vector<double> read_figure_lines(std::string_view output, const core::expression& wanted,
                                      const std::string& origin, figure_kind kind = figure_kind::anything);

}  // namespace profgate::parsers
