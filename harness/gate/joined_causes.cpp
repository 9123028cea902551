#include "joined_causes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "analysis/stage_operations.h"
#include "core/kernel_names.h"
#include "core/units.h"

namespace profgate::gate {
namespace {

constexpr double far_longer_ratio = 1.5;

/// On the device, with nothing known of it but its time.
bool only_lasts_otherwise(const cause& one) {
  return one.kind == cause_kind::duration && one.changes.empty() && one.category != "host" &&
         !analysis::is_copy_name(one.name);
}

void move_to(cause& to, double share, const cause& from) {
  to.delta_ns += share * from.delta_ns;
  to.traced_delta_ns += share * from.traced_delta_ns;
}

const std::string& operator_or_name(const cause& one) {
  return one.path.empty() ? one.name : one.path;
}

std::string operators_of(const std::vector<const cause*>& causes) {
  std::vector<std::string> names;
  for (const cause* one : causes) {
    const std::string& name = operator_or_name(*one);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

void join_displaced(attribution& result) {
  const double difference_ns = result.explained_difference_ns();
  const auto points_there = [&](const cause& one) { return (one.delta_ns > 0) == (difference_ns > 0); };
  std::vector<cause*> changed;
  std::vector<const cause*> displaced;
  double changed_ns = 0;
  double displaced_ns = 0;
  for (cause& one : result.causes) {
    const bool is_exact = one.kind != cause_kind::idle && !one.changes.empty() && one.category != "host";
    if (is_exact && points_there(one) && std::abs(one.delta_ns) >= trifle_ratio * std::abs(difference_ns)) {
      changed.push_back(&one);
      changed_ns += one.delta_ns;
    } else if (only_lasts_otherwise(one) && !points_there(one)) {
      displaced.push_back(&one);
      displaced_ns += one.delta_ns;
    }
  }
  if (changed.empty() || displaced.empty() || std::abs(displaced_ns) >= std::abs(changed_ns)) return;
  for (cause* one : changed) {
    const double share = one->delta_ns / changed_ns;
    for (const cause* other : displaced) move_to(*one, share, *other);
  }
  const bool is_worth_words = std::abs(displaced_ns) > 0.03 * std::abs(changed_ns);
  if (is_worth_words && changed.size() == 1) {
    std::sort(displaced.begin(), displaced.end(),
              [](const cause* a, const cause* b) { return std::abs(a->delta_ns) > std::abs(b->delta_ns); });
    displaced.resize(std::min<std::size_t>(displaced.size(), 3));
    changed.front()->evidence.push_back(fmt::format(
        "less the {} by which {} cost {} beside it", core::format_duration(std::abs(displaced_ns)),
        operators_of(displaced), displaced_ns < 0 ? "less" : "more"));
  }
  std::erase_if(result.causes,
                [&](const cause& one) { return only_lasts_otherwise(one) && !points_there(one); });
}

void join_first_kernel(const std::string& path, const std::string& name, attribution& result) {
  const double least_ns = trifle_ratio * std::abs(result.explained_difference_ns());
  cause* waits = nullptr;
  const cause* first = nullptr;
  for (cause& one : result.causes) {
    if (one.kind == cause_kind::idle && one.delta_ns >= least_ns &&
        (waits == nullptr || one.delta_ns > waits->delta_ns))
      waits = &one;
    const bool is_far_longer = one.candidate_each_ns > far_longer_ratio * one.baseline_each_ns;
    if (only_lasts_otherwise(one) && one.path == path && one.name == name && is_far_longer) first = &one;
  }
  if (waits == nullptr || first == nullptr || first->traced_delta_ns > 2 * waits->traced_delta_ns) return;
  move_to(*waits, 1, *first);
  waits->evidence.push_back(fmt::format(
      "with it waits the first kernel, {}: {} → {} a launch",
      first->path.empty() ? core::short_kernel_name(first->name) : "in " + first->path,
      core::format_duration(first->baseline_each_ns), core::format_duration(first->candidate_each_ns)));
  result.causes.erase(result.causes.begin() + (first - result.causes.data()));
}

}  // namespace

void join_causes(const std::string& first_path, const std::string& first_name, attribution& result) {
  join_first_kernel(first_path, first_name, result);
  join_displaced(result);
}

}  // namespace profgate::gate
