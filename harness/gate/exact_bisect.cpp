#include "gate/exact_bisect.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

namespace profgate::gate {
namespace {

bool is_same_change(const stage_change& a, const stage_change& b) {
  const auto parts = [](const stage_change& of) {
    return std::tie(of.stage, of.change.kind, of.change.subject, of.change.path, of.change.baseline,
                    of.change.candidate);
  };
  return parts(a) == parts(b);
}

bool shows(const exact_difference& difference, const stage_change& wanted) {
  return std::any_of(difference.changes.begin(), difference.changes.end(),
                     [&](const stage_change& one) { return is_same_change(one, wanted); });
}

bool is_in_doubt(const exact_difference& difference, const std::string& stage) {
  return std::find(difference.stages_in_doubt.begin(), difference.stages_in_doubt.end(), stage) !=
         difference.stages_in_doubt.end();
}

}  // namespace

exact_difference exact_difference_of(const stage_structures& before, const stage_structures& after) {
  std::set<std::string> stages;
  for (const stage_structures* structures : {&before, &after}) {
    for (const auto& [stage, structure] : *structures) stages.insert(stage);
  }
  exact_difference difference;
  for (const std::string& stage : stages) {
    const exact_comparison compared = compare_stage_exactly(before, after, stage, {});
    for (const exact_change& change : compared.changes) difference.changes.push_back({stage, change});
    for (const std::string& reason : compared.not_compared)
      difference.not_compared.push_back(stage + ": " + reason);
    if (!compared.not_compared.empty()) difference.stages_in_doubt.push_back(stage);
  }
  return difference;
}

like_end which_end(const exact_difference& ends, const exact_difference& commit) {
  bool shows_all = true;
  for (const stage_change& wanted : ends.changes) {
    if (shows(commit, wanted)) continue;
    if (is_in_doubt(commit, wanted.stage) && !is_in_doubt(ends, wanted.stage)) return like_end::unknown;
    shows_all = false;
  }
  return shows_all ? like_end::bad : like_end::good;
}

std::vector<stage_change> shown_changes(const exact_difference& ends, const exact_difference& commit) {
  std::vector<stage_change> shown;
  std::copy_if(ends.changes.begin(), ends.changes.end(), std::back_inserter(shown),
               [&](const stage_change& one) { return shows(commit, one); });
  return shown;
}

std::string to_text(const stage_change& one) {
  return one.stage + ": " + to_text(one.change);
}

}  // namespace profgate::gate
