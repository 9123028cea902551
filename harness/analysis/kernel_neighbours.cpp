#include "kernel_neighbours.h"

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "core/interrupt.h"
#include "start_order.h"

namespace profgate::analysis {
namespace {

/// About what it takes to launch a kernel and to fill and drain the device.
constexpr std::int64_t short_kernel_ns = 10'000;
/// A host that launches as fast as it can, in Python as well, takes tens of microseconds between launches:
/// one kernel saves these, too. What lies further apart waits for something else.
constexpr std::int64_t longest_gap_ns = 100'000;
constexpr std::int64_t fewest_times = 8;
constexpr std::size_t most_listed = 5;

struct launched_kernel {
  std::string_view name{};
  std::string_view op{};
  std::int64_t own_ns = 0;  ///< without what overlaps the kernel before it
  std::int64_t gap_ns = 0;  ///< to the kernel before it
};

/// Two or three names; the third may be empty.
using chain = std::array<std::string_view, 3>;

struct part_sums {
  std::int64_t times = 0;
  std::int64_t saves_at_most_ns = 0;
};

/// By the kernel's place in its chain and its operator's text, told from others by where it lies.
struct part_before {
  using place = std::pair<std::size_t, std::string_view>;
  bool operator()(const place& a, const place& b) const {
    if (a.first != b.first) return a.first < b.first;
    return std::less<const char*>()(a.second.data(), b.second.data());
  }
};
using sums_by_part = std::map<part_before::place, part_sums, part_before>;

struct chain_sums {
  std::int64_t times = 0;
  std::int64_t together_ns = 0;
  std::int64_t saves_at_most_ns = 0;
  sums_by_part parts{};
  const void* last_walk = nullptr;  ///< where it was counted last, and up to which kernel: none counts twice
  std::size_t last_end = 0;
};

/// A timeline holds each name once, so that its address tells it from others; that is what is hashed.
struct chain_hash {
  std::size_t operator()(const chain& names) const {
    std::size_t hash = 0;
    for (const std::string_view name : names) hash = hash * 1'000'003 + std::hash<const void*>{}(name.data());
    return hash;
  }
};
struct chain_equal {
  bool operator()(const chain& a, const chain& b) const {
    return a[0].data() == b[0].data() && a[1].data() == b[1].data() && a[2].data() == b[2].data();
  }
};
using sums_by_chain = std::unordered_map<chain, chain_sums, chain_hash, chain_equal>;

/// The kernels of one stream in one occurrence of a stage, in the order of their starts.
class stream_walk {
 public:
  void add(const core::kernel_execution& kernel, std::string_view op, sums_by_chain& sums) {
    launched_kernel next;
    next.name = kernel.shape->name;
    next.op = op;
    next.own_ns = std::max<std::int64_t>(0, kernel.end_ns - std::max(kernel.start_ns, m_end_ns));
    next.gap_ns = std::max<std::int64_t>(0, kernel.start_ns - m_end_ns);
    const bool is_short = kernel.end_ns - kernel.start_ns <= short_kernel_ns;
    const bool follows = m_count > 0 && next.gap_ns <= longest_gap_ns;
    m_end_ns = std::max(m_end_ns, kernel.end_ns);
    ++m_position;
    if (!is_short || !follows) m_count = 0;
    if (!is_short) return;
    if (m_count > 0) count({m_last[1], next}, sums);
    if (m_count > 1) count({m_last[0], m_last[1], next}, sums);
    m_last = {m_last[1], next};
    m_count = std::min<std::size_t>(2, m_count + 1);
  }

 private:
  /// One kernel instead of several takes as long as the longest of them, at least: the others, and what lies
  /// between them, is all that can be won.
  void count(std::initializer_list<launched_kernel> kernels, sums_by_chain& sums) {
    chain key{};
    std::size_t length = 0;
    std::int64_t together_ns = 0;
    const launched_kernel* longest = kernels.begin();
    for (const launched_kernel& kernel : kernels) {
      together_ns += kernel.own_ns + (length > 0 ? kernel.gap_ns : 0);
      if (kernel.own_ns > longest->own_ns) longest = &kernel;
      key[length++] = kernel.name;
    }
    chain_sums& sum = sums[key];
    if (sum.last_walk == this && m_position - sum.last_end < length) return;
    sum.last_walk = this;
    sum.last_end = m_position;
    sum.times += 1;
    sum.together_ns += together_ns;
    sum.saves_at_most_ns += together_ns - longest->own_ns;
    std::size_t place = 0;
    for (const launched_kernel& kernel : kernels) {
      part_sums& part = sum.parts[{place++, kernel.op}];
      part.times += 1;
      if (&kernel != longest) part.saves_at_most_ns += kernel.own_ns;
    }
  }

