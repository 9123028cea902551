#include "parsers/program_figures.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/escape.h"
#include "core/regular_file.h"
#include "whole_file.h"

namespace profgate::parsers {
namespace {

// Statistics and reports of more say nothing more.
constexpr std::size_t max_figure_values = 1'000'000;
// Expressions need some steps for each character; a result stands on a shorter line.
constexpr std::size_t max_figure_line_bytes = 4096;

/// A file of an earlier run would be taken for this one's.
void require_fresh(const std::filesystem::path& file, std::int64_t not_before_ns) {
  core::require_regular_file(file);
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0 || S_ISDIR(info.st_mode)) {
    throw core::bad_input(file.string(), 0, "is not there: the program wrote no such file",
                          "correct `file` of workload.figures (it is relative to the folder that the program "
                          "runs in), or let the program write it");
  }
  const std::int64_t written_ns = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  if (written_ns < not_before_ns) {
    throw core::bad_input(file.string(), 0, "is older than the program's start: it is of another run",
                          "let the program write it each time, or remove it");
  }
}

constexpr const char* negative_words = "a time cannot be negative";

}  // namespace

std::vector<double> read_figure_file(const std::filesystem::path& file, const core::json_path& path,
                                     std::int64_t not_before_ns, figure_kind kind) {
  require_fresh(file, not_before_ns);
  const core::json_document document(read_whole_file(file, max_figure_source_bytes, "the program"),
                                     file.string(),
                                     "correct `path` of workload.figures, or what the program writes there");
  std::vector<double> values;
  for (const core::json_cursor& place : path.values_in(document, max_figure_values)) {
    values.push_back(place.number());
    if (kind == figure_kind::duration && values.back() < 0)
      place.fail(fmt::format("is {}: {}", values.back(), negative_words));
  }
  if (values.empty()) document.root().fail("has no value where `path` of workload.figures leads to");
  return values;
}

std::vector<double> read_figure_lines(std::string_view output, const core::expression& wanted,
                                      const std::string& origin, figure_kind kind) {
  std::vector<double> values;
  int line_number = 0;
  while (!output.empty()) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    const std::string_view line = output.substr(0, std::min(end, max_figure_line_bytes));
    output.remove_prefix(std::min(end + 1, output.size()));
    ++line_number;
    const std::optional<std::string_view> group = wanted.first_group(line);
    if (!group) continue;
    double value = 0;
    const char* const last = group->data() + group->size();
    const auto [stop, failure] = std::from_chars(group->data(), last, value);
    if (group->empty() || failure != std::errc{} || stop != last || !std::isfinite(value)) {
      throw core::bad_input(
          origin, line_number,
          fmt::format("'{}' is no number", core::for_terminal(core::shorten_middle(std::string(*group), 80))),
          "let the group of `output` of workload.figures take digits only, such as ([0-9.]+)");
    }
    if (kind == figure_kind::duration && value < 0) {
      throw core::bad_input(origin, line_number, fmt::format("'{}': {}", *group, negative_words),
                            "correct what the program prints, or the group of `output` of workload.figures");
    }
    if (values.size() == max_figure_values) {
      throw core::bad_input(origin, line_number,
                            fmt::format("more values than the {} that are read", max_figure_values),
                            "write an expression that fits the result only");
    }
    values.push_back(value);
  }
  return values;
}

}  // namespace profgate::parsers
