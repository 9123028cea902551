#include "values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/escape.h"
#include "core/units.h"
#include "drawing.h"
#include "short_names.h"

namespace profgate::render {
namespace {

using nlohmann::json;

std::string scaled(double value, const char* unit) {
  static constexpr const char* prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t prefix = 0;
  while (std::abs(value) >= 1000.0 && prefix + 1 < std::size(prefixes)) {
    value /= 1000.0;
    ++prefix;
  }
  const double magnitude = std::abs(value);
  return fmt::format("{:.{}f} {}{}", value,
                     magnitude >= 100  ? 0
                     : magnitude >= 10 ? 1
                                       : 2,
                     prefixes[prefix], unit);
}

std::string ms(const json& value) {
  const std::int64_t duration_ns =
      value.is_number_integer() ? value.get<std::int64_t>() : std::llround(value.get<double>());
  return core::format_ms_exact(duration_ns);
}

std::string count(const json& value) {
  return value.is_number_integer() ? value.dump() : fmt::format("{:.6g}", value.get<double>());
}

std::string text(const json& value) {
  return core::escape_markdown(value.is_string() ? value.get<std::string>() : value.dump());
}

std::string texts(const json& list) {
  std::string joined;
  for (const json& element : list) joined += (joined.empty() ? "" : ", ") + text(element);
  return joined.empty() ? "none" : joined;
}

/// Three sizes: "264×1×1".
std::string size(const json& list) {
  std::string joined;
  for (const json& element : list) joined += (joined.empty() ? "" : "×") + element.dump();
  return joined;
}

using formatter = std::string (*)(const json&);

const std::map<std::string, formatter>& formatters() {
  static const std::map<std::string, formatter> table{
      {"ms", ms},
      {"duration", [](const json& v) { return core::format_duration(v.get<double>()); }},
      {"bytes", [](const json& v) { return core::format_bytes(v.get<double>()); }},
      {"percent", [](const json& v) { return fmt::format("{:.1f} %", v.get<double>() * 100.0); }},
      {"times", [](const json& v) { return fmt::format("{:.1f}", v.get<double>()); }},
      {"count", count},
      {"flops", [](const json& v) { return scaled(v.get<double>(), "FLOP"); }},
      {"flops_per_s", [](const json& v) { return scaled(v.get<double>(), "FLOP/s"); }},
      {"bytes_per_s", [](const json& v) { return scaled(v.get<double>(), "B/s"); }},
      {"per_s", [](const json& v) { return fmt::format("{:.2f}", v.get<double>()); }},
      {"scientific", [](const json& v) { return fmt::format("{:.2e}", v.get<double>()); }},
      {"energy", [](const json& v) { return core::format_energy(v.get<double>()); }},
      {"whole", [](const json& v) { return fmt::format("{:.0f}", v.get<double>()); }},
      {"mhz", [](const json& v) { return fmt::format("{:.0f} MHz", v.get<double>()); }},
      {"watts", [](const json& v) { return fmt::format("{:.0f} W", v.get<double>()); }},
      {"cosine", [](const json& v) { return fmt::format("{:.6f}", v.get<double>()); }},
      {"precise_duration", [](const json& v) { return precise_duration(v.get<double>()); }},
      {"signed_duration", [](const json& v) { return signed_duration(v.get<double>()); }},
      {"signed_percent", [](const json& v) { return signed_percent(v.get<double>()); }},
      {"texts", texts},
      {"size", size},
      {"text", text},
      {"name", [](const json& v) { return markdown_name(v.get<std::string>()); }},
  };
  return table;
}

std::string format_value(const json& value, const std::string& format) {
  const auto found = formatters().find(format);
  if (found == formatters().end()) throw std::invalid_argument("there is no format '" + format + "'");
  return found->second(value);
}

const json& member(const json& object, const std::string& key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end()) throw std::invalid_argument("there is no field '" + key + "' to show");
  return *found;
}

}  // namespace

std::string reason_of(const json& object, const std::string& key) {
  const auto reasons_found = object.find("not_measured");
  if (reasons_found == object.end()) return "no reason was recorded";
  return reasons_found->value(key, "no reason was recorded");
}

std::vector<double> numbers_of(const json& list) {
  std::vector<double> numbers;
  if (!list.is_array()) return numbers;
  for (const json& value : list) {
    if (!value.is_number()) return {};
    numbers.push_back(value.get<double>());
  }
  return numbers;
}

