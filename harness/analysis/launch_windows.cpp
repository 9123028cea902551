#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "analysis/kernel_selection.h"

namespace profgate::analysis {
namespace {

constexpr std::size_t not_wanted = static_cast<std::size_t>(-1);

/// One configuration that selected groups have, and how many of its launches a window shall hold.
struct wanted_configuration {
  std::vector<double> stage_ns{};  ///< of its groups, by stage
  std::int64_t groups = 0;         ///< operators that share it: each wants its launches
  std::int64_t usable = 0;         ///< launches, the first left out where there are more
  std::int64_t needed = 0;
};

/// The stage's launches that ncu's filter by name lets through.
class matched_launches {
 public:
  matched_launches(const kernel_selection& selection, const launch_order& order) {
    std::set<std::string> names;
    std::map<launch_configuration, std::size_t> wanted;
    const std::vector<std::size_t>& stages = selection.stage_of_group;
    if (!stages.empty()) m_stage_count = 1 + *std::max_element(stages.begin(), stages.end());
    for (std::size_t i = 0; i < selection.groups.size(); ++i) {
      const core::kernel_group& group = selection.groups[i];
      names.insert(group.kernel_name);
      const launch_configuration configuration{group.kernel_name, group.grid, group.block};
      const auto place = wanted.try_emplace(configuration, m_configurations.size()).first;
      if (place->second == m_configurations.size()) m_configurations.emplace_back();
      wanted_configuration& configured = m_configurations[place->second];
      configured.stage_ns.resize(m_stage_count);
      configured.stage_ns[stages.empty() ? 0 : stages[i]] += static_cast<double>(group.cost_ns());
      configured.groups += 1;
    }
    std::vector<std::int64_t> counts(m_configurations.size());
    for (const std::uint32_t launch : order.launches) {
      const launch_configuration& configuration = order.configurations[launch];
      if (!names.contains(configuration.kernel_name)) continue;
      const auto found = wanted.find(configuration);
      m_launches.push_back(found == wanted.end() ? not_wanted : found->second);
      if (found != wanted.end()) counts[found->second] += 1;
    }
    leave_out_first_launches(counts);
  }

  std::int64_t size() const { return static_cast<std::int64_t>(m_launches.size()); }
  std::vector<wanted_configuration>& configurations() { return m_configurations; }

  /// The shortest window with all that is needed; of several the one nearest to `target`.
  std::optional<launch_window> shortest(double target) const {
    std::optional<launch_window> best;
    std::vector<std::int64_t> inside(m_configurations.size());
    std::int64_t missing = 0;
    for (const wanted_configuration& configuration : m_configurations)
      missing += configuration.needed > 0 ? 1 : 0;
    if (missing == 0) return best;
    std::int64_t end = 0;
    for (std::int64_t start = 0; start < size(); ++start) {
      while (missing > 0 && end < size()) {
        const std::size_t configuration = m_launches[static_cast<std::size_t>(end++)];
        if (configuration != not_wanted && ++inside[configuration] == m_configurations[configuration].needed)
          missing -= 1;
      }
      if (missing > 0) break;
      const launch_window window{start, end - start};
      if (!best || window.count < best->count ||
          (window.count == best->count && distance(window, target) < distance(*best, target))) {
        best = window;
      }
      const std::size_t leaving = m_launches[static_cast<std::size_t>(start)];
      if (leaving != not_wanted && inside[leaving]-- == m_configurations[leaving].needed) missing += 1;
    }
    return best;
  }

  /// Of all windows of that many launches the one whose kernels make up the most time; of several that are as
  /// good the one nearest to `target`. Kernels of two stages may meet only where one ends and the next
  /// begins: half of each is worth more than all of one.
  std::optional<launch_window> richest(std::int64_t most, double target) const {
    std::optional<launch_window> best;
    double best_worth = 0;
    std::vector<double> inside_ns(m_stage_count);
    std::vector<std::int64_t> inside(m_configurations.size());
    const auto add = [&](std::size_t configuration, double sign) {
      for (std::size_t stage = 0; stage < m_stage_count; ++stage)
        inside_ns[stage] += sign * m_configurations[configuration].stage_ns[stage];
    };
    for (std::int64_t end = 0; end < size(); ++end) {
      const std::size_t entering = m_launches[static_cast<std::size_t>(end)];
      if (entering != not_wanted && inside[entering]++ == 0) add(entering, 1);
      const std::int64_t start = std::max<std::int64_t>(0, end + 1 - most);
      if (start > 0) {
        const std::size_t leaving = m_launches[static_cast<std::size_t>(start - 1)];
        if (leaving != not_wanted && --inside[leaving] == 0) add(leaving, -1);
      }
      double worth = 0;
      for (const double stage_ns : inside_ns) worth += std::sqrt(std::max(stage_ns, 0.0));
      const launch_window window{start, end + 1 - start};
      const bool is_better = worth > best_worth || (best && worth == best_worth &&
                                                    distance(window, target) < distance(*best, target));
      if (worth == 0 || !is_better) continue;
      best = window;
      best_worth = worth;
    }
    return best;
  }

