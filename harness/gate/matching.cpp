#include "gate/matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/kernel_names.h"

namespace profgate::gate {
namespace {

using key_of = std::function<std::string(const operation_group&)>;

struct both_sides {
  std::vector<operation_group> baseline;
  std::vector<operation_group> candidate;
};

std::string joined(const std::string& a, const std::string& b) {
  return a + '\n' + b;
}

/// What was a matrix times a vector may become a matrix product of a library, under the same operator.
std::string kind_of_work(const std::string& category) {
  return category == "gemv" ? "gemm" : category;
}

class matcher {
 public:
  matcher(std::vector<operation_group> baseline, std::vector<operation_group> candidate)
      : m_left{std::move(baseline), std::move(candidate)} {}

  group_matches run() {
    const auto normalised = [this](const operation_group& group) { return cached_normalised(group.name); };
    match_all(matched_by::exact_name, [](const operation_group& g) { return joined(g.name, g.path); });
    match_all(matched_by::normalised_name,
              [&](const operation_group& g) { return joined(normalised(g), g.path); });
    match_all(matched_by::normalised_name, normalised);
    match_in_order();
    m_result.gone = std::move(m_left.baseline);
    m_result.added = std::move(m_left.candidate);
    return std::move(m_result);
  }

 private:
  std::map<std::string, both_sides> left_by(const key_of& key) {
    std::map<std::string, both_sides> sides;
    for (operation_group& group : m_left.baseline) sides[key(group)].baseline.push_back(std::move(group));
    for (operation_group& group : m_left.candidate) sides[key(group)].candidate.push_back(std::move(group));
    m_left = {};
    return sides;
  }

  void keep(std::vector<operation_group>& from, std::size_t first, std::vector<operation_group>& left) {
    for (std::size_t i = first; i < from.size(); ++i) left.push_back(std::move(from[i]));
  }

  /// All groups of one key are one match, where both arms have some.
  void match_all(matched_by rule, const key_of& key) {
    for (auto& [text, sides] : left_by(key)) {
      if (sides.baseline.empty() || sides.candidate.empty()) {
        keep(sides.baseline, 0, m_left.baseline);
        keep(sides.candidate, 0, m_left.candidate);
      } else {
        m_result.matched.push_back({rule, std::move(sides.baseline), std::move(sides.candidate)});
      }
    }
  }

  /// The first of one arm with the first of the other, and so on. Ranges of the host are all of one category:
  /// of those only such that open as often.
  void match_in_order() {
    match_in_order([](const operation_group& g) {
      const std::string openings =
          g.category == "host" ? fmt::format("\n{:.0f}", g.launches_each) : std::string();
      return joined(g.path, kind_of_work(g.category)) + openings;
    });
  }

  void match_in_order(const key_of& key) {
    const auto earlier = [](const operation_group& a, const operation_group& b) {
      return a.first_offset_ns < b.first_offset_ns;
    };
    for (auto& [text, sides] : left_by(key)) {
      std::stable_sort(sides.baseline.begin(), sides.baseline.end(), earlier);
      std::stable_sort(sides.candidate.begin(), sides.candidate.end(), earlier);
      const std::size_t pairs = std::min(sides.baseline.size(), sides.candidate.size());
      for (std::size_t i = 0; i < pairs; ++i) {
        m_result.matched.push_back(
            {matched_by::launch_order, {std::move(sides.baseline[i])}, {std::move(sides.candidate[i])}});
      }
      keep(sides.baseline, pairs, m_left.baseline);
      keep(sides.candidate, pairs, m_left.candidate);
    }
  }

  const std::string& cached_normalised(const std::string& name) {
    const auto [found, is_new] = m_normalised.try_emplace(name);
    if (is_new) found->second = core::normalise_kernel_name(name);
    return found->second;
  }

  both_sides m_left;
  group_matches m_result;
  std::map<std::string, std::string> m_normalised;
};

}  // namespace

group_matches match_groups(std::vector<operation_group> baseline, std::vector<operation_group> candidate) {
  return matcher(std::move(baseline), std::move(candidate)).run();
}

}  // namespace profgate::gate
