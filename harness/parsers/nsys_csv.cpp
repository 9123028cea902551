#include "parsers/nsys_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "csv_table.h"
#include "whole_file.h"

namespace profgate::parsers {
namespace {

/// A report of nsys stats: columns by their name, cells as typed values.
class csv_report {
 public:
  explicit csv_report(const std::filesystem::path& file)
      : csv_report(read_whole_file(file, max_csv_bytes, "'nsys stats'"), file.string()) {}

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

/// One row of a report.
class csv_row {
 public:
  csv_row(const csv_report& report, std::size_t row) : m_report(report), m_row(row) {}

  bool has(const char* column) const { return m_report.has_column(column); }
  const std::string& text(const char* column) const { return m_report.text(column, m_row); }
  std::int64_t integer(const char* column) const { return m_report.integer(column, m_row); }
  double real(const char* column) const { return m_report.real(column, m_row); }

  /// Domain and name of a range, "Domain:range"; the default domain is ":range" (2025.3) or "range" (2022.4).
  std::pair<std::string, std::string> range(const char* column) const {
    const std::string& cell = text(column);
    const std::size_t colon = cell.find(':');
    if (colon == std::string::npos) return {"", cell};
    return {cell.substr(0, colon), cell.substr(colon + 1)};
  }

 private:
  const csv_report& m_report;
  std::size_t m_row;
};

template <typename summary_type>
std::vector<summary_type> read_rows(const std::filesystem::path& file,
                                    summary_type (*summary_of)(const csv_row& row)) {
  const csv_report report(file);
  std::vector<summary_type> summaries;
  for (std::size_t row = 0; row < report.row_count(); ++row) {
    summaries.push_back(summary_of(csv_row(report, row)));
  }
  return summaries;
}

range_summary range_of(const csv_row& row) {
  range_summary summary;
  std::tie(summary.domain, summary.name) = row.range("Range");
  summary.total_ns = row.integer("Total Time (ns)");
  summary.instances = row.integer("Instances");
  summary.mean_ns = row.real("Avg (ns)");
  summary.median_ns = row.real("Med (ns)");
  summary.min_ns = row.integer("Min (ns)");
  summary.max_ns = row.integer("Max (ns)");
  summary.stddev_ns = row.real("StdDev (ns)");
  return summary;
}

projection_summary projection_of(const csv_row& row) {
  const bool is_trace = row.has("Projected Duration (ns)");  // a row an instance
  projection_summary summary;
  std::tie(summary.domain, summary.name) = row.range(is_trace ? "Name" : "Range");
  summary.style = row.text("Style");
  summary.projected_ns = row.integer(is_trace ? "Projected Duration (ns)" : "Total Proj Time (ns)");
  summary.range_ns = row.integer(is_trace ? "Orig Duration (ns)" : "Total Range Time (ns)");
  summary.instances = is_trace ? 1 : row.integer("Range Instances");
  summary.operations = row.integer(is_trace ? "NumGPUOps" : "Total GPU Ops");
  return summary;
}

range_kernel_summary range_kernel_of(const csv_row& row) {
  range_kernel_summary summary;
  std::tie(summary.domain, summary.name) = row.range("NVTX Range");
  summary.style = row.text("Style");
  summary.process_id = row.integer("PID");
  summary.thread_id = row.integer("TID");
  summary.range_instances = row.integer("NVTX Inst");
  summary.kernel_instances = row.integer("Kern Inst");
  summary.total_ns = row.integer("Total Time (ns)");
  summary.min_ns = row.integer("Min (ns)");
  summary.max_ns = row.integer("Max (ns)");
  summary.kernel_name = row.text("Kernel Name");
  return summary;
}

core::kernel_record kernel_of(const csv_row& row) {
  core::kernel_record kernel;
  kernel.kernel_name = row.text("Name");
  kernel.total_ns = row.integer("Total Time (ns)");
  kernel.calls = row.integer("Instances");
  kernel.mean_ns = row.real("Avg (ns)");
  return kernel;
}

}  // namespace

std::vector<range_summary> read_nvtx_pushpop_csv(const std::filesystem::path& file) {
  return read_rows(file, range_of);
}

std::vector<projection_summary> read_nvtx_projection_csv(const std::filesystem::path& file) {
  std::vector<projection_summary> sums;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;
  for (projection_summary& row : read_rows(file, projection_of)) {
    const auto [place, is_new] = places.try_emplace({row.domain, row.name, row.style}, sums.size());
    if (is_new) {
      sums.push_back(std::move(row));
      continue;
    }
    projection_summary& sum = sums[place->second];
    sum.projected_ns += row.projected_ns;
    sum.range_ns += row.range_ns;
    sum.instances += row.instances;
    sum.operations += row.operations;
  }
  return sums;
}

std::vector<range_kernel_summary> read_nvtx_kernels_csv(const std::filesystem::path& file) {
  return read_rows(file, range_kernel_of);
}

std::vector<core::kernel_record> read_kernel_sum_csv(const std::filesystem::path& file) {
  return read_rows(file, kernel_of);
}

}  // namespace profgate::parsers
