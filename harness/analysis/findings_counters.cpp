#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/units.h"
#include "findings_parts.h"

namespace profgate::analysis {
namespace {

/// Of a stage's GPU time.
constexpr double most_ratio = 0.5;

/// "memory 83 %, latency 10 %", largest first.
std::string in_words(const std::vector<std::pair<double, std::string>>& shares) {
  std::string words;
  for (const auto& [share, bound] : shares) {
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", bound, core::format_percent(share));
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

constexpr std::size_t opportunities_a_stage = 10;

/// What it uses of its own time: the share of its roof; one whose instructions fill the multiprocessors has
/// no room up to the roofline.
double used_ratio(const counted_kernel& kernel, double reached_ratio) {
  if (*kernel.bound != "instructions") return reached_ratio;
  const double alone_ratio = *kernel.reached_alone_ratio;
  const double time_ratio = alone_ratio > 0 ? reached_ratio / alone_ratio : 1;  // alone over in the run
  return std::max(reached_ratio, *kernel.sm_throughput_ratio * time_ratio);
}

struct opportunity {
  const counted_kernel* kernel;
  double share_ratio;     ///< of the time in which kernels run
  std::string reached;    ///< "at 91 % of its roof"
  double ratio_of_stage;  ///< that it could save at most
};

/// Of its roof: in the run where that is known, else alone under ncu.
const measured<double>& reached_of(const counted_kernel& kernel) {
  return kernel.reached_ratio ? kernel.reached_ratio : kernel.reached_alone_ratio;
}

std::vector<opportunity> opportunities_of(const stage_figures& stage, const weighing& weights) {
  const double busy_ratio = busy_ratio_of(stage);
  std::vector<opportunity> found;
  for (const counted_kernel& kernel : stage.counters->kernels) {
    const measured<double> share_ratio = weights.share_ratio(kernel);
    const bool is_in_run = kernel.reached_ratio.has_value();
    const measured<double>& reached = reached_of(kernel);
    if (!reached || !share_ratio || !kernel.bound) continue;
    const double used = used_ratio(kernel, *reached);
    if (used >= near_roof_ratio) continue;
    const double ratio = *share_ratio * busy_ratio * (1 - std::min(1.0, used));
    if (ratio < small_opportunity_ratio) continue;
    found.push_back({&kernel, *share_ratio,
                     fmt::format("at {} of its roof{}", core::format_share_of_ceiling(*reached),
                                 is_in_run ? " in the run" : ""),
                     ratio});
  }
  std::stable_sort(found.begin(), found.end(), [](const opportunity& a, const opportunity& b) {
    return a.ratio_of_stage > b.ratio_of_stage;
  });
  found.resize(std::min(found.size(), opportunities_a_stage));
  return found;
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
}

measured<double> room_of_operator(const stage_figures& stage, const std::string& op_name) {
  if (!stage.counters) return measured<double>::absent(stage.counters.reason());
  double room_ratio = 0;
  bool is_counted = false;
  for (const counted_kernel& kernel : stage.counters->kernels) {
    if (kernel.group.op != op_name) continue;
    const measured<double>& reached = reached_of(kernel);
    if (!kernel.share_ratio || !reached) return measured<double>::absent("a kernel of it has no roof");
    room_ratio += *kernel.share_ratio * busy_ratio_of(stage) * (1 - std::min(1.0, *reached));
    is_counted = true;
  }
  return is_counted ? measured<double>(room_ratio)
                    : measured<double>::absent("none of its kernels was counted");
}

bool has_counters_of_most(const stage_figures& stage) {
  return stage.counters && stage.counters->coverage_ratio && *stage.counters->coverage_ratio >= most_ratio;
}

bool has_counted_most(const stage_figures& stage) {
  if (!has_counters_of_most(stage)) return false;
  double known_ratio = 0;  // of kernels whose distance to their roofs is known
  for (const counted_kernel& kernel : stage.counters->kernels)
    if (kernel.share_ratio && kernel.bound && reached_of(kernel)) known_ratio += *kernel.share_ratio;
  return known_ratio >= most_ratio;
}

void judge_opportunities(const run_figures& figures, const stage_figures& stage, findings& result) {
  if (!stage.counters) return;
  const weighing weights(*stage.counters);
  for (const opportunity& found : opportunities_of(stage, weights)) {
    const counted_kernel& kernel = *found.kernel;
    const std::string& op = kernel.group.op;
    recommendation item = saving(
        figures, stage, saved_time::one_kernel, found.ratio_of_stage,
        fmt::format("{}{}: {}.", figures.kernel_names.of(kernel.group.kernel_name),
                    op.empty() ? "" : fmt::format(" in {}", op), advice_on_kernel(figures, stage, kernel)),
        fmt::format("{} of {}, {}; alone under ncu {}{}", core::format_percent(found.share_ratio),
                    weights.whole(), found.reached, kernel.evidence, launch_evidence(kernel)));
    item.is_told_though_small = leaves_most_sms_idle(kernel);
    if (!stage.counters->coverage_ratio)
      item.saves_at_most_ns = item.saves_at_most_ratio =
          measured<double>::absent("no timeline tells how much of the stage it takes");
    item.kernel_name = kernel.group.kernel_name;
    item.op_name = op;
    result.recommendations.push_back(std::move(item));
  }
}

}  // namespace profgate::analysis
