#include "own_times.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "start_order.h"

namespace profgate::analysis {

std::vector<std::uint32_t> own_times_ns(const core::timeline& timeline) {
  const std::vector<core::kernel_execution>& kernels = timeline.kernels;
  std::vector<std::uint32_t> own_ns(kernels.size(), 0);
  using stream_key = std::tuple<std::uint32_t, int, std::uint32_t>;  // process, device, stream
  std::map<stream_key, std::int64_t> busy_until_ns;
  for_each_by_start(kernels, [&](std::size_t k) {
    const core::kernel_execution& kernel = kernels[k];
    const auto [until, is_new] =
        busy_until_ns.try_emplace({kernel.process_id, kernel.device, kernel.stream}, kernel.start_ns);
    const std::int64_t alone_ns = kernel.end_ns - std::max(kernel.start_ns, until->second);
    constexpr std::int64_t longest_ns = std::numeric_limits<std::uint32_t>::max();
    own_ns[k] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(alone_ns, 0, longest_ns));
    until->second = std::max(until->second, kernel.end_ns);
  });
  return own_ns;
}

}  // namespace profgate::analysis
