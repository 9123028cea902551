#include <fmt/format.h>
#include <rapidcsv.h>

#include <map>
#include <sstream>

#include "core/error.h"
#include "core/escape.h"
#include "ncu_cells.h"
#include "ncu_metric_names.h"
#include "parsers/ncu.h"
#include "whole_file.h"

namespace profgate::parsers {
namespace {

constexpr std::uintmax_t max_csv_bytes = std::uintmax_t{1} << 30;
constexpr const char* made_by = "'ncu --import <report> --csv'";
constexpr const char* import_again =
    "import the report again: LC_ALL=C ncu --import <report> --csv --page raw --print-units base";

[[noreturn]] void fail(const std::string& file, int line, const std::string& what) {
  throw core::bad_input(file, line, what, import_again);
}

/// The rows of the table alone, and where they stood in the file.
struct table_text {
  std::string rows;
  std::vector<int> lines;  ///< of each row, the header's first
};

void refuse_other_encodings(std::string_view text, const std::string& file) {
  const bool is_utf16 = text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
  if (is_utf16) fail(file, 1, "is UTF-16, column 1: ncu writes UTF-8");
  const std::string valid = core::to_valid_utf8(text);
  int line = 1;
  std::size_t line_start = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\0' || text[at] != valid[at]) {
      fail(file, line, fmt::format("column {} is no UTF-8 text", at - line_start + 1));
    }
    if (text[at] != '\n') continue;
    line += 1;
    line_start = at + 1;
  }
}

bool is_header(std::string_view line) {
  return line.starts_with("\"ID\",") || line.starts_with("ID,");
}

/// One line, and past it.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return line;
}

/// Whether quotes that were `open` before `line` are open after it.
bool are_quotes_open(std::string_view line, bool open) {
  for (const char c : line) open = open != (c == '"');
  return open;
}

table_text cut_out_table(std::string_view rest, const std::string& file) {
  table_text table;
  int line_number = 0;
  std::string first_words;
  bool is_open = false;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    line_number += 1;
    if (table.lines.empty() && !is_header(line)) {
      // What went wrong is worth more than what came first.
      if (first_words.empty() || line.starts_with("==ERROR==")) first_words = line.substr(0, 120);
      continue;
    }
    if (!is_open && (line.starts_with("==") || line.empty() || line == "\r")) continue;
    if (!is_open) table.lines.push_back(line_number);
    table.rows.append(line).append("\n");
    is_open = are_quotes_open(line, is_open);
  }
  if (table.lines.empty()) {
    fail(file, 1,
         first_words.empty() ? "is empty"
                             : fmt::format("has no line that begins with the column 'ID', so it is no table "
                                           "of ncu; it says: {}",
                                           first_words));
  }
  if (is_open) fail(file, table.lines.back(), "ends inside of a quoted cell: the file is truncated");
  return table;
}

/// Columns by their name, cells with their place in the file.
class ncu_table {
 public:
  ncu_table(std::string_view text, std::string file) : m_file(std::move(file)) {
    const table_text table = cut_out_table(text, m_file);
    m_lines = table.lines;
    std::istringstream in(table.rows);
    const bool has_cr = table.rows.find('\r') != std::string::npos;
    const rapidcsv::Document document(in, rapidcsv::LabelParams(-1, -1),
                                      rapidcsv::SeparatorParams(',', false, has_cr, true));
    for (std::size_t row = 0; row < document.GetRowCount(); ++row) {
      m_rows.push_back(document.GetRow<std::string>(row));
    }
    if (m_rows.size() != m_lines.size()) fail(m_file, m_lines.front(), "its quotes do not pair up");
    for (std::size_t column = 0; column < header().size(); ++column) {
      if (!m_columns.emplace(header()[column], column).second) {
        fail(m_file, line_of(0), fmt::format("has the column '{}' twice", header()[column]));
      }
    }
  }

  const std::string& file() const { return m_file; }
  const std::vector<std::string>& header() const { return m_rows.front(); }
  std::size_t row_count() const { return m_rows.size(); }
  int line_of(std::size_t row) const { return m_lines[row]; }
  bool has(std::string_view column) const { return m_columns.find(column) != m_columns.end(); }

  /// A row of the details page ends where it has no more to say.
  std::string cell(std::size_t row, std::size_t column) const {
    return column < m_rows[row].size() ? m_rows[row][column] : "";
  }
  std::string cell(std::size_t row, std::string_view column) const {
    const auto found = m_columns.find(column);
    if (found == m_columns.end()) {
      fail(m_file, line_of(0), fmt::format("has no column '{}', so it is not what ncu writes", column));
    }
    return cell(row, found->second);
  }

  void require_whole(std::size_t row) const {
    if (m_rows[row].size() == header().size()) return;
    fail(m_file, line_of(row),
         fmt::format("has {} columns where the header has {}: the file is truncated or damaged",
                     m_rows[row].size(), header().size()));
  }

 private:
  std::string m_file;
  std::vector<std::vector<std::string>> m_rows;
  std::vector<int> m_lines;
  std::map<std::string, std::size_t, std::less<>> m_columns;
};