std::string formatted(double value, const std::string& format) {
  return format_value(json(value), format);
}

std::string html_cell(const json& object, const std::string& key, const std::string& format) {
  const json& value = member(object, key);
  if (value.is_null()) return empty_cell;
  if (value.is_string()) {
    return core::escape_html(short_name(value.get<std::string>()));
  }
  return core::escape_html(format_value(value, format));
}

std::string markdown_name(const std::string& name) {
  return core::escape_markdown(short_name(name));
}

std::string one_plain_line(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    out += is_control ? ' ' : c == '`' ? '\'' : c;
  }
  return out;
}

std::string cell(const json& object, const std::string& key, const std::string& format) {
  const json& value = member(object, key);
  return value.is_null() ? std::string(empty_cell) : format_value(value, format);
}

std::string or_reason(const json& object, const std::string& key, const std::string& format) {
  const json& value = member(object, key);
  if (!value.is_null()) return format_value(value, format);
  return "not measured: " + core::escape_markdown(reason_of(object, key));
}

std::string link_target(const std::string& path) {
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                          (byte >= 'a' && byte <= 'z') || c == '-' || c == '.' || c == '_' || c == '/';
    out += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

json column(const json& rows, const std::string& key) {
  json values = json::array();
  for (const json& row : rows) values.push_back(member(row, key));
  return values;
}

json distinct(const json& rows, const std::string& key) {
  json values = json::array();
  for (const json& row : rows) {
    const json& value = member(row, key);
    if (!value.is_null() && std::find(values.begin(), values.end(), value) == values.end())
      values.push_back(value);
  }
  return values;
}

json having(const json& rows, const std::string& key) {
  json measured = json::array();
  for (const json& row : rows) {
    if (!member(row, key).is_null()) measured.push_back(row);
  }
  return measured;
}

json reasons(const json& rows, const json& keys) {
  std::vector<std::pair<std::string, std::string>> fields_by_reason;
  for (const json& row : rows.is_object() ? json::array({rows}) : rows) {
    for (const json& key : keys) {
      const auto& field = key.get_ref<const std::string&>();
      if (!row.is_object() || !row.contains(field) || !row[field].is_null()) continue;
      const std::string reason = reason_of(row, field);
      const auto known = std::find_if(fields_by_reason.begin(), fields_by_reason.end(),
                                      [&](const auto& entry) { return entry.first == reason; });
      if (known == fields_by_reason.end()) {
        fields_by_reason.emplace_back(reason, field);
      } else if ((", " + known->second + ",").find(", " + field + ",") == std::string::npos) {
        known->second += ", " + field;
      }
    }
  }
  json list = json::array();
  for (const auto& [reason, fields] : fields_by_reason)
    list.push_back({{"fields", fields}, {"reason", reason}});
  return list;
}

std::string fact(const json& document, const std::string& pointer, const std::string& format) {
  const json* value = &document;
  std::size_t start = 1;
  while (start <= pointer.size()) {
    const std::size_t end = std::min(pointer.find('/', start), pointer.size());
    const std::string key = pointer.substr(start, end - start);
    start = end + 1;
    const json* parent = value;
    if (parent->is_array()) {
      const std::size_t index = std::stoul(key);
      if (index >= parent->size()) return "not recorded";
      value = &(*parent)[index];
    } else if (parent->is_object() && parent->contains(key)) {
      value = &(*parent)[key];
      if (value->is_null()) return or_reason(*parent, key, format);
    } else {
      return "not recorded";
    }
  }
  return format_value(*value, format);
}

bool is_known(const json& document, const std::string& pointer) {
  const json::json_pointer place(pointer);
  return document.contains(place) && !document[place].is_null();
}

bool has_any(const json& rows, const json& keys) {
  for (const json& row : rows.is_object() ? json::array({rows}) : rows) {
    for (const json& key : keys) {
      const auto found = row.is_object() ? row.find(key.get_ref<const std::string&>()) : row.end();
      if (row.is_object() && found != row.end() && !found->is_null()) return true;
    }
  }
  return false;
}

bool has_lists(const json& rows, const std::string& key) {
  return std::any_of(rows.begin(), rows.end(), [&](const json& row) { return !member(row, key).empty(); });
}

json first(const json& list, std::size_t count) {
  json head = json::array();
  for (const json& element : list) {
    if (head.size() == count) break;
    head.push_back(element);
  }
  return head;
}

}  // namespace profgate::render
