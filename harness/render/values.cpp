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

#include "analysis/facts.h"
#include "core/escape.h"
#include "core/units.h"
#include "difference_words.h"
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
  constexpr double from_here_on_whole =
      1e5;  // and no exponent before there are more digits than a double has
  constexpr double from_here_on_scientific = 1e15;
  if (value.is_number_integer()) return value.dump();
  const double number = value.get<double>();
  const bool is_whole = std::abs(number) >= from_here_on_whole && std::abs(number) < from_here_on_scientific;
  return is_whole ? fmt::format("{:.0f}", number) : fmt::format("{:.6g}", number);
}

bool is_whole_number(const json& value) {
  return value.is_number_integer() || value.get<double>() == std::floor(value.get<double>());
}

/// Two significant digits, and those before the point: of a few samples a deviation is no better known.
std::string spread_text(const json& value) {
  const double number = value.get<double>();
  if (number == 0) return "0";
  const auto decade_of = [](double size) { return static_cast<int>(std::floor(std::log10(std::abs(size)))); };
  const double step = std::pow(10.0, std::min(0, decade_of(number) - 1));
  const double rounded = std::round(number / step) * step;
  return fmt::format("{:.{}f}", rounded, std::clamp(1 - decade_of(rounded * 1.001), 0, 12));
}

/// Of parameters: "8.03 B", "596 M".
std::string amount_text(const json& value) {
  const double number = value.get<double>();
  for (const auto& [size, name] : {std::pair{1e12, "T"}, std::pair{1e9, "B"}, std::pair{1e6, "M"}}) {
    if (number >= size) return fmt::format("{:.3g} {}", number / size, name);
  }
  return count(value);
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
      {"percent", [](const json& v) { return core::format_percent(v.get<double>()); }},
      {"times", [](const json& v) { return fmt::format("{:.1f}", v.get<double>()); }},
      {"count", count},
      {"flops", [](const json& v) { return scaled(v.get<double>(), "FLOP"); }},
      {"flops_per_s", [](const json& v) { return scaled(v.get<double>(), "FLOP/s"); }},
      {"bytes_per_s", [](const json& v) { return scaled(v.get<double>(), "B/s"); }},
      {"per_s", [](const json& v) { return fmt::format("{:.2f}", v.get<double>()); }},
      {"factor", [](const json& v) { return fmt::format("×{:.3g}", v.get<double>()); }},
      {"scientific", [](const json& v) { return fmt::format("{:.2e}", v.get<double>()); }},
      {"energy", [](const json& v) { return core::format_energy(v.get<double>()); }},
      {"number",
       [](const json& v) { return is_whole_number(v) ? count(v) : core::format_number(v.get<double>()); }},
      {"spread", spread_text},
      {"amount", amount_text},
      {"ceiling", [](const json& v) { return core::format_share_of_ceiling(v.get<double>()); }},
      {"whole", [](const json& v) { return fmt::format("{:.0f}", v.get<double>()); }},
      {"mhz", [](const json& v) { return fmt::format("{:.0f} MHz", v.get<double>()); }},
      {"watts", [](const json& v) { return fmt::format("{:.0f} W", v.get<double>()); }},
      {"cosine", [](const json& v) { return fmt::format("{:.6f}", v.get<double>()); }},
      {"precise_duration", [](const json& v) { return precise_duration(v.get<double>()); }},
      {"signed_duration", [](const json& v) { return signed_duration(v.get<double>()); }},
      {"signed_percent", [](const json& v) { return core::format_signed_percent(v.get<double>()); }},
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
  return value.is_number() ? core::with_minus_sign(found->second(value)) : found->second(value);
}

}  // namespace

const json& member(const json& object, const std::string& key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end()) throw std::invalid_argument("there is no field '" + key + "' to show");
  return *found;
}

std::string reason_of(const json& object, const std::string& key) {
  const auto reasons_found = object.find("not_measured");
  if (reasons_found == object.end()) return "no reason was recorded";
  return reasons_found->value(key, "no reason was recorded");
}

std::optional<double> number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::string text_or_empty(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
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
    return core::escape_html(cut_name(value.get<std::string>()));
  }
  return core::escape_html(format_value(value, format));
}

std::string markdown_name(const std::string& name) {
  return core::escape_markdown(cut_name(name));
}

std::string whose_peaks_of(const json& ceilings) {
  const bool are_any = number(ceilings, "vendor_flops_per_s") || number(ceilings, "vendor_bytes_per_s");
  return std::string(analysis::whose_peaks(are_any && member(ceilings, "vendor_source").is_null()));
}

std::string plus_minus(const json& object, const std::string& energy_key,
                       const std::string& uncertainty_key) {
  const json& joules = member(object, energy_key);
  const json& uncertainty = member(object, uncertainty_key);
  if (joules.is_null()) return empty_cell;
  return uncertainty.is_number() ? core::format_energy(joules.get<double>(), uncertainty.get<double>())
                                 : core::format_energy(joules.get<double>());
}

std::string told_text(const json& figure, const std::string& key) {
  const json& value = member(figure, key);
  if (value.is_null()) return empty_cell;
  const std::string unit = text_or_empty(figure, "unit");
  const std::optional<double> unit_ns = core::ns_per(unit);
  if (unit_ns) return formatted(value.get<double>() * *unit_ns, "duration");
  return format_value(value, "number") + (unit.empty() ? "" : " " + unit);
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
  if (!document.contains(place) || document[place].is_null()) return false;
  // As an earlier profgate wrote it of programs that it did not build.
  const json& value = document[place];
  return !value.is_string() || !value.get_ref<const std::string&>().starts_with("unknown");
}

}  // namespace profgate::render
