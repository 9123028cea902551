#include "ncu_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace profgate::profilers {
namespace {

constexpr std::string_view error_mark = "==ERROR== ";

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of("\r\n");
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

/// "3. gemv" -> "gemv"; empty: another line.
std::string_view listed_kernel(std::string_view line) {
  const std::size_t digits = line.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || !line.substr(digits).starts_with(". ")) return {};
  return line.substr(digits + 2);
}

}  // namespace

bool says_counters_denied(std::string_view output) {
  return output.find("ERR_NVGPUCTRPERM") != std::string_view::npos;
}

std::string unmatched_option(std::string_view output) {
  for (const std::string_view line : lines_of(output)) {
    constexpr std::string_view start = "==ERROR== Option ";
    const std::size_t end = line.find(" did not match any");
    if (line.starts_with(start) && end != std::string_view::npos) {
      return std::string(line.substr(start.size(), end - start.size()));
    }
  }
  return "";
}

std::string first_error(std::string_view output) {
  for (const std::string_view line : lines_of(output)) {
    if (line.starts_with(error_mark)) return std::string(line.substr(error_mark.size()));
  }
  return "";
}

bool says_nothing_profiled(std::string_view output) {
  return output.find("No kernels were profiled") != std::string_view::npos;
}

std::string why_nothing_profiled(std::string_view output) {
  constexpr std::size_t shown_at_most = 8;
  std::vector<std::string> kernels;
  bool is_list = false;
  for (const std::string_view line : lines_of(output)) {
    if (line.starts_with("Available Kernels:")) is_list = true;
    if (const std::string_view kernel = listed_kernel(line); is_list && !kernel.empty())
      kernels.emplace_back(kernel);
  }
  if (!kernels.empty()) {
    const std::size_t shown = std::min(shown_at_most, kernels.size());
    return fmt::format("none of its kernels matched the names asked for; it launched {}{}",
                       fmt::join(kernels.begin(), kernels.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                       shown < kernels.size() ? fmt::format(" and {} more", kernels.size() - shown) : "");
  }
  if (output.find("NVTX include expressions") != std::string_view::npos) {
    return "no kernel was launched inside of the NVTX range asked for";
  }
  return "it launched no kernel that matched";
}

}  // namespace profgate::profilers
