#include "compare/profile_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "device_pairs.h"
#include "gate/matching.h"

namespace profgate::compare {
namespace {

using figures_by_key = std::map<std::string, analysis::measured<double>>;

std::vector<compared_figure> compare_figures(
    const std::vector<figure_row>& rows, const figures_by_key* a, const figures_by_key* b,
    const char* absent_side_reason = "this side does not have the stage") {
  const auto value = [&](const figures_by_key* figures, const std::string& key) {
    if (figures == nullptr) return analysis::measured<double>::absent(absent_side_reason);
    const auto found = figures->find(key);
    return found == figures->end() ? analysis::measured<double>::absent("it was not determined")
                                   : found->second;
  };
  std::vector<compared_figure> compared;
  for (const figure_row& row : rows) compared.push_back({row, value(a, row.key), value(b, row.key)});
  return compared;
}

/// Both sides' facts, split by whether they say the same.
void compare_facts(const compared_side& a, const compared_side& b, profile_comparison& result) {
  const auto find = [](const compared_side& side, const std::string& name) {
    const auto found = side.facts.find(name);
    return found == side.facts.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  std::map<std::string, bool> names;
  for (const compared_side* side : {&a, &b})
    for (const auto& [name, value] : side->facts) names[name] = true;
  for (const auto& [name, present] : names) {
    const std::optional<std::string> of_a = find(a, name);
    const std::optional<std::string> of_b = find(b, name);
    if (of_a == of_b) {
      result.same.emplace_back(name, *of_a);
    } else {
      result.differs.push_back({name, of_a, of_b});
    }
  }
}

const side_stage* find_stage(const compared_side& side, const std::string& name) {
  const auto found = std::find_if(side.stages.begin(), side.stages.end(),
                                  [&](const side_stage& stage) { return stage.name == name; });
  return found == side.stages.end() ? nullptr : &*found;
}

bool all_have_exclusive_time(const std::vector<side_kernel>& kernels) {
  return std::all_of(kernels.begin(), kernels.end(),
                     [](const side_kernel& k) { return k.exclusive_ns.has_value(); });
}

/// Times in whole nanoseconds, which is what the groups of the attribution's matching hold as units.
std::vector<gate::operation_group> groups_of(const std::vector<side_kernel>& kernels, bool own) {
  std::map<std::pair<std::string, std::string>, gate::operation_group> groups;  // one a name and path
  std::int64_t order = 0;
  for (const side_kernel& kernel : kernels) {
    gate::operation_group& group = groups[{kernel.name, kernel.path}];
    if (group.name.empty()) group = {kernel.name, kernel.path, kernel.category, 0, 0, order++};
    group.launches += std::llround(kernel.launches);
    group.units += std::llround(own ? *kernel.exclusive_ns : kernel.total_ns);
  }
  std::vector<gate::operation_group> list;
  for (auto& [key, group] : groups) list.push_back(std::move(group));
  return list;
}

std::string name_of(const std::vector<gate::operation_group>& groups) {
  if (groups.empty()) return "";
  return groups.size() == 1 ? groups[0].name
                            : fmt::format("{} and {} more", groups[0].name, groups.size() - 1);
}

std::string path_of(const std::vector<gate::operation_group>& a,
                    const std::vector<gate::operation_group>& b) {
  std::string path = (b.empty() ? a : b).front().path;
  for (const auto* side : {&a, &b})
    for (const gate::operation_group& group : *side)
      if (group.path != path) path.clear();
  return path;
}

compared_kernel row_of(gate::matched_by rule, const std::vector<gate::operation_group>& a,
                       const std::vector<gate::operation_group>& b) {
  compared_kernel row;
  row.a_name = name_of(a);
  row.b_name = name_of(b);
  row.path = path_of(a, b);
  row.category = (b.empty() ? a : b).front().category;
  row.match = rule;
  for (const gate::operation_group& group : a) {
    row.a_launches += static_cast<double>(group.launches);
    row.a_ns += static_cast<double>(group.units);
  }
  for (const gate::operation_group& group : b) {
    row.b_launches += static_cast<double>(group.launches);
    row.b_ns += static_cast<double>(group.units);
  }
  return row;
}

std::vector<compared_kernel> match_by_name(const std::vector<side_kernel>& a,
                                           const std::vector<side_kernel>& b, bool own) {
  std::vector<compared_kernel> rows;
  const gate::group_matches matches = gate::match_groups(groups_of(a, own), groups_of(b, own));
  for (const gate::group_match& match : matches.matched)
    rows.push_back(row_of(match.rule, match.baseline, match.candidate));
  for (const gate::operation_group& group : matches.gone)
    rows.push_back(row_of(gate::matched_by::nothing, {group}, {}));
  for (const gate::operation_group& group : matches.added)
    rows.push_back(row_of(gate::matched_by::nothing, {}, {group}));
  return rows;
}

std::vector<compared_kernel> match_by_category(const std::vector<side_kernel>& a,
                                               const std::vector<side_kernel>& b, bool own) {
  std::map<std::string, compared_kernel> rows;
  const auto time_ns = [own](const side_kernel& kernel) {
    return own ? *kernel.exclusive_ns : kernel.total_ns;
  };
  for (const side_kernel& kernel : a) {
    compared_kernel& row = rows[kernel.name];
    row.a_name = row.category = kernel.name;
    row.a_launches += kernel.launches;
    row.a_ns += time_ns(kernel);
  }
  for (const side_kernel& kernel : b) {
    compared_kernel& row = rows[kernel.name];
    row.b_name = row.category = kernel.name;
    row.b_launches += kernel.launches;
    row.b_ns += time_ns(kernel);
  }
  std::vector<compared_kernel> list;
  for (auto& [name, row] : rows) {
    row.match =
        row.a_name.empty() || row.b_name.empty() ? gate::matched_by::nothing : gate::matched_by::category;
    list.push_back(std::move(row));
  }
  return list;
}

void compare_kernels(const side_stage& a, const side_stage& b, const std::vector<device_pair>& devices,
                     compared_stage& result) {
  for (const side_stage* side : {&a, &b}) {
    if (!side->kernels.empty()) continue;
    result.kernels_absent_reason = side->kernels_absent_reason;
    return;
  }
  const std::vector<side_kernel>& of_a = result.by_category ? a.categories : a.kernels;
  const std::vector<side_kernel>& of_b = result.by_category ? b.categories : b.kernels;
  result.is_exclusive_time = all_have_exclusive_time(of_a) && all_have_exclusive_time(of_b);
  const auto match = [&](const std::vector<side_kernel>& some_a, const std::vector<side_kernel>& some_b) {
    return result.by_category ? match_by_category(some_a, some_b, result.is_exclusive_time)
                              : match_by_name(some_a, some_b, result.is_exclusive_time);
  };
  if (devices.empty()) result.kernels = match(of_a, of_b);
  for (const device_pair& pair : devices) {
    const auto on = [&](const std::string& device, const side_stage& side) {
      return result.by_category ? rows_on(device, side, &side_device::categories, &side_stage::categories)
                                : kernels_on(device, side.kernels);
    };
    for (compared_kernel& kernel : match(on(pair.a, a), on(pair.b, b))) {
      kernel.device = pair.text();
      result.kernels.push_back(std::move(kernel));
    }
  }
  std::stable_sort(result.kernels.begin(), result.kernels.end(),
                   [](const compared_kernel& x, const compared_kernel& y) {
                     return std::abs(x.b_ns - x.a_ns) > std::abs(y.b_ns - y.a_ns);
                   });
}

void compare_operators(const side_stage& a, const side_stage& b, const std::vector<device_pair>& devices,
                       compared_stage& result) {
  result.a_operator_time = a.operator_time;
  result.b_operator_time = b.operator_time;
  std::map<std::pair<std::string, std::string>, std::size_t> places;  // by device and name
  const auto row_of_operator = [&](const std::string& device, const std::string& name) -> compared_operator& {
    const auto [place, is_new] = places.try_emplace({device, name}, result.operators.size());
    if (is_new) result.operators.push_back({name, device, std::nullopt, std::nullopt});
    return result.operators[place->second];
  };
  const auto compare_rows = [&](const std::string& device, const std::vector<side_operator>& of_a,
                                const std::vector<side_operator>& of_b) {
    for (const side_operator& one : of_a) row_of_operator(device, one.name).a = one;
    for (const side_operator& one : of_b) row_of_operator(device, one.name).b = one;
  };
  if (devices.empty()) compare_rows("", a.operators, b.operators);
  for (const device_pair& pair : devices)
    compare_rows(pair.text(), rows_on(pair.a, a, &side_device::operators, &side_stage::operators),
                 rows_on(pair.b, b, &side_device::operators, &side_stage::operators));
  const auto change = [](const compared_operator& row) {
    return std::abs((row.b ? row.b->time_ns : 0) - (row.a ? row.a->time_ns : 0));
  };
  std::stable_sort(result.operators.begin(), result.operators.end(),
                   [&](const auto& x, const auto& y) { return change(x) > change(y); });
}

/// Behind the stage's own: busy and idle time of each device.
void compare_devices(const side_stage& a, const side_stage& b, const std::vector<device_pair>& devices,
                     compared_stage& result) {
  const auto figures_on = [](const side_stage& side, const std::string& device) {
    const auto found = side.devices.find(device);
    return found == side.devices.end() ? nullptr : &found->second.figures;
  };
  for (const device_pair& pair : devices) {
    for (compared_figure& figure :
         compare_figures(device_figure_rows(), figures_on(a, pair.a), figures_on(b, pair.b),
                         "this side has no such device, or only one")) {
      figure.what.key = fmt::format("/traced/devices/{}{}", pair.text(), figure.what.key);
      figure.what.shown.label = fmt::format("{}: {}", pair.text(), figure.what.shown.label);
      result.figures.push_back(std::move(figure));
    }
  }
}

std::optional<bool> spreads_overlap(const side_stage& a, const side_stage& b) {
  if (!a.min_ns || !a.max_ns || !b.min_ns || !b.max_ns) return std::nullopt;
  return *a.min_ns <= *b.max_ns && *b.min_ns <= *a.max_ns;
}

compared_stage compare_stage(const std::string& name, const side_stage* a, const side_stage* b,
                             bool by_category) {
  compared_stage result;
  result.name = name;
  result.in_a = a != nullptr;
  result.in_b = b != nullptr;
  result.by_category = by_category;
  result.figures = compare_figures(stage_figure_rows(), a == nullptr ? nullptr : &a->figures,
                                   b == nullptr ? nullptr : &b->figures);
  if (a == nullptr || b == nullptr) {
    result.kernels_absent_reason = "only one side has this stage";
    return result;
  }
  result.spreads_overlap = spreads_overlap(*a, *b);
  const std::vector<device_pair> devices = pair_devices(*a, *b);
  result.by_device = !devices.empty();
  compare_devices(*a, *b, devices, result);
  compare_kernels(*a, *b, devices, result);
  compare_operators(*a, *b, devices, result);
  return result;
}

std::vector<std::string> labels_of(const profile_comparison& result) {
  const compared_side& a = result.a;
  const compared_side& b = result.b;
  std::vector<std::string> labels;
  if (result.is_cross_device) {
    labels.push_back(
        fmt::format("Two devices, {} and {}: differences are the machines' as much as the "
                    "programs'. No gate would compare them.",
                    a.device_name, b.device_name));
  }
  if (result.is_cross_model) {
    labels.push_back(fmt::format(
        "Two models, {} and {}: kernels are set side by side by category, not by name.", a.model, b.model));
  } else if (a.config != b.config) {
    labels.push_back(fmt::format("Two configurations, {} and {}: they do other work.", a.config, b.config));
  }
  const auto fact = [](const compared_side& side, const char* name) {
    const auto found = side.facts.find(name);
    return found == side.facts.end() ? std::string() : found->second;
  };
  const std::string tool_a = fact(a, "timeline.tool");
  const std::string tool_b = fact(b, "timeline.tool");
  if (!tool_a.empty() && !tool_b.empty() && tool_a != tool_b) {
    labels.push_back(fmt::format(
        "A was traced by {}, B by {}: kernels are alike, gaps and host times are not.", tool_a, tool_b));
  }
  for (const compared_side* side : {&a, &b}) {
    if (fact(*side, "git.dirty") == "true") {
      labels.push_back(fmt::format("{} was built from a changed checkout: it is not what its commit says.",
                                   side == &a ? "A" : "B"));
    }
  }
  for (const compared_side* side : {&a, &b})
    for (const std::string& problem : side->problems)
      labels.push_back(fmt::format("The trace of {} is not whole: {}.", side == &a ? "A" : "B", problem));
  return labels;
}

}  // namespace

profile_comparison compare_sides(const compared_side& a, const compared_side& b) {
  profile_comparison result;
  result.a = a;
  result.b = b;
  result.is_cross_device = a.device_name != b.device_name;
  result.is_cross_model = a.model != b.model;
  compare_facts(a, b, result);
  result.labels = labels_of(result);
  result.figures = compare_figures(run_figure_rows(), &a.figures, &b.figures);
  for (const side_stage& stage : a.stages)
    result.stages.push_back(
        compare_stage(stage.name, &stage, find_stage(b, stage.name), result.is_cross_model));
  for (const side_stage& stage : b.stages)
    if (find_stage(a, stage.name) == nullptr)
      result.stages.push_back(compare_stage(stage.name, nullptr, &stage, result.is_cross_model));
  return result;
}

}  // namespace profgate::compare
