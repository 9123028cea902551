#include "compare_operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "gate/matching.h"

namespace profgate::compare {
namespace {

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

}  // namespace

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
  const auto change = [&](const compared_kernel& row) {
    return std::abs(row.b_ns / result.b_unit.trace - row.a_ns / result.a_unit.trace);
  };
  std::stable_sort(result.kernels.begin(), result.kernels.end(),
                   [&](const auto& x, const auto& y) { return change(x) > change(y); });
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
  const auto change = [&](const compared_operator& row) {
    return std::abs((row.b ? row.b->time_ns / result.b_unit.trace : 0) -
                    (row.a ? row.a->time_ns / result.a_unit.trace : 0));
  };
  std::stable_sort(result.operators.begin(), result.operators.end(),
                   [&](const auto& x, const auto& y) { return change(x) > change(y); });
}

}  // namespace profgate::compare
