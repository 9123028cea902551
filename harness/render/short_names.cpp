#include "short_names.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/escape.h"

namespace profgate::render {
namespace {

using nlohmann::json;

constexpr std::size_t longest_cut_name_bytes = 160;
constexpr std::size_t usual_top_n = 20;

void put_short_names(json& value, const core::short_kernel_names& names) {
  if (!value.is_structured()) return;
  for (auto entry = value.begin(); entry != value.end(); ++entry) {
    const bool is_name = value.is_object() && entry.key() == "kernel_name" && entry->is_string();
    if (is_name) {
      *entry = core::to_valid_utf8(names.of(entry->get_ref<const std::string&>()));
    } else {
      put_short_names(*entry, names);
    }
  }
}

/// The kernels that tables list, each once, in the order in which they do.
class shown_names {
 public:
  shown_names(std::size_t top_n, const core::short_kernel_names& names) : m_top_n(top_n), m_names(names) {}

  void add(const json& object, const char* key) {
    const auto rows = object.is_object() ? object.find(key) : object.end();
    if (rows == object.end() || !rows->is_array()) return;
    std::size_t listed = 0;
    for (const json& row : *rows) {
      if (listed++ == m_top_n) return;
      const auto name = row.is_object() ? row.find("kernel_name") : row.end();
      if (name != row.end() && name->is_string()) add(name->get<std::string>());
    }
  }

  json take() { return std::move(m_list); }

 private:
  void add(const std::string& whole) {
    const std::string name = core::to_valid_utf8(m_names.of(whole));
    if (name != whole && m_known.insert(whole).second)
      m_list.push_back({{"name", name}, {"whole", core::to_valid_utf8(whole)}});
  }

  std::size_t m_top_n;
  const core::short_kernel_names& m_names;
  std::set<std::string> m_known;
  json m_list = json::array();
};

json whole_names_of(const json& profile, const core::short_kernel_names& names) {
  shown_names shown(profile.value("/run/top_n_kernels_count"_json_pointer, usual_top_n), names);
  if (profile.contains("kernels")) shown.add(profile["kernels"], "overall");
  if (!profile.contains("stages")) return shown.take();
  for (const json& stage : profile["stages"]) {
    shown.add(stage, "kernels");
    shown.add(stage, "kernel_groups");
    if (stage.contains("counters")) shown.add(stage["counters"], "kernels");
  }
  return shown.take();
}

}  // namespace

std::string cut_name(const std::string& name) {
  return core::shorten_middle(name, longest_cut_name_bytes);
}

core::short_kernel_names kernel_names_of(const json& profile) {
  const json overall = profile.value("/kernels/overall"_json_pointer, json::array());
  std::vector<std::string> names;
  for (const json& kernel : overall)
    if (kernel.is_object() && kernel.value("kernel_name", json()).is_string())
      names.push_back(kernel["kernel_name"].get<std::string>());
  return core::short_kernel_names(std::move(names));
}

void shorten_kernel_names(json& document, const core::short_kernel_names& names) {
  json whole_names = whole_names_of(document, names);
  put_short_names(document, names);
  if (document.is_object()) document["whole_names"] = std::move(whole_names);
}

}  // namespace profgate::render
