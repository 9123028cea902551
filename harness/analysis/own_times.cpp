#include "own_times.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

namespace profgate::analysis {

std::vector<std::uint32_t> own_times_ns(const core::timeline& timeline) {
  const std::vector<core::kernel_execution>& kernels = timeline.kernels;
  std::vector<std::uint32_t> own_ns(kernels.size(), 0);
  using stream_key = std::tuple<std::uint32_t, int, std::uint32_t>;  // process, device, stream
  std::map<stream_key, std::int64_t> busy_until_ns;
  const auto visit = [&](std::size_t k) {
    const core::kernel_execution& kernel = kernels[k];
    const auto [until, is_new] =
        busy_until_ns.try_emplace({kernel.process_id, kernel.device, kernel.stream}, kernel.start_ns);
    const std::int64_t alone_ns = kernel.end_ns - std::max(kernel.start_ns, until->second);
    constexpr std::int64_t longest_ns = std::numeric_limits<std::uint32_t>::max();
    own_ns[k] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(alone_ns, 0, longest_ns));
    until->second = std::max(until->second, kernel.end_ns);
  };
  const auto by_start = [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; };
  if (std::is_sorted(kernels.begin(), kernels.end(), by_start)) {
    for (std::size_t k = 0; k < kernels.size(); ++k) visit(k);
    return own_ns;
  }
  std::vector<std::uint32_t> order(kernels.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return by_start(kernels[a], kernels[b]); });
  for (const std::uint32_t k : order) visit(k);
  return own_ns;
}

}  // namespace profgate::analysis
