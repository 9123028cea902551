#include "findings_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/escape.h"
#include "wording.h"

namespace profgate::analysis {
namespace {

constexpr std::size_t longest_name_bytes = 60;

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

/// The largest kernel that stays well below its roof; one that fills another pipe has no room up to it.
const counted_kernel* farthest_from_its_roof(const stage_counters& counters) {
  for (const counted_kernel& kernel : counters.kernels) {
    if (!kernel.share_ratio || *kernel.share_ratio < large_share_ratio || !kernel.roof_ratio) continue;
    if (*kernel.roof_ratio < bound_ratio && *kernel.bound != "compute") return &kernel;
  }
  return nullptr;
}

}  // namespace

void judge_counters(const stage_figures& stage, findings& result) {
  if (!stage.counters) return;
  std::map<std::string, double> share_of;
  for (const counted_kernel& kernel : stage.counters->kernels) {
    if (kernel.share_ratio && kernel.bound) share_of[*kernel.bound] += *kernel.share_ratio;
  }
  std::vector<std::pair<double, std::string>> shares;
  for (const auto& [bound, share] : share_of) shares.emplace_back(share, bound);
  std::sort(shares.rbegin(), shares.rend());
  if (shares.empty()) return;
  result.takeaways.push_back(
      {stage.bare.name, fmt::format("Its counted kernels are mostly bound by {}.", shares.front().second),
       fmt::format("shares of its GPU time under ncu: {}", in_words(shares))});
  if (const counted_kernel* const kernel = farthest_from_its_roof(*stage.counters)) {
    result.takeaways.push_back(
        {stage.bare.name,
         fmt::format("{} is {} below its roof.",
                     core::shorten_middle(kernel->group.kernel_name, longest_name_bytes),
                     percent(1 - *kernel->roof_ratio)),
         fmt::format("{} of its GPU time; {}", percent(*kernel->share_ratio), kernel->evidence)});
  }
}

}  // namespace profgate::analysis
