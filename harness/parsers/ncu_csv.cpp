#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/units.h"
#include "csv_table.h"
#include "ncu_metric_names.h"
#include "parsers/ncu.h"
#include "whole_file.h"

namespace profgate::parsers {
namespace {

/// Names of the raw page's columns. The one of NVTX ranges begins so and goes on.
constexpr std::string_view ncu_kernel_column = "Kernel Name";
constexpr std::string_view ncu_grid_column = "Grid Size";
constexpr std::string_view ncu_block_column = "Block Size";
constexpr std::string_view ncu_device_column = "Device";
constexpr std::string_view ncu_push_pop_column_start = "thread Domain:Push/Pop_Range:";
constexpr std::string_view ncu_start_end_column_start = "Id:Domain:Start/Stop_Range:";

/// Metrics, launch and device attributes have two underscores in their name; other columns have none.
bool is_metric_column(std::string_view name) {
  return name.find("__") != std::string_view::npos;
}

enum class number_kind { number, no_number, separated };

struct ncu_number {
  number_kind kind = number_kind::no_number;
  double value = 0;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// "1.980" is 1.98 in one locale and 1980 in another. ncu writes two decimals in base units and six in
/// automatic ones, so three can only be a group of thousands.
bool may_hold_thousands(std::string_view cell) {
  const std::size_t dot = cell.find('.');
  return dot != std::string_view::npos && dot <= 3 && cell.size() == dot + 4 &&
         std::all_of(cell.begin() + static_cast<std::ptrdiff_t>(dot) + 1, cell.end(), is_digit);
}

/// The name in "LLM:name:none:none:none:none:REGISTERED:name" without its "LLM:". The message repeats it,
/// which tells where a name with colons ends.
std::string range_in(std::string_view fields) {
  for (const std::string_view type : {":REGISTERED:", ":ASCII:", ":UNICODE:"}) {
    for (std::size_t at = fields.find(type); at != std::string_view::npos; at = fields.find(type, at + 1)) {
      const std::string_view message = fields.substr(at + type.size());
      if (message.size() < at && fields.starts_with(message) && fields[message.size()] == ':') {
        return std::string(message);
      }
    }
  }
  return std::string(fields.substr(0, fields.find(':')));
}

/// A number as the C locale writes it; `no_number`: a text, or nothing; `separated`: it begins like a number
/// and has, or may have, a separator of thousands or a comma for its point.
ncu_number parse_ncu_number(std::string_view cell) {
  const std::string_view digits = cell.starts_with('-') ? cell.substr(1) : cell;
  if (digits.empty() || !is_digit(digits.front())) return {};
  double value = 0;
  const auto [end, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  const bool is_whole = problem == std::errc() && end == cell.data() + cell.size() && std::isfinite(value);
  if (is_whole && !may_hold_thousands(digits)) return {number_kind::number, value};
  const bool looks_separated = std::all_of(digits.begin(), digits.end(), [](char c) {
    return is_digit(c) || c == ',' || c == '.' || c == '\'' || c == ' ' ||
           static_cast<unsigned char>(c) > 127;
  });
  return {looks_separated ? number_kind::separated : number_kind::no_number, 0};
}

/// "(128, 1, 1)", or nothing.
std::optional<std::array<std::uint32_t, 3>> parse_ncu_size(std::string_view cell) {
  std::array<std::uint32_t, 3> size{};
  const char* at = cell.data();
  const char* const end = cell.data() + cell.size();
  const auto skip = [&](std::string_view wanted) {
    if (!std::string_view(at, static_cast<std::size_t>(end - at)).starts_with(wanted)) return false;
    at += wanted.size();
    return true;
  };
  if (!skip("(")) return std::nullopt;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (axis > 0 && !skip(", ")) return std::nullopt;
    const auto [next, problem] = std::from_chars(at, end, size[axis]);
    if (problem != std::errc()) return std::nullopt;
    at = next;
  }
  return skip(")") && at == end ? std::optional(size) : std::nullopt;
}

/// Domains and names in a cell like
/// `4455  "LLM:decode_all:none:none:none:none:REGISTERED:decode_all"  "LLM:…"`, outermost first.
void append_ncu_ranges(std::string_view cell, std::vector<std::pair<std::string, std::string>>& ranges) {
  constexpr std::string_view default_domain = "<default domain>";
  const std::size_t first = cell.find('"');
  const std::size_t last = cell.rfind('"');
  if (first == last) return;
  std::string_view rest = cell.substr(first + 1, last - first - 1);
  constexpr std::string_view between = "\"  \"";
  for (bool is_more = true; is_more;) {
    const std::size_t end = rest.find(between);
    const std::string_view range = rest.substr(0, end);
    is_more = end != std::string_view::npos;
    if (is_more) rest = rest.substr(end + between.size());
    const std::size_t colon = range.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view domain = range.substr(0, colon);
    ranges.emplace_back(domain == default_domain ? "" : domain, range_in(range.substr(colon + 1)));
  }
}

constexpr const char* ncu_csv_origin = "'ncu --import <report> --csv'";
constexpr const char* import_again =
    "import the report again: LC_ALL=C ncu --import <report> --csv --page raw --print-units base";

bool is_header(std::string_view line) {
  return line.starts_with("\"ID\",") || line.starts_with("ID,");
}

/// The table alone: live output of ncu has its own lines and the program's around it.
csv_table table_in(std::string_view text, const std::string& file) {
  std::string first_words;
  csv_table table(text, {file, import_again}, [&](std::string_view line, bool is_first) {
    if (is_first && !is_header(line)) {
      // What went wrong is worth more than what came first.
      if (first_words.empty() || line.starts_with("==ERROR==")) first_words = line.substr(0, 120);
      return csv_table::line_kind::no_row;
    }
    const bool is_between = line.starts_with("==") || line.empty() || line == "\r";
    return is_between ? csv_table::line_kind::no_row : csv_table::line_kind::row;
  });
  if (!table.is_empty()) return table;
  throw core::bad_input(file, 1,
                        first_words.empty()
                            ? "is empty"
                            : fmt::format("has no line that begins with the column 'ID', so it is no table "
                                          "of ncu; it says: {}",
                                          first_words),
                        import_again);
}

std::array<std::uint32_t, 3> size_in(const csv_table& table, std::size_t row, std::string_view column) {
  const std::string& cell = table.cell(row, column);
  if (const auto size = parse_ncu_size(cell)) return *size;
  table.fail(row, column, fmt::format("'{}' is not like (128, 1, 1)", cell));
}

/// Everything of a launch but its metrics.
core::kernel_counters launch_in(const csv_table& table, std::size_t row) {
  core::kernel_counters launch;
  launch.kernel_name = table.cell(row, ncu_kernel_column);
  launch.grid = size_in(table, row, ncu_grid_column);
  launch.block = size_in(table, row, ncu_block_column);
  const std::string& device_cell = table.cell(row, ncu_device_column);
  const ncu_number device = parse_ncu_number(device_cell);
  if (device.kind != number_kind::number || device.value < 0 || device.value > 65535) {
    table.fail(row, ncu_device_column, fmt::format("'{}' is no device", device_cell));
  }
  launch.device = static_cast<int>(device.value);
  // Ranges by start and end lie around what a thread pushes and pops.
  for (const std::string_view start : {ncu_start_end_column_start, ncu_push_pop_column_start}) {
    for (const std::string& column : table.header()) {
      if (column.starts_with(start)) append_ncu_ranges(table.cell(row, column), launch.open_ranges);
    }
  }
  return launch;
}

/// The number in the cell; nothing: a text, or none. What no kernel can have taken is refused.
std::optional<double> number_in(const csv_table& table, std::size_t row, std::string_view column,
                                const std::string& cell, const std::string& unit) {
  const ncu_number number = parse_ncu_number(cell);
  if (number.kind == number_kind::separated) {
    table.fail(row, column, fmt::format("'{}' has a separator of thousands or a comma for its point", cell));
  }
  const bool is_time = is_time_unit(unit);
  if (number.kind == number_kind::no_number) {
    const bool is_absent = cell.empty() || cell == "n/a" || cell == "nan" || cell.starts_with("(!)");
    if (is_time && !is_absent) table.fail(row, column, fmt::format("'{}' is no time in {}", cell, unit));
    return std::nullopt;
  }
  // A share or a number without a unit may be a difference.
  const bool is_amount = !unit.empty() && unit != "%" && factor_to_base_unit(unit) != 0;
  if (is_amount && number.value < 0) {
    table.fail(row, column, fmt::format("{} {} is less than nothing", cell, unit));
  }
  if (is_time && number.value * factor_to_base_unit(unit) > static_cast<double>(core::longest_plausible_ns)) {
    table.fail(row, column, fmt::format("{} {} is more than 28 hours", cell, unit));
  }
  return number.value;
}

void add_metric(std::string_view name, double value, std::string_view unit, core::kernel_counters& launch) {
  const double to_base = factor_to_base_unit(unit);
  if (to_base == 0) return;
  const metric_name current = current_metric_name(name);
  // The metric's own name wins over one that stands for it.
  if (current.name != name && launch.metrics.contains(current.name)) return;
  launch.metrics[current.name] = value * to_base * current.factor;
}

std::vector<core::kernel_counters> launches_of_raw_page(const csv_table& table) {
  constexpr std::size_t units_row = 1;
  if (table.row_count() <= units_row) table.fail(0, "ends after its header: it is truncated");
  table.require_whole(units_row);
  if (!table.cell(units_row, "ID").empty()) {
    table.fail(units_row, "has no row of units below its header");
  }
  std::vector<core::kernel_counters> launches;
  for (std::size_t row = units_row + 1; row < table.row_count(); ++row) {
    table.require_whole(row);
    core::kernel_counters launch = launch_in(table, row);
    for (std::size_t column = 0; column < table.header().size(); ++column) {
      const std::string& name = table.header()[column];
      if (!is_metric_column(name)) continue;
      const std::string& unit = table.cell(units_row, column);
      const auto value = number_in(table, row, name, table.cell(row, column), unit);
      if (value) add_metric(name, *value, unit, launch);
    }
    launches.push_back(std::move(launch));
  }
  return launches;
}

std::vector<core::kernel_counters> launches_of_details_page(const csv_table& table) {
  std::vector<core::kernel_counters> launches;
  std::map<std::string, std::size_t> place_of;  // by ncu's id of the launch
  for (std::size_t row = 1; row < table.row_count(); ++row) {
    const std::string& id = table.cell(row, "ID");
    const auto [place, is_new] = place_of.try_emplace(id, launches.size());
    if (is_new) launches.push_back(launch_in(table, row));
    const std::string& label = table.cell(row, "Metric Name");
    if (label.empty()) continue;  // a rule's words
    const std::string& unit = table.cell(row, "Metric Unit");
    const auto value = number_in(table, row, "Metric Value", table.cell(row, "Metric Value"), unit);
    if (!value) continue;
    const std::string name = is_metric_column(label) ? label : metric_of_label(label, unit);
    if (!name.empty()) add_metric(name, *value, unit, launches[place->second]);
  }
  return launches;
}

}  // namespace

std::vector<core::kernel_counters> parse_ncu_csv(std::string_view text, const std::string& file) {
  const csv_table table = table_in(text, file);
  return table.has("Metric Name") ? launches_of_details_page(table) : launches_of_raw_page(table);
}

std::vector<core::kernel_counters> read_ncu_counters(const std::filesystem::path& file) {
  return parse_ncu_csv(read_whole_file(file, max_csv_bytes, ncu_csv_origin), file.string());
}

}  // namespace profgate::parsers