  /// What the window holds is worth nothing in another.
  void take_out(const launch_window& window) {
    for (std::int64_t at = window.skip; at < window.skip + window.count; ++at) {
      const std::size_t configuration = m_launches[static_cast<std::size_t>(at)];
      if (configuration != not_wanted) m_configurations[configuration].stage_ns.assign(m_stage_count, 0);
    }
  }

  /// Of the configurations that no window holds yet.
  double wanted_ns() const {
    double sum = 0;
    for (const wanted_configuration& configuration : m_configurations)
      for (const double stage_ns : configuration.stage_ns) sum += stage_ns;
    return sum;
  }

 private:
  static double distance(const launch_window& window, double target) {
    return std::abs(static_cast<double>(window.skip) + static_cast<double>(window.count) / 2 - target);
  }

  void leave_out_first_launches(const std::vector<std::int64_t>& counts) {
    std::vector<bool> was_seen(m_configurations.size());
    for (std::size_t& launch : m_launches) {
      if (launch == not_wanted || was_seen[launch]) continue;
      was_seen[launch] = true;
      if (counts[launch] > 1) launch = not_wanted;
    }
    for (std::size_t configuration = 0; configuration < m_configurations.size(); ++configuration) {
      m_configurations[configuration].usable =
          counts[configuration] > 1 ? counts[configuration] - 1 : counts[configuration];
    }
  }

  std::vector<wanted_configuration> m_configurations;
  std::vector<std::size_t> m_launches;
  std::size_t m_stage_count = 1;
};

/// One launch less of the kernel that runs most rarely, which stretches a window most. False: each is wanted
/// once for each of its operators.
bool want_less(std::vector<wanted_configuration>& configurations) {
  wanted_configuration* rarest = nullptr;
  for (wanted_configuration& configuration : configurations) {
    const bool has_spare = configuration.needed > std::min(configuration.groups, configuration.usable);
    if (has_spare && (rarest == nullptr || configuration.usable < rarest->usable)) rarest = &configuration;
  }
  if (rarest == nullptr) return false;
  rarest->needed -= 1;
  return true;
}

/// All of them in one; nothing where they lie too far apart.
std::optional<launch_window> window_of_all(matched_launches& matched, const plan_limits& limits,
                                           double target) {
  for (wanted_configuration& configuration : matched.configurations()) {
    configuration.needed = std::min(
        std::max<std::int64_t>(1, limits.launches_per_kernel) * configuration.groups, configuration.usable);
  }
  do {
    const std::optional<launch_window> window = matched.shortest(target);
    if (window && window->count <= limits.launches) return window;
  } while (want_less(matched.configurations()));
  return std::nullopt;
}

}  // namespace

std::vector<launch_window> plan_windows(const kernel_selection& selection, const launch_order& order,
                                        const plan_limits& limits) {
  matched_launches matched(selection, order);
  const double target = static_cast<double>(matched.size()) / 2;
  if (const std::optional<launch_window> all = window_of_all(matched, limits, target)) return {*all};
  constexpr double small_rest_ratio = 0.02;  // another start of the program costs more than it tells
  const double all_ns = matched.wanted_ns();
  const std::int64_t most = std::max<std::int64_t>(1, limits.launches / limits.windows);
  std::vector<launch_window> windows;
  while (static_cast<std::int64_t>(windows.size()) < limits.windows) {
    if (!windows.empty() && matched.wanted_ns() < small_rest_ratio * all_ns) break;
    const std::optional<launch_window> window = matched.richest(most, target);
    if (!window) break;
    windows.push_back(*window);
    matched.take_out(*window);
  }
  return windows;
}

}  // namespace profgate::analysis
