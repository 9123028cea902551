#include "region_tree.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>

#include "core/hash_mix.h"

namespace profgate::analysis {
namespace {

constexpr std::size_t no_parent = std::numeric_limits<std::size_t>::max();

void operator+=(region_times& sum, const region_times& more) {
  sum.instances += more.instances;
  sum.total_ns += more.total_ns;
  sum.self_ns += more.self_ns;
  sum.projected_ns += more.projected_ns;
  sum.projected_instances += more.projected_instances;
  sum.operations += more.operations;
}

}  // namespace

bool region_tree::kernel_key::operator==(const kernel_key& other) const {
  return node == other.node && process_id == other.process_id && device == other.device &&
         name.data() == other.name.data();
}

std::size_t region_tree::kernel_key_hash::operator()(const kernel_key& key) const {
  return core::hash_mix()
      .add(std::hash<const void*>()(key.name.data()))
      .add(key.node)
      .add(key.process_id)
      .add(static_cast<std::size_t>(key.device))
      .value();
}

std::size_t region_tree::find_or_add(std::size_t parent, std::string_view name, bool is_root) {
  const auto [found, is_new] = m_by_name.try_emplace({parent, name}, m_nodes.size());
  if (is_new) {
    m_nodes.push_back({parent, name, is_root});
    if (!is_root) m_nodes[parent].children.push_back(found->second);
  }
  return found->second;
}

std::size_t region_tree::root(std::string_view domain) {
  return find_or_add(no_parent, domain, true);
}

std::size_t region_tree::child(std::size_t parent, std::string_view name) {
  if (parent != m_last_parent || name.data() != m_last_name) {
    m_last_child = find_or_add(parent, name, false);
    m_last_parent = parent;
    m_last_name = name.data();
  }
  return m_last_child;
}

void region_tree::add(std::size_t index, std::uint32_t process_id, const region_times& times) {
  m_nodes[index].times[process_id] += times;
}

void region_tree::add_kernel(std::size_t index, std::uint32_t process_id,
                             const core::kernel_execution& kernel, std::uint64_t instance) {
  kernel_sum& sum = m_kernels[{index, process_id, kernel.device, kernel.shape->name}];
  sum.total_ns += kernel.end_ns - kernel.start_ns;
  sum.calls += 1;
  if (sum.last_instance != instance) sum.instances += 1;
  sum.last_instance = instance;
}

region region_tree::make_region(std::size_t index, const std::string& capture) const {
  region result;
  result.capture = capture;
  for (std::size_t n = index; n != no_parent; n = m_nodes[n].parent) {
    if (m_nodes[n].is_root) {
      result.domain = m_nodes[n].name;
    } else {
      result.path.emplace_back(m_nodes[n].name);
    }
  }
  std::reverse(result.path.begin(), result.path.end());
  for (const auto& [process_id, times] : m_nodes[index].times) {
    result.times += times;
    result.processes.push_back({process_id, times});
  }
  return result;
}

std::int64_t region_tree::weight_ns(std::size_t index) const {
  std::int64_t sum_ns = 0;
  for (const auto& [process_id, times] : m_nodes[index].times) {
    sum_ns += std::max(times.total_ns, times.projected_ns);
  }
  return sum_ns;
}

std::vector<bool> region_tree::largest(std::size_t most) const {
  // What is shown stands under its parents: each weighs at least what is inside of it. Parents come before
  // their children, so they do among equals too.
  std::vector<std::int64_t> weights_ns(m_nodes.size());
  std::vector<std::size_t> order;
  for (std::size_t n = m_nodes.size(); n-- > 0;) {
    if (m_nodes[n].is_root) continue;
    weights_ns[n] = std::max(weights_ns[n], weight_ns(n));
    weights_ns[m_nodes[n].parent] = std::max(weights_ns[m_nodes[n].parent], weights_ns[n]);
    order.push_back(n);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(-weights_ns[a], a) < std::pair(-weights_ns[b], b);
  });
  std::vector<bool> is_taken(m_nodes.size(), false);
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) is_taken[order[i]] = true;
  return is_taken;
}

std::vector<std::size_t> region_tree::smallest_first(std::vector<std::size_t> siblings) const {
  std::sort(siblings.begin(), siblings.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(weight_ns(a), m_nodes[b].name) < std::pair(weight_ns(b), m_nodes[a].name);
  });
  return siblings;
}

region_list region_tree::take(const std::string& capture, std::size_t most) const {
  region_list result;
  const std::vector<bool> is_taken = largest(most);
  std::map<std::size_t, std::size_t> places;  // node → place in the result
  std::vector<std::size_t> waiting;  // nodes, the next one last: ranges may nest deeper than a call stack
  for (std::size_t n = m_nodes.size(); n-- > 0;) {
    if (m_nodes[n].is_root) waiting.push_back(n);
  }
  while (!waiting.empty()) {
    const std::size_t index = waiting.back();
    waiting.pop_back();
    if (!m_nodes[index].is_root && !is_taken[index]) result.omitted += 1;
    if (is_taken[index]) {
      places[index] = result.regions.size();
      result.regions.push_back(make_region(index, capture));
    }
    const std::vector<std::size_t> children = smallest_first(m_nodes[index].children);
    waiting.insert(waiting.end(), children.begin(), children.end());
  }
  // The same kernel's name may lie in two places where a timeline has several files.
  std::map<std::tuple<std::size_t, std::uint32_t, int, std::string_view>, kernel_sum> kernels;
  for (const auto& [key, sum] : m_kernels) {
    const auto place = places.find(key.node);
    if (place == places.end() || !m_filter.takes(key.name)) continue;
    kernel_sum& total = kernels[{place->second, key.process_id, key.device, key.name}];
    total.total_ns += sum.total_ns;
    total.calls += sum.calls;
    total.instances += sum.instances;
  }
  for (const auto& [key, sum] : kernels) {
    const auto& [place, process_id, device, name] = key;
    region& owner = result.regions[place];
    owner.kernels.push_back({std::string(name), process_id, device, sum.total_ns, sum.calls, sum.instances});
    owner.kernel_ns += sum.total_ns;
    owner.kernel_calls += sum.calls;
  }
  for (region& owner : result.regions) {
    std::stable_sort(owner.kernels.begin(), owner.kernels.end(),
                     [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
  }
  return result;
}

}  // namespace profgate::analysis
