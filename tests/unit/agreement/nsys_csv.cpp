#include "nsys_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "csv_table.h"
#include "whole_file.h"

namespace profgate::test {
namespace {

using parsers::csv_table;

/// A report of nsys stats: columns by their name, cells as typed values.
class csv_report {
 public:
  explicit csv_report(const std::filesystem::path& file)
      : csv_report(parsers::read_whole_file(file, parsers::max_csv_bytes, "'nsys stats'"), file.string()) {}

  csv_report(std::string_view text, const std::string& file)
      : m_table(text, {file, remedy}, [](std::string_view, bool) { return csv_table::line_kind::row; }) {
    if (m_table.is_empty()) return;
    if (text.back() != '\n') {
      m_table.fail(m_table.row_count() - 1, "truncated: the last line has no end");
    }
    for (std::size_t row = 1; row < m_table.row_count(); ++row) m_table.require_whole(row);
  }

  /// The header's not counted.
  std::size_t row_count() const { return m_table.is_empty() ? 0 : m_table.row_count() - 1; }
  bool has_column(const char* column) const { return !m_table.is_empty() && m_table.has(column); }

  const std::string& text(const char* column, std::size_t row) const { return m_table.cell(row + 1, column); }
  std::int64_t integer(const char* column, std::size_t row) const {
    return number<std::int64_t>(column, row, "a whole number of 0 or more");
  }
  double real(const char* column, std::size_t row) const {
    return number<double>(column, row, "a number of 0 or more");
  }

 private:
  static constexpr const char* remedy =
      "make it again: LC_ALL=C nsys stats -r <report> -f csv --force-overwrite true --force-export true";

  template <typename value_type>
  value_type number(const char* column, std::size_t row, const char* wanted) const {
    const std::string& cell = text(column, row);
    value_type value{};
    const auto [end, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    const bool is_whole = problem == std::errc() && end == cell.data() + cell.size() && !cell.empty();
    if (!is_whole || value < 0 || !std::isfinite(static_cast<double>(value))) {
      m_table.fail(row + 1, column, fmt::format("'{}' is not {}", cell, wanted));
    }
    return value;
  }

  csv_table m_table;
};

/// "Domain:range"; the default domain is ":range" (2025.3) or "range" (2022.4).
std::pair<std::string, std::string> split_range(const std::string& cell) {
  const std::size_t colon = cell.find(':');
  if (colon == std::string::npos) return {"", cell};
  return {cell.substr(0, colon), cell.substr(colon + 1)};
}

}  // namespace

std::vector<range_summary> read_nvtx_pushpop_csv(const std::filesystem::path& file) {
  const csv_report report(file);
  std::vector<range_summary> summaries;
  for (std::size_t row = 0; row < report.row_count(); ++row) {
    range_summary summary;
    std::tie(summary.domain, summary.name) = split_range(report.text("Range", row));
    summary.total_ns = report.integer("Total Time (ns)", row);
    summary.instances = report.integer("Instances", row);
    summary.mean_ns = report.real("Avg (ns)", row);
    summary.median_ns = report.real("Med (ns)", row);
    summary.min_ns = report.integer("Min (ns)", row);
    summary.max_ns = report.integer("Max (ns)", row);
    summary.stddev_ns = report.real("StdDev (ns)", row);
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

std::vector<projection_summary> read_nvtx_projection_csv(const std::filesystem::path& file) {
  const csv_report report(file);
  const bool is_trace = report.has_column("Projected Duration (ns)");  // a row an instance
  std::vector<projection_summary> summaries;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (std::size_t row = 0; row < report.row_count(); ++row) {
    projection_summary summary;
    const std::string& cell = report.text(is_trace ? "Name" : "Range", row);
    std::tie(summary.domain, summary.name) = split_range(cell);
    summary.style = report.text("Style", row);
    summary.projected_ns = report.integer(is_trace ? "Projected Duration (ns)" : "Total Proj Time (ns)", row);
    summary.range_ns = report.integer(is_trace ? "Orig Duration (ns)" : "Total Range Time (ns)", row);
    summary.instances = is_trace ? 1 : report.integer("Range Instances", row);
    summary.operations = report.integer(is_trace ? "NumGPUOps" : "Total GPU Ops", row);
    const auto [place, is_new] = places.try_emplace({cell, summary.style}, summaries.size());
    if (is_new) {
      summaries.push_back(std::move(summary));
      continue;
    }
    projection_summary& sum = summaries[place->second];
    sum.projected_ns += summary.projected_ns;
    sum.range_ns += summary.range_ns;
    sum.instances += summary.instances;
    sum.operations += summary.operations;
  }
  return summaries;
}

std::vector<range_kernel_summary> read_nvtx_kernels_csv(const std::filesystem::path& file) {
  const csv_report report(file);
  std::vector<range_kernel_summary> summaries;
  for (std::size_t row = 0; row < report.row_count(); ++row) {
    range_kernel_summary summary;
    std::tie(summary.domain, summary.name) = split_range(report.text("NVTX Range", row));
    summary.style = report.text("Style", row);
    summary.process_id = report.integer("PID", row);
    summary.thread_id = report.integer("TID", row);
    summary.range_instances = report.integer("NVTX Inst", row);
    summary.kernel_instances = report.integer("Kern Inst", row);
    summary.total_ns = report.integer("Total Time (ns)", row);
    summary.min_ns = report.integer("Min (ns)", row);
    summary.max_ns = report.integer("Max (ns)", row);
    summary.kernel_name = report.text("Kernel Name", row);
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

std::vector<core::kernel_record> read_kernel_sum_csv(const std::filesystem::path& file) {
  const csv_report report(file);
  std::vector<core::kernel_record> kernels;
  for (std::size_t row = 0; row < report.row_count(); ++row) {
    core::kernel_record kernel;
    kernel.kernel_name = report.text("Name", row);
    kernel.total_ns = report.integer("Total Time (ns)", row);
    kernel.calls = report.integer("Instances", row);
    kernel.mean_ns = report.real("Avg (ns)", row);
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace profgate::test
