#include "parsers/nsys_csv.h"

#include <fmt/format.h>
#include <rapidcsv.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/escape.h"
#include "whole_file.h"

namespace profgate::parsers {
namespace {

constexpr std::uintmax_t max_csv_bytes = std::uintmax_t{1} << 30;

/// A report of nsys stats: columns by their name, cells as typed values.
class csv_report {
 public:
  explicit csv_report(const std::filesystem::path& file) : m_name(file.string()) {
    const std::string text = read_whole_file(file, max_csv_bytes, "'nsys stats'");
    if (text.empty()) return;
    check_encoding(text);
    if (text.back() != '\n') {
      fail(static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1,
           "truncated: the last line has no end", damaged);
    }
    std::istringstream in(text);
    const bool has_cr = text.find('\r') != std::string::npos;
    m_document = rapidcsv::Document(in, rapidcsv::LabelParams(0, -1),
                                    rapidcsv::SeparatorParams(',', false, has_cr, true));
    m_row_count = m_document.GetRowCount();
  }

  std::size_t row_count() const { return m_row_count; }
  bool has_column(const char* column) const {
    return m_row_count > 0 && m_document.GetColumnIdx(column) >= 0;
  }

  std::string text(const char* column, std::size_t row) const {
    const auto index = m_document.GetColumnIdx(column);
    if (index < 0) {
      fail(1, fmt::format("no column '{}'", column),
           "make it with 'nsys stats -f csv'; other versions than 2022.4 to 2025.3 may name it differently");
    }
    try {
      return m_document.GetCell<std::string>(static_cast<std::size_t>(index), row);
    } catch (const std::out_of_range&) {
      fail(line_of(row), fmt::format("the row ends before its column '{}'", column), damaged);
    }
  }

  std::int64_t integer(const char* column, std::size_t row) const {
    return number<std::int64_t>(column, row, "a whole number of 0 or more");
  }
  double real(const char* column, std::size_t row) const {
    return number<double>(column, row, "a number of 0 or more");
  }

 private:
  static constexpr const char* damaged =
      "the file is damaged: run 'nsys stats' again with --force-overwrite true";

  /// Right unless a quoted cell holds a line break, which no name in these reports does.
  static int line_of(std::size_t row) { return static_cast<int>(row) + 2; }

  [[noreturn]] void fail(int line, const std::string& what, const std::string& remedy) const {
    throw core::bad_input(m_name, line, what, remedy);
  }

  /// nsys writes UTF-8 without a mark; an editor or a shell may have made something else of it.
  void check_encoding(const std::string& text) const {
    const bool has_mark =
        text.starts_with("\xEF\xBB\xBF") || text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
    if (has_mark || text.find('\0') != std::string::npos) {
      fail(1, "of another encoding than nsys writes (UTF-8 without a byte order mark)",
           "use the file as 'nsys stats' wrote it");
    }
  }

  template <typename value_type>
  value_type number(const char* column, std::size_t row, const char* wanted) const {
    const std::string cell = text(column, row);
    value_type value{};
    const auto [end, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    const bool is_whole = problem == std::errc() && end == cell.data() + cell.size() && !cell.empty();
    if (!is_whole || value < 0 || !std::isfinite(static_cast<double>(value))) {
      fail(line_of(row), fmt::format("'{}' in the column '{}' is not {}", cell, column, wanted), damaged);
    }
    return value;
  }

  std::string m_name;
  rapidcsv::Document m_document;
  std::size_t m_row_count = 0;
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
    std::tie(summary.domain, summary.name) = split_range(core::to_valid_utf8(report.text("Range", row)));
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
    const std::string cell = core::to_valid_utf8(report.text(is_trace ? "Name" : "Range", row));
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
    std::tie(summary.domain, summary.name) = split_range(core::to_valid_utf8(report.text("NVTX Range", row)));
    summary.style = report.text("Style", row);
    summary.process_id = report.integer("PID", row);
    summary.thread_id = report.integer("TID", row);
    summary.range_instances = report.integer("NVTX Inst", row);
    summary.kernel_instances = report.integer("Kern Inst", row);
    summary.total_ns = report.integer("Total Time (ns)", row);
    summary.min_ns = report.integer("Min (ns)", row);
    summary.max_ns = report.integer("Max (ns)", row);
    summary.kernel_name = core::to_valid_utf8(report.text("Kernel Name", row));
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

std::vector<core::kernel_record> read_kernel_sum_csv(const std::filesystem::path& file) {
  const csv_report report(file);
  std::vector<core::kernel_record> kernels;
  for (std::size_t row = 0; row < report.row_count(); ++row) {
    core::kernel_record kernel;
    kernel.kernel_name = core::to_valid_utf8(report.text("Name", row));
    kernel.total_ns = report.integer("Total Time (ns)", row);
    kernel.calls = report.integer("Instances", row);
    kernel.mean_ns = report.real("Avg (ns)", row);
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace profgate::parsers