  std::array<launched_kernel, 2> m_last{};
  std::size_t m_count = 0;  ///< of m_last that are short neighbours
  std::size_t m_position = 0;
  std::int64_t m_end_ns = 0;
};

/// Names of two captures or formats may be two texts: those that are equal are summed up.
std::map<chain, chain_sums> by_text(const sums_by_chain& sums) {
  std::map<chain, chain_sums> joined;
  for (const auto& [names, sum] : sums) {
    chain_sums& whole = joined[names];
    whole.times += sum.times;
    whole.together_ns += sum.together_ns;
    whole.saves_at_most_ns += sum.saves_at_most_ns;
    for (const auto& [place, part] : sum.parts) {
      part_sums& whole_part = whole.parts[place];
      whole_part.times += part.times;
      whole_part.saves_at_most_ns += part.saves_at_most_ns;
    }
  }
  return joined;
}

/// Whether others wait for all of a kernel's results.
class whole_results {
 public:
  explicit whole_results(const category_rules& categories) : m_categories(categories) {}

  bool has_several(const chain& names) {
    return std::count_if(names.begin(), names.end(), [&](std::string_view name) { return is_one(name); }) > 1;
  }

 private:
  bool is_one(std::string_view name) {
    if (name.empty()) return false;
    const auto [known, is_new] = m_known.try_emplace(name, false);
    if (is_new) {
      const std::string category = m_categories.category_of(name, "");
      known->second = category == "gemm" || category == "gemv" || category == "attention" ||
                      category == "convolution" || category == "communication";
    }
    return known->second;
  }

  const category_rules& m_categories;
  std::map<std::string_view, bool> m_known;  ///< patterns are slow, names few
};

/// A kernel that stands twice in a chain is one part of it, and so are texts that are equal.
std::vector<neighbour_part> parts_of(const chain& names, const sums_by_part& parts) {
  std::map<std::pair<std::string_view, std::string_view>, part_sums> joined;
  for (const auto& [place, sum] : parts) {
    part_sums& whole = joined[{names[place.first], place.second}];
    whole.times += sum.times;
    whole.saves_at_most_ns += sum.saves_at_most_ns;
  }
  std::vector<neighbour_part> listed;
  for (const auto& [of, sum] : joined)
    listed.push_back({std::string(of.first), std::string(of.second), sum.times, sum.saves_at_most_ns});
  return listed;
}

std::vector<kernel_neighbours> most_promising(const std::map<chain, chain_sums>& sums,
                                              whole_results& needing_all) {
  std::vector<std::pair<chain, chain_sums>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.saves_at_most_ns > b.second.saves_at_most_ns;
  });
  std::vector<kernel_neighbours> listed;
  std::set<std::string_view> taken;
  for (const auto& [names, sum] : sorted) {
    if (listed.size() == most_listed) break;
    if (sum.times < fewest_times) continue;
    const bool is_taken = std::any_of(names.begin(), names.end(), [&](std::string_view name) {
      return !name.empty() && taken.contains(name);
    });
    if (is_taken || needing_all.has_several(names)) continue;
    kernel_neighbours& found = listed.emplace_back();
    for (const std::string_view name : names) {
      if (name.empty()) continue;
      found.kernel_names.emplace_back(name);
      taken.insert(name);
    }
    found.times = sum.times;
    found.together_ns = sum.together_ns;
    found.saves_at_most_ns = sum.saves_at_most_ns;
    found.parts = parts_of(names, sum.parts);
  }
  return listed;
}

}  // namespace

std::map<std::size_t, std::vector<kernel_neighbours>> find_neighbours(
    const core::timeline& timeline, const std::vector<stage_stretch>& stretches,
    const std::vector<std::uint32_t>& kernel_stretches, const std::vector<std::string_view>& kernel_operators,
    const category_rules& categories) {
  const std::vector<core::kernel_execution>& kernels = timeline.kernels;
  std::map<std::size_t, sums_by_chain> sums;
  std::map<std::tuple<std::uint32_t, int, std::uint32_t>, stream_walk> walks;  // by stretch, device, stream
  const start_order order(kernels);
  for (std::size_t nth = 0; nth < kernels.size(); ++nth) {
    core::stop_if_interrupted();
    const std::uint32_t k = order[nth];
    if (kernel_stretches[k] == 0) continue;
    const std::uint32_t s = kernel_stretches[k] - 1;
    const core::kernel_execution& kernel = kernels[k];
    walks[{s, kernel.device, kernel.stream}].add(kernel, kernel_operators[k], sums[stretches[s].stage]);
  }
  std::map<std::size_t, std::vector<kernel_neighbours>> found;
  whole_results needing_all(categories);
  for (const auto& [stage, of_stage] : sums) found[stage] = most_promising(by_text(of_stage), needing_all);
  return found;
}

}  // namespace profgate::analysis
