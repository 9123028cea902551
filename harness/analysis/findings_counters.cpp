#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/escape.h"
#include "findings_parts.h"

namespace profgate::analysis {
namespace {

constexpr std::size_t longest_takeaway_name_bytes = 60;

/// A kernel with less of the stage is not worth a sentence.
constexpr double large_share_ratio = 0.1;

/// "memory 83 %, latency 10 %", largest first.
std::string in_words(const std::vector<std::pair<double, std::string>>& shares) {
  std::string words;
  for (const auto& [share, bound] : shares) {
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", bound, percent(share));
  }
  return words;
}

/// What a kernel's share is taken of: the stage's GPU time, or where no timeline knows that, the time of the
/// launches that were counted.
class weighing {
 public:
  explicit weighing(const stage_counters& counters) : m_is_by_timeline(counters.coverage_ratio) {
    for (const counted_kernel& kernel : counters.kernels) m_counted_ns += counted_ns(kernel);
  }

  measured<double> share_ratio(const counted_kernel& kernel) const {
    return m_is_by_timeline ? kernel.share_ratio : quotient(counted_ns(kernel), m_counted_ns);
  }
  const char* whole() const { return m_is_by_timeline ? "its GPU time" : "the counted launches' time"; }

 private:
  static double counted_ns(const counted_kernel& kernel) {
    return kernel.duration_ns ? *kernel.duration_ns * static_cast<double>(kernel.launches) : 0;
  }

  bool m_is_by_timeline;
  double m_counted_ns = 0;
};

/// The largest kernel that stays well below its roof; one that fills another pipe has no room up to it.
const counted_kernel* farthest_from_its_roof(const stage_counters& counters, const weighing& weights) {
  const counted_kernel* largest = nullptr;
  double largest_share_ratio = 0;
  for (const counted_kernel& kernel : counters.kernels) {
    const measured<double> share_ratio = weights.share_ratio(kernel);
    if (!share_ratio || *share_ratio < large_share_ratio || *share_ratio <= largest_share_ratio) continue;
    if (!kernel.roof_ratio || *kernel.roof_ratio >= bound_ratio || *kernel.bound == "compute") continue;
    largest = &kernel;
    largest_share_ratio = *share_ratio;
  }
  return largest;
}

}  // namespace

void judge_counters(const stage_figures& stage, findings& result) {
  if (!stage.counters) return;
  const weighing weights(*stage.counters);
  std::map<std::string, double> share_of;
  for (const counted_kernel& kernel : stage.counters->kernels) {
    const measured<double> share_ratio = weights.share_ratio(kernel);
    if (share_ratio && kernel.bound) share_of[*kernel.bound] += *share_ratio;
  }
  std::vector<std::pair<double, std::string>> shares;
  for (const auto& [bound, share] : share_of) shares.emplace_back(share, bound);
  std::sort(shares.rbegin(), shares.rend());
  if (shares.empty()) return;
  result.takeaways.push_back(
      {stage.bare.name, fmt::format("Its counted kernels are mostly bound by {}.", shares.front().second),
       fmt::format("shares of {} under ncu: {}", weights.whole(), in_words(shares))});
  if (const counted_kernel* const kernel = farthest_from_its_roof(*stage.counters, weights)) {
    result.takeaways.push_back(
        {stage.bare.name,
         fmt::format("{} is {} below its roof.",
                     core::shorten_middle(kernel->group.kernel_name, longest_takeaway_name_bytes),
                     percent(1 - *kernel->roof_ratio)),
         fmt::format("{} of {}; {}", percent(*weights.share_ratio(*kernel)), weights.whole(),
                     kernel->evidence)});
  }
}

}  // namespace profgate::analysis
