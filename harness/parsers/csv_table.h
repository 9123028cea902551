#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace profgate::parsers {

constexpr std::uintmax_t max_csv_bytes = std::uintmax_t{1} << 30;

/// Where a table comes from: what errors name, and what they tell to do.
struct csv_origin {
  std::string file;
  std::string remedy;
};

/// Comma-separated text of nsys or ncu: columns by their name, rows with their line in the file. One policy
/// for all of it: UTF-8, with or without a byte order mark. Anything else, a row of another length than the
/// header's, quotes that never close: bad_input with line and column.
class csv_table {
 public:
  enum class line_kind { row, no_row };
  /// Asked for each line that begins outside of quotes; `is_first`: no row was found yet.
  using line_judge = std::function<line_kind(std::string_view line, bool is_first)>;

  csv_table(std::string_view text, csv_origin origin, const line_judge& judge);

  bool is_empty() const { return m_rows.empty(); }
  const std::vector<std::string>& header() const { return m_rows.front(); }
  /// The header's included; it is row 0.
  std::size_t row_count() const { return m_rows.size(); }
  bool has(std::string_view column) const { return m_columns.find(column) != m_columns.end(); }

  /// Empty where the row ends before.
  const std::string& cell(std::size_t row, std::size_t column) const;
  /// bad_input where there is no such column.
  const std::string& cell(std::size_t row, std::string_view column) const;
  void require_whole(std::size_t row) const;

  [[noreturn]] void fail(std::size_t row, const std::string& what) const;
  [[noreturn]] void fail(std::size_t row, std::string_view column, const std::string& what) const;

 private:
  [[noreturn]] void fail_at_line(int line, const std::string& what) const;
  void check_encoding(std::string_view text) const;
  std::string cut_out_rows(std::string_view text, const line_judge& judge);

  csv_origin m_origin;
  std::vector<std::vector<std::string>> m_rows;
  std::vector<int> m_lines;  ///< in the file, of each row
  std::map<std::string, std::size_t, std::less<>> m_columns;
};

}  // namespace profgate::parsers
