#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "findings_parts.h"

namespace profgate::analysis {
namespace {

/// Of a stage's GPU time.
constexpr double most_ratio = 0.5;

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

/// A kernel that could give less of its stage is not worth a sentence.
constexpr double small_opportunity_ratio = 0.02;
constexpr double small_opportunity_of_whole_ratio = 0.005;
constexpr std::size_t opportunities_a_stage = 3;
/// Below it a multiprocessor has too few warps to work while others wait.
constexpr double low_occupancy_ratio = 0.25;

measured<double> metric_of(const counted_kernel& kernel, const std::string& key) {
  const auto found = kernel.metrics.find(key);
  return found != kernel.metrics.end() ? found->second : measured<double>::absent("ncu did not count it");
}

/// What keeps more blocks from being resident: "its registers"; empty where ncu did not tell.
std::string occupancy_limiter(const counted_kernel& kernel) {
  constexpr std::array<std::pair<const char*, const char*>, 4> limits{
      {{"occupancy_limit_registers_blocks", "its registers"},
       {"occupancy_limit_shared_memory_blocks", "its shared memory"},
       {"occupancy_limit_warps_blocks", "the size of its blocks"},
       {"occupancy_limit_blocks_blocks", "the number of blocks"}}};
  std::string limiters;
  std::optional<double> fewest_blocks;
  for (const auto& [key, name] : limits) {
    const measured<double> blocks = metric_of(kernel, key);
    if (!blocks) return "";
    if (fewest_blocks && *blocks > *fewest_blocks) continue;
    limiters = fewest_blocks && *blocks == *fewest_blocks ? limiters + " and " + name : name;
    fewest_blocks = *blocks;
  }
  return limiters;
}

/// From here on a kernel's FLOPs are those of matrix units: no others come near their ceiling.
constexpr double matrix_units_ratio = 0.1;

/// What kernels that wait for their own instructions lack.
std::string advice_against_latency(const counted_kernel& kernel) {
  const measured<double> waves = metric_of(kernel, "waves_ratio");
  if (waves && *waves < 0.5) return "give it more blocks: the GPU holds more than twice as many at once";
  // Tiles in registers and shared memory leave room for few warps: that is how such kernels are made.
  if (kernel.flops_over_ceiling_ratio && *kernel.flops_over_ceiling_ratio >= matrix_units_ratio)
    return "its matrix units wait: load the next tiles while these are multiplied (asynchronous copies, more "
           "stages), and let other warps do the rest meanwhile";
  const measured<double> occupancy = metric_of(kernel, "occupancy_ratio");
  if (!occupancy || *occupancy >= low_occupancy_ratio)
    return "its warps wait for each other or for their operands: more independent work a thread, fewer "
           "barriers";
  const std::string limiter = occupancy_limiter(kernel);
  return fmt::format("few warps are active{}: more of them, or more loads in flight for each",
                     limiter.empty() ? "" : fmt::format(", limited by {}", limiter));
}

std::string advice_on(const counted_kernel& kernel) {
  if (*kernel.bound == "memory") return "more bytes in flight (more warps, wider or asynchronous loads)";
  if (*kernel.bound == "instructions")
    return "its instructions fill the multiprocessors, not its FLOPs: fewer of them (vector loads, tensor "
           "cores, less index arithmetic)";
  if (*kernel.bound == "compute")
    return "larger tiles and deeper pipelines; only fewer FLOPs go below its roof";
  if (*kernel.bound == "launch") return "fuse it with its neighbours: a launch costs as much as its work";
  return advice_against_latency(kernel);
}

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

std::vector<opportunity> opportunities_of(const stage_figures& stage, const weighing& weights) {
  const double busy_ratio = stage.idle ? 1.0 - stage.idle->idle_ratio : 1.0;
  std::vector<opportunity> found;
  for (const counted_kernel& kernel : stage.counters->kernels) {
    const measured<double> share_ratio = weights.share_ratio(kernel);
    const bool is_in_run = kernel.reached_ratio.has_value();
    const measured<double>& reached = is_in_run ? kernel.reached_ratio : kernel.reached_alone_ratio;
    if (!reached || !share_ratio || !kernel.bound) continue;
    const double used = used_ratio(kernel, *reached);
    if (used >= near_roof_ratio) continue;
    const double ratio = *share_ratio * busy_ratio * (1 - std::min(1.0, used));
    if (ratio < small_opportunity_ratio) continue;
    found.push_back(
        {&kernel, *share_ratio,
         fmt::format("at {} of its roof{}", ceiling_percent(*reached), is_in_run ? " in the run" : ""),
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

bool has_counters_of_most(const stage_figures& stage) {
  return stage.counters && stage.counters->coverage_ratio && *stage.counters->coverage_ratio >= most_ratio;
}

bool has_counted_most(const stage_figures& stage) {
  if (!has_counters_of_most(stage)) return false;
  double known_ratio = 0;  // of kernels whose distance to their roofs is known
  for (const counted_kernel& kernel : stage.counters->kernels)
    if (kernel.share_ratio && kernel.bound && (kernel.reached_ratio || kernel.reached_alone_ratio))
      known_ratio += *kernel.share_ratio;
  return known_ratio >= most_ratio;
}

void judge_opportunities(const run_figures& figures, const stage_figures& stage, findings& result) {
  if (!stage.counters) return;
  const weighing weights(*stage.counters);
  for (const opportunity& found : opportunities_of(stage, weights)) {
    const counted_kernel& kernel = *found.kernel;
    const std::string& op = kernel.group.op;
    recommendation item = saving(figures, stage, saved_time::one_kernel, found.ratio_of_stage,
                                 fmt::format("{}{}: {}.", figures.kernel_names.of(kernel.group.kernel_name),
                                             op.empty() ? "" : fmt::format(" in {}", op), advice_on(kernel)),
                                 fmt::format("{} of {}, {}; alone under ncu {}", percent(found.share_ratio),
                                             weights.whole(), found.reached, kernel.evidence));
    if (figures.is_timed_by_itself && item.saves_at_most_ratio &&
        *item.saves_at_most_ratio < small_opportunity_of_whole_ratio)
      continue;
    if (!stage.counters->coverage_ratio)
      item.saves_at_most_ns = item.saves_at_most_ratio =
          measured<double>::absent("no timeline tells how much of the stage it takes");
    item.kernel_name = kernel.group.kernel_name;
    item.op_name = op;
    result.recommendations.push_back(std::move(item));
  }
}

}  // namespace profgate::analysis
