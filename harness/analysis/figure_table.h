#pragma once

#include <functional>
#include <optional>
#include <type_traits>

#include "analysis/counters.h"
#include "analysis/figures.h"
#include "analysis/findings.h"
#include "analysis/json_object.h"

/// A row says how a figure is called, what it is, how it is shown, and where its value is. All tables are in
/// figures_*.cpp.
namespace profgate::analysis {

template <class T>
inline constexpr bool is_measured = false;
template <class T>
inline constexpr bool is_measured<measured<T>> = true;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// As PROFILE.md calls it; empty: an object or a list of them, which has a table of its own.
template <class T>
std::string type_text() {
  if constexpr (is_measured<T>) {
    const std::string type = type_text<std::remove_cvref_t<decltype(*std::declval<T>())>>();
    return type.empty() ? "" : type + " or null";
  } else if constexpr (is_optional<T>) {
    return type_text<typename T::value_type>();
  } else if constexpr (std::is_same_v<T, json>) {
    return "";
  } else if constexpr (std::is_same_v<T, bool>) {
    return "boolean";
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::is_integral_v<T> ? "integer" : "number";
  } else {
    return std::is_same_v<T, std::string> ? "text" : "list";
  }
}

template <class Object>
struct figure : figure_description {
  template <class Getter>
  using value_of = std::remove_cvref_t<std::invoke_result_t<Getter, const Object&>>;

  /// `get`: a member of the object, or a function of it.
  template <class Getter>
  figure(const char* figure_key, Getter get, const char* text = "", const std::string& label = "",
         const char* format = "", better which = better::neither)
      : figure_description{figure_key, type_text<value_of<Getter>>(), text, {label, format, which}},
        put([name = std::string(figure_key), get](const Object& from, json_object& into) {
          into.put(name, std::invoke(get, from));
        }) {}

  std::function<void(const Object&, json_object&)> put;
};

template <class Object>
class figure_table {
 public:
  figure_table(const char* path, std::vector<figure<Object>> rows) : m_path(path), m_rows(std::move(rows)) {}

  void put(const Object& from, json_object& into) const {
    for (const figure<Object>& row : m_rows) row.put(from, into);
  }
  json json_of(const Object& from) const {
    json_object object;
    put(from, object);
    return object.take();
  }
  measured<json> json_of(const measured<Object>& from) const {
    return from ? measured<json>(json_of(*from)) : measured<json>::absent(from.reason());
  }
  json list_of(const std::vector<Object>& objects) const {
    json list = json::array();
    for (const Object& object : objects) list.push_back(json_of(object));
    return list;
  }
  object_description description() const { return {m_path, {m_rows.begin(), m_rows.end()}}; }

 private:
  std::string m_path;
  std::vector<figure<Object>> m_rows;
};

/// A member of a member.
template <class Outer, class Inner>
auto through(Outer outer, Inner inner) {
  return [outer, inner](const auto& object) { return std::invoke(inner, std::invoke(outer, object)); };
}

/// A part of what was measured as a whole, absent with it.
template <class Whole, class T>
auto part_of(T Whole::*member) {
  return [member](const measured<Whole>& whole) {
    using part = std::conditional_t<is_measured<T>, T, measured<T>>;
    return whole ? part((*whole).*member) : part::absent(whole.reason());
  };
}

/// As every table calls it.
inline std::string device_name(int device) {
  return "cuda:" + std::to_string(device);
}

inline measured<std::string> text_or_absent(const std::string& text, const std::string& reason_if_empty) {
  return text.empty() ? measured<std::string>::absent(reason_if_empty) : measured<std::string>(text);
}

/// An object of its own, by its table.
template <class Table, class Getter>
auto object_by(const Table& table, Getter get) {
  return [&table, get](const auto& from) { return table.json_of(std::invoke(get, from)); };
}

const figure_table<stage_figures>& stage_table();
const figure_table<measured<sample_statistics>>& bare_times_table();
const figure_table<utilisation>& utilisation_table();
const figure_table<telemetry_figures>& telemetry_table();
const figure_table<core::expert_use>& experts_table();
const figure_table<core::expert_layer>& expert_layer_table();
const figure_table<traced_stage>& traced_table();
const figure_table<traced_steps>& steps_table();
const figure_table<step_figures>& step_table();
const figure_table<traced_activity>& activity_table();
const figure_table<rank_figures>& rank_table();
const figure_table<device_figures>& device_table();
const figure_table<device_operator>& device_operator_table();
const figure_table<category_figures>& device_category_table();
const figure_table<idle_figures>& idle_table();
const figure_table<operator_figures>& operator_table();
const figure_table<core::kernel_record>& kernel_table();
const figure_table<core::kernel_group>& kernel_group_table();
const figure_table<category_figures>& category_table();
const figure_table<kernel_neighbours>& neighbours_table();
const figure_table<stage_counters>& counters_table();
const figure_table<counted_kernel>& counted_kernel_table();

}  // namespace profgate::analysis
