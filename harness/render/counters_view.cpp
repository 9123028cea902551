#include "counters_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "analysis/figures.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

constexpr std::size_t largest_listed = 5;

/// What the recommendations of one stage name: kernels under their operators, and kernels that could be one.
class named_kernels {
 public:
  named_kernels(const json& recommendations, const std::string& stage) {
    for (const json& item : recommendations) {
      if (!item.is_object() || text_or_empty(item, "stage") != stage) continue;
      if (const std::string name = text_or_empty(item, "kernel_name"); !name.empty())
        m_kernels.emplace(name, text_or_empty(item, "op_name"));
      for (const json& name : item.value("neighbours", json::array()))
        if (name.is_string()) m_neighbours.insert(name.get<std::string>());
    }
  }

  bool has(const json& kernel) const {
    const std::string name = text_or_empty(kernel, "kernel_name");
    return m_kernels.contains({name, text_or_empty(kernel, "op")}) || m_neighbours.contains(name);
  }

 private:
  std::set<std::pair<std::string, std::string>> m_kernels;
  std::set<std::string> m_neighbours;
};

json kernels_in_list(const json& kernels, const named_kernels& named) {
  json listed = json::array();
  for (std::size_t i = 0; i < kernels.size(); ++i)
    if (i < largest_listed || named.has(kernels[i])) listed.push_back(kernels[i]);
  return listed;
}

}  // namespace

void put_counter_tables(json& profile) {
  json columns = json::array();
  json keys = json::array({json::array({"share_ratio", "share"})});
  for (const analysis::figure_description& figure : analysis::figures_of("stages[].counters.kernels[]")) {
    if (figure.shown.label.empty()) continue;
    columns.push_back({{"key", figure.key}, {"label", figure.shown.label}, {"format", figure.shown.format}});
    keys.push_back(json::array({figure.key, figure.shown.label}));
  }
  keys.push_back(json::array({"bound", "bound by"}));
  profile["counter_columns"] = std::move(columns);
  profile["counter_keys"] = std::move(keys);
  bool are_all_listed = true;
  for (json& stage : profile["stages"]) {
    if (!stage["counters"].is_object()) continue;
    const named_kernels named(profile["findings"]["recommendations"], text_or_empty(stage, "name"));
    stage["counters"]["listed"] = kernels_in_list(stage["counters"]["kernels"], named);
    are_all_listed =
        are_all_listed && stage["counters"]["listed"].size() == stage["counters"]["kernels"].size();
  }
  profile["are_all_counted_listed"] = are_all_listed;
}

}  // namespace profgate::render