std::array<std::uint32_t, 3> size_in(const ncu_table& table, std::size_t row, std::string_view column) {
  const std::string cell = table.cell(row, column);
  if (const auto size = parse_ncu_size(cell)) return *size;
  fail(table.file(), table.line_of(row),
       fmt::format("column '{}': '{}' is not like (128, 1, 1)", column, cell));
}

/// Everything of a launch but its metrics.
core::kernel_counters launch_in(const ncu_table& table, std::size_t row, const std::string& domain) {
  core::kernel_counters launch;
  launch.kernel_name = table.cell(row, ncu_kernel_column);
  launch.grid = size_in(table, row, ncu_grid_column);
  launch.block = size_in(table, row, ncu_block_column);
  const ncu_number device = parse_ncu_number(table.cell(row, ncu_device_column));
  if (device.kind != number_kind::number || device.value < 0 || device.value > 65535) {
    fail(
        table.file(), table.line_of(row),
        fmt::format("column '{}': '{}' is no device", ncu_device_column, table.cell(row, ncu_device_column)));
  }
  launch.device = static_cast<int>(device.value);
  for (const std::string& column : table.header()) {
    if (column.starts_with(ncu_ranges_column_start)) {
      launch.ranges = parse_ncu_ranges(table.cell(row, column), domain);
    }
  }
  return launch;
}

/// The number in the cell; nothing: a text, or none.
std::optional<double> number_in(const ncu_table& table, std::size_t row, std::string_view column,
                                const std::string& cell) {
  const ncu_number number = parse_ncu_number(cell);
  if (number.kind == number_kind::separated) {
    fail(
        table.file(), table.line_of(row),
        fmt::format("column '{}': '{}' has a separator of thousands or a comma for its point", column, cell));
  }
  return number.kind == number_kind::number ? std::optional(number.value) : std::nullopt;
}

void add_metric(std::string_view name, double value, std::string_view unit, core::kernel_counters& launch) {
  const double to_base = factor_to_base_unit(unit);
  if (to_base == 0) return;
  const metric_name current = current_metric_name(name);
  // The metric's own name wins over one that stands for it.
  if (current.name != name && launch.metrics.contains(current.name)) return;
  launch.metrics[current.name] = value * to_base * current.factor;
}

std::vector<core::kernel_counters> launches_of_raw_page(const ncu_table& table, const std::string& domain) {
  constexpr std::size_t units_row = 1;
  if (table.row_count() <= units_row)
    fail(table.file(), table.line_of(0), "ends after its header: it is truncated");
  table.require_whole(units_row);
  if (!table.cell(units_row, "ID").empty()) {
    fail(table.file(), table.line_of(units_row), "has no row of units below its header");
  }
  std::vector<core::kernel_counters> launches;
  for (std::size_t row = units_row + 1; row < table.row_count(); ++row) {
    table.require_whole(row);
    core::kernel_counters launch = launch_in(table, row, domain);
    for (std::size_t column = 0; column < table.header().size(); ++column) {
      const std::string& name = table.header()[column];
      if (!is_metric_column(name)) continue;
      const auto value = number_in(table, row, name, table.cell(row, column));
      if (value) add_metric(name, *value, table.cell(units_row, column), launch);
    }
    launches.push_back(std::move(launch));
  }
  return launches;
}

std::vector<core::kernel_counters> launches_of_details_page(const ncu_table& table,
                                                            const std::string& domain) {
  std::vector<core::kernel_counters> launches;
  std::map<std::string, std::size_t> place_of;  // by ncu's id of the launch
  for (std::size_t row = 1; row < table.row_count(); ++row) {
    const std::string id = table.cell(row, "ID");
    const auto [place, is_new] = place_of.try_emplace(id, launches.size());
    if (is_new) launches.push_back(launch_in(table, row, domain));
    const std::string label = table.cell(row, "Metric Name");
    if (label.empty()) continue;  // a rule's words
    const std::string unit = table.cell(row, "Metric Unit");
    const auto value = number_in(table, row, "Metric Value", table.cell(row, "Metric Value"));
    if (!value) continue;
    const std::string name = is_metric_column(label) ? label : metric_of_label(label, unit);
    if (!name.empty()) add_metric(name, *value, unit, launches[place->second]);
  }
  return launches;
}

}  // namespace

std::vector<core::kernel_counters> parse_ncu_csv(std::string_view text, const std::string& file,
                                                 const std::string& nvtx_domain) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  refuse_other_encodings(text, file);
  const ncu_table table(text, file);
  return table.has("Metric Name") ? launches_of_details_page(table, nvtx_domain)
                                  : launches_of_raw_page(table, nvtx_domain);
}

std::vector<core::kernel_counters> read_ncu_counters(const std::filesystem::path& file,
                                                     const std::string& nvtx_domain) {
  const std::string text = read_whole_file(file, max_csv_bytes, made_by);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && (text[first] == '[' || text[first] == '{');
  return is_json ? parse_ncu_json(text, file.string(), nvtx_domain)
                 : parse_ncu_csv(text, file.string(), nvtx_domain);
}

}  // namespace profgate::parsers
