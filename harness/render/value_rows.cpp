#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "values.h"

// What templates ask of lists of objects: tables' rows and columns.
namespace profgate::render {

using nlohmann::json;

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
      const auto& field = (key.is_array() ? key.at(0) : key).get_ref<const std::string&>();
      const auto& column_name = (key.is_array() ? key.at(1) : key).get_ref<const std::string&>();
      if (!row.is_object() || !row.contains(field) || !row[field].is_null()) continue;
      const std::string reason = reason_of(row, field);
      const auto known = std::find_if(fields_by_reason.begin(), fields_by_reason.end(),
                                      [&](const auto& entry) { return entry.first == reason; });
      if (known == fields_by_reason.end()) {
        fields_by_reason.emplace_back(reason, column_name);
      } else if ((", " + known->second + ",").find(", " + column_name + ",") == std::string::npos) {
        known->second += ", " + column_name;
      }
    }
  }
  json list = json::array();
  for (const auto& [reason, fields] : fields_by_reason)
    list.push_back({{"fields", fields}, {"reason", reason}});
  return list;
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
