#include "odd_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>

#include "gate/attribution.h"

namespace profgate::gate {
namespace {

constexpr double least_odd_share = 0.8;   ///< of the difference that the odd layers make up
constexpr std::size_t most_odd_part = 4;  ///< of the layers at most one in so many; one always may be
constexpr double least_odd_distance = 4;  ///< from the others' median, in their largest distance from it
constexpr double least_odd_growth = 0.1;  ///< of what the odd layers cost before

/// "model.layers.*" of "model.layers.*.mlp"; empty where the name is of no layer.
std::string_view list_in(std::string_view range) {
  for (std::size_t dot = range.find('.'); dot != std::string_view::npos; dot = range.find('.', dot + 1)) {
    const std::string_view rest = range.substr(dot + 1);
    if (dot > 0 && rest.substr(0, rest.find('.')) == "*") return range.substr(0, dot + 2);
  }
  return {};
}

/// The one list that all groups are in, with all of their launches; else empty.
std::string_view list_of_all(const std::vector<operation_group>& before,
                             const std::vector<operation_group>& after) {
  const std::string_view list = layer_list_of(after.empty() ? before.front() : after.front());
  for (const std::vector<operation_group>* side : {&before, &after}) {
    for (const operation_group& group : *side) {
      const std::int64_t known =
          std::accumulate(group.layers.begin(), group.layers.end(), std::int64_t{0},
                          [](std::int64_t sum, const auto& layer) { return sum + layer.second.launches; });
      if (known != group.launches || layer_list_of(group) != list) return {};
    }
  }
  return list;
}

/// One layer in both arms, as means.
struct layer_change {
  std::int32_t number = 0;
  double was_launches = 0;
  double is_launches = 0;
  double was_ns = 0;
  double is_ns = 0;
  double difference_ns() const { return is_ns - was_ns; }
  bool is_empty() const { return was_launches == 0 && is_launches == 0; }
};

layer_change sum_of(const std::vector<layer_change>& layers) {
  layer_change sum;
  for (const layer_change& one : layers) {
    sum.was_launches += one.was_launches;
    sum.is_launches += one.is_launches;
    sum.was_ns += one.was_ns;
    sum.is_ns += one.is_ns;
  }
  return sum;
}

/// All that the list has in either arm, whether or not these groups are in them.
std::vector<layer_change> layers_of(std::string_view list, const std::vector<operation_group>& before,
                                    const std::vector<operation_group>& after, const arm_sums& baseline,
                                    const arm_sums& candidate) {
  std::map<std::int32_t, layer_change> layers;
  for (const arm_sums* arm : {&baseline, &candidate}) {
    const auto known = arm->layers_by_list.find(list);
    if (known == arm->layers_by_list.end()) continue;
    for (const std::int32_t number : known->second) layers[number].number = number;
  }
  for (const operation_group& group : before) {
    for (const auto& [number, cost] : group.layers) {
      layers[number].was_launches += baseline.mean(cost.launches);
      layers[number].was_ns += baseline.mean(cost.cost_ns);
    }
  }
  for (const operation_group& group : after) {
    for (const auto& [number, cost] : group.layers) {
      layers[number].is_launches += candidate.mean(cost.launches);
      layers[number].is_ns += candidate.mean(cost.cost_ns);
    }
  }
  std::vector<layer_change> all;
  for (const auto& [number, layer] : layers) all.push_back(layer);
  return all;
}

/// Whether differences, largest first, fall into `odd_count` and others that hardly differ from each other.
bool are_apart(const std::vector<double>& differences, std::size_t odd_count) {
  const std::vector<double> others(differences.begin() + static_cast<std::ptrdiff_t>(odd_count),
                                   differences.end());
  const double median = (others[others.size() / 2] + others[(others.size() - 1) / 2]) / 2;
  const double spread = std::max(others.front() - median, median - others.back());
  return differences[odd_count - 1] - median >= least_odd_distance * spread;
}

/// How many, from the front, make up the difference; 0: all have changed alike, or at random. `layers` stand
/// in the order of their differences, those first that point where the sum does.
std::size_t count_odd(const std::vector<layer_change>& layers, double sign) {
  std::vector<double> differences;
  for (const layer_change& one : layers) differences.push_back(sign * one.difference_ns());
  const double whole = std::accumulate(differences.begin(), differences.end(), 0.0);
  const std::size_t most = std::max<std::size_t>(1, layers.size() / most_odd_part);
  double odd_ns = 0;
  double odd_was_ns = 0;
  for (std::size_t count = 1; count <= most; ++count) {
    odd_ns += differences[count - 1];
    odd_was_ns += layers[count - 1].was_ns;
    if (odd_ns < least_odd_share * whole || !are_apart(differences, count)) continue;
    return odd_ns > 0 && odd_ns >= least_odd_growth * odd_was_ns ? count : 0;
  }
  return 0;
}

/// "2", "2, 5", "4–7, 9": in their order.
std::string numbers_text(std::vector<layer_change> layers) {
  std::sort(layers.begin(), layers.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  std::string text;
  for (std::size_t first = 0; first < layers.size();) {
    std::size_t last = first;
    while (last + 1 < layers.size() && layers[last + 1].number == layers[last].number + 1) ++last;
    if (last == first + 1) last = first;  // two are as short one by one
    text += fmt::format("{}{}", text.empty() ? "" : ", ", layers[first].number);
    if (last > first) text += fmt::format("–{}", layers[last].number);
    first = last + 1;
  }
  return text;
}

}  // namespace

std::string_view layer_list_of(const operation_group& group) {
  if (group.layers.empty()) return {};
  if (group.category == "host") {
    if (const std::string_view list = list_in(group.name); !list.empty()) return list;
  }
  std::string_view path = group.path;
  while (!path.empty()) {
    const std::size_t slash = path.rfind('/');
    const std::size_t start = slash == std::string_view::npos ? 0 : slash + 1;
    if (const std::string_view list = list_in(path.substr(start)); !list.empty()) return list;
    path = path.substr(0, start == 0 ? 0 : slash);
  }
  return {};
}

std::string odd_layers_text(const std::vector<operation_group>& before,
                            const std::vector<operation_group>& after, const arm_sums& baseline,
                            const arm_sums& candidate) {
  const std::string_view list = list_of_all(before, after);
  if (list.empty()) return "";
  std::vector<layer_change> layers = layers_of(list, before, after, baseline, candidate);
  if (layers.size() < 2) return "";
  const double sign = sum_of(layers).difference_ns() < 0 ? -1 : 1;
  std::stable_sort(layers.begin(), layers.end(), [&](const layer_change& a, const layer_change& b) {
    return sign * a.difference_ns() > sign * b.difference_ns();
  });
  const std::size_t count = count_odd(layers, sign);
  if (count == 0) return "";
  const auto others = layers.begin() + static_cast<std::ptrdiff_t>(count);
  const std::vector<layer_change> odd(layers.begin(), others);
  const std::string which =
      fmt::format("{}{} of {}", list.substr(0, list.size() - 1), numbers_text(odd), layers.size());
  if (std::all_of(others, layers.end(), [](const layer_change& one) { return one.is_empty(); }))
    return "only in " + which;
  const layer_change sum = sum_of(odd);
  const bool is_host = (after.empty() ? before : after).front().category == "host";
  // Stretches of a CPU's ranges are nothing that one counts.
  if (is_host || sum.was_launches == 0 || sum.was_launches != sum.is_launches) {
    return fmt::format("{}: {} in all", which, times_text(sum.was_ns, sum.is_ns));
  }
  return fmt::format("{}: {} a launch", which,
                     times_text(sum.was_ns / sum.was_launches, sum.is_ns / sum.is_launches));
}

}  // namespace profgate::gate
