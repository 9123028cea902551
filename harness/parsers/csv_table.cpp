#include "csv_table.h"

#include <fmt/format.h>
#include <rapidcsv.h>

#include <sstream>

#include "core/error.h"
#include "core/escape.h"
#include "core/interrupt.h"

namespace profgate::parsers {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// With a mark, or without one: every other byte of the first letters is zero.
bool is_utf16(std::string_view text) {
  const bool is_marked = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
  return is_marked || (text.size() > 1 && (text[0] == '\0') != (text[1] == '\0'));
}

/// Whether quotes that were `open` before `line` are open after it.
bool are_quotes_open(std::string_view line, bool open) {
  for (const char c : line) open = open != (c == '"');
  return open;
}

}  // namespace

csv_table::csv_table(std::string_view text, csv_origin origin, const line_judge& judge)
    : m_origin(std::move(origin)) {
  check_encoding(text);
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  std::istringstream in(cut_out_rows(text, judge));
  if (m_lines.empty()) return;
  const bool has_cr = text.find('\r') != std::string_view::npos;
  const rapidcsv::Document document(in, rapidcsv::LabelParams(-1, -1),
                                    rapidcsv::SeparatorParams(',', false, has_cr, true));
  for (std::size_t row = 0; row < document.GetRowCount(); ++row) {
    core::stop_if_interrupted();
    m_rows.push_back(document.GetRow<std::string>(row));
  }
  if (m_rows.size() != m_lines.size()) fail_at_line(m_lines.front(), "its quotes do not pair up");
  for (std::size_t column = 0; column < header().size(); ++column) {
    if (!m_columns.emplace(header()[column], column).second) {
      fail(0, fmt::format("has the column '{}' twice", header()[column]));
    }
  }
}

void csv_table::fail_at_line(int line, const std::string& what) const {
  throw core::bad_input(m_origin.file, line, what, m_origin.remedy);
}

void csv_table::fail(std::size_t row, const std::string& what) const {
  fail_at_line(m_lines[row], what);
}

void csv_table::fail(std::size_t row, std::string_view column, const std::string& what) const {
  fail_at_line(m_lines[row], fmt::format("column '{}': {}", column, what));
}

void csv_table::check_encoding(std::string_view text) const {
  if (is_utf16(text)) {
    throw core::bad_input(
        m_origin.file, 1, "column 1: is UTF-16, but the tools write UTF-8",
        "convert it (iconv -f UTF-16 -t UTF-8), or use the file as the tool wrote it: a shell "
        "may have changed it on redirection");
  }
  const std::string valid = core::to_valid_utf8(text);
  int line = 1;
  std::size_t line_start = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\0' || text[at] != valid[at]) {
      fail_at_line(line, fmt::format("column {} is no UTF-8 text", at - line_start + 1));
    }
    if (text[at] != '\n') continue;
    line += 1;
    line_start = at + 1;
  }
}

std::string csv_table::cut_out_rows(std::string_view text, const line_judge& judge) {
  std::string rows;
  int line_number = 0;
  bool is_open = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    line_number += 1;
    if (!is_open && judge(line, m_lines.empty()) == line_kind::no_row) continue;
    if (!is_open) m_lines.push_back(line_number);
    rows.append(line).append("\n");
    is_open = are_quotes_open(line, is_open);
  }
  if (is_open) fail_at_line(m_lines.back(), "ends inside of a quoted cell: the file is truncated");
  return rows;
}

const std::string& csv_table::cell(std::size_t row, std::size_t column) const {
  static const std::string nothing;
  return column < m_rows[row].size() ? m_rows[row][column] : nothing;
}

const std::string& csv_table::cell(std::size_t row, std::string_view column) const {
  const auto found = m_columns.find(column);
  if (found == m_columns.end()) {
    fail(0, fmt::format("has no column '{}': it is another report, or of a version that names it differently",
                        column));
  }
  return cell(row, found->second);
}

void csv_table::require_whole(std::size_t row) const {
  const std::size_t columns = m_rows[row].size();
  if (columns == header().size()) return;
  const bool ends_early = columns < header().size();
  fail(row,
       fmt::format("has {} columns where the header has {}{}", columns, header().size(),
                   ends_early ? fmt::format(": it ends before '{}', truncated or damaged", header()[columns])
                              : ": damaged, or written with decimal commas"));
}

}  // namespace profgate::parsers
