#include "tidy_markdown.h"

#include <algorithm>
#include <vector>

namespace profgate::render {
namespace {

constexpr std::size_t widest_padded_column = 60;

using cells = std::vector<std::string>;

/// Characters, not bytes: continuation bytes of UTF-8 take no room.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Splits "| a | b |" at the pipes that no backslash precedes.
cells split_row(std::string_view line) {
  cells row;
  std::string cell;
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) {
      cell += line[i++];
      cell += line[i];
    } else if (line[i] == '|') {
      row.emplace_back(trim(cell));
      cell.clear();
    } else {
      cell += line[i];
    }
  }
  return row;
}

bool is_delimiter_row(const cells& row) {
  return !row.empty() && std::all_of(row.begin(), row.end(), [](const std::string& cell) {
    return cell.find('-') != std::string::npos && cell.find_first_not_of(":-") == std::string::npos;
  });
}

bool is_right_aligned(const cells& delimiter, std::size_t column) {
  return column < delimiter.size() && delimiter[column].back() == ':';
}

void append_padded(std::string& out, const std::string& cell, std::size_t width, bool to_the_right) {
  const std::size_t own = width_of(cell);
  const std::string padding(own < width ? width - own : 0, ' ');
  out += to_the_right ? padding + cell : cell + padding;
}

/// The widest cell of a column that still is within bounds.
std::vector<std::size_t> column_widths(const std::vector<cells>& table) {
  std::vector<std::size_t> widths;
  for (std::size_t r = 0; r < table.size(); ++r) {
    if (r == 1) continue;  // the delimiter follows the others
    widths.resize(std::max(widths.size(), table[r].size()), 3);
    for (std::size_t c = 0; c < table[r].size(); ++c) {
      const std::size_t width = width_of(table[r][c]);
      if (width <= widest_padded_column) widths[c] = std::max(widths[c], width);
    }
  }
  return widths;
}

std::string format_table(const std::vector<cells>& table) {
  const std::vector<std::size_t> widths = column_widths(table);
  const cells& delimiter = table[1];
  std::string out;
  for (std::size_t r = 0; r < table.size(); ++r) {
    out += '|';
    for (std::size_t c = 0; c < table[r].size(); ++c) {
      const bool to_the_right = is_right_aligned(delimiter, c);
      out += ' ';
      if (r == 1) {
        out += std::string(widths[c] - (to_the_right ? 1 : 0), '-') + (to_the_right ? ":" : "");
      } else {
        append_padded(out, table[r][c], widths[c], to_the_right);
      }
      out += " |";
    }
    out += '\n';
  }
  return out;
}

}  // namespace

std::string tidy_markdown(std::string_view markdown) {
  std::string out;
  std::vector<cells> table;
  std::string raw;
  const auto flush = [&] {
    const bool is_table = table.size() >= 2 && is_delimiter_row(table[1]);
    out += is_table ? format_table(table) : raw;
    table.clear();
    raw.clear();
  };
  while (!markdown.empty()) {
    const std::size_t end = std::min(markdown.find('\n'), markdown.size());
    const std::string_view line = markdown.substr(0, end);
    markdown.remove_prefix(std::min(end + 1, markdown.size()));
    if (!line.empty() && line.front() == '|') {
      table.push_back(split_row(line));
      raw.append(line).append("\n");
      continue;
    }
    flush();
    if (line.empty() && (out.empty() || out.ends_with("\n\n"))) continue;
    out.append(line).append("\n");
  }
  flush();
  if (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace profgate::render
