#include <fmt/format.h>

#include <algorithm>
#include <map>
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

constexpr double small_opportunity_of_whole_ratio = 0.005;
constexpr std::size_t opportunities_a_stage = 10;
/// Below it a multiprocessor has too few warps to work while others wait.
constexpr double low_occupancy_ratio = 0.25;

/// From here on a kernel's FLOPs are those of matrix units: no others come near their ceiling.
constexpr double matrix_units_ratio = 0.1;

constexpr const char* matrix_units_wait =
    "its matrix units wait: load the next tiles while these are multiplied (asynchronous copies, more "
    "stages), and let other warps do the rest meanwhile";

bool has_matrix_work(const counted_kernel& kernel) {
  return kernel.flops_over_ceiling_ratio && *kernel.flops_over_ceiling_ratio >= matrix_units_ratio;
}

std::string advice_on_waiting_matrix_units(const counted_kernel& kernel) {
  if (is_library_kernel(kernel.group.kernel_name))
    return fmt::format("its matrix units wait: {}", larger_product);
  return matrix_units_wait;
}

/// Whether a grid that fills the GPU would still leave matrix units waiting: empty places alone do not tell
/// why those that are taken are slow.
bool do_matrix_units_wait_in_taken_places(const counted_kernel& kernel) {
  return *kernel.bound == "latency" && has_matrix_work(kernel) &&
         *kernel.flops_over_ceiling_ratio < near_roof_ratio * taken_places_ratio(kernel);
}

/// What kernels that wait for their own instructions lack.
std::string advice_against_latency(const counted_kernel& kernel) {
  // Tiles in registers and shared memory leave room for few warps: that is how such kernels are made.
  if (has_matrix_work(kernel)) return advice_on_waiting_matrix_units(kernel);
  const measured<double> occupancy = metric_of(kernel, "occupancy_ratio");
  if (!occupancy || *occupancy >= low_occupancy_ratio)
    return "its warps wait for each other or for their operands: more independent work a thread, fewer "
           "barriers";
  if (const std::string advice = advice_on_single_wave(kernel); !advice.empty()) return advice;
  const std::string limiter = occupancy_limiter(kernel);
  return fmt::format("few warps are active{}: more of them, or more loads in flight for each",
                     limiter.empty() ? "" : fmt::format(", limited by {}", limiter));
}

/// What lets all of the GPU work on it; empty: it does already.
std::string advice_on_waves(const counted_kernel& kernel) {
  const std::string empty_places = advice_on_empty_places(kernel);
  return empty_places.empty() ? advice_on_last_wave(kernel) : empty_places;
}

/// The same kernel at its roof with more bytes a launch, under another operator or in another grid: then it
/// is not how it reads. Nothing where there is none.
const counted_kernel* sibling_at_roof(const stage_counters& counters, const counted_kernel& kernel) {
  constexpr double more_bytes_ratio = 1.5;
  for (const counted_kernel& other : counters.kernels) {
    if (other.group.kernel_name != kernel.group.kernel_name || !other.reached_ratio || !other.dram_bytes)
      continue;
    if (*other.reached_ratio >= near_roof_ratio && kernel.dram_bytes &&
        *other.dram_bytes >= more_bytes_ratio * *kernel.dram_bytes)
      return &other;
  }
  return nullptr;
}

/// Those with which most of its launches are short in a row: "f + g"; empty: none are known.
std::string neighbours_of(const run_figures& figures, const stage_figures& stage,
                          const core::kernel_group& group) {
  if (!stage.traced) return "";
  for (const kernel_neighbours& row : stage.traced->neighbours) {
    const std::vector<std::string>& all = row.kernel_names;
    if (std::find(all.begin(), all.end(), group.kernel_name) == all.end() || 2 * row.times < group.calls)
      continue;
    std::string names;
    for (const std::string& name : all)
      if (name != group.kernel_name) names += (names.empty() ? "" : " + ") + figures.kernel_names.of(name);
    return names;
  }
  return "";
}

constexpr const char* hide_its_start = "start its loads earlier (programmatic dependent launch)";

std::string advice_on(const run_figures& figures, const stage_figures& stage, const counted_kernel& kernel) {
  const std::string by_waves = advice_on_waves(kernel);
  if (*kernel.bound == "launch") {
    const std::string neighbours = neighbours_of(figures, stage, kernel.group);
    return fmt::format("its start and end take as long as its work: fuse it with {}, or {}{}",
                       neighbours.empty() ? "its neighbours" : neighbours, hide_its_start,
                       by_waves.empty() ? "" : fmt::format("; besides, {}", by_waves));
  }
  if (const counted_kernel* const sibling = sibling_at_roof(*stage.counters, kernel);
      sibling != nullptr && *kernel.bound != "compute")
    return fmt::format(
        "its start and end, not how it reads: with more bytes{} it is at {} of its roof; {}, or fuse it",
        sibling->group.op.empty() ? "" : fmt::format(" (in {})", sibling->group.op),
        ceiling_percent(*sibling->reached_ratio), hide_its_start);
  // Whatever bounds the multiprocessors that work: first let all of them do so.
  if (!by_waves.empty())
    return do_matrix_units_wait_in_taken_places(kernel)
               ? fmt::format("{}; besides, {}", by_waves, advice_on_waiting_matrix_units(kernel))
               : by_waves;
  if (is_library_kernel(kernel.group.kernel_name) && *kernel.bound != "latency")
    return fmt::format("{} comes nearer to its roof", larger_product);
  if (*kernel.bound == "memory") return "more bytes in flight (more warps, wider or asynchronous loads)";
  if (*kernel.bound == "instructions")
    return "its instructions fill the multiprocessors, not its FLOPs: fewer of them (vector loads, tensor "
           "cores, less index arithmetic)";
  if (*kernel.bound == "compute")
    return "larger tiles and deeper pipelines; only fewer FLOPs go below its roof";
  return advice_against_latency(kernel);
}

/// How the kernel was launched, where its advice rests on that: "; grid (13, 10, 1), …".
std::string launch_evidence(const counted_kernel& kernel) {
  const bool waits = *kernel.bound == "latency" || *kernel.bound == "launch";  // its evidence has the waves
  const bool is_of_memory = *kernel.bound == "memory";  // bytes in flight are those of its warps
  if (!waits && !is_of_memory && advice_on_waves(kernel).empty()) return "";
  std::string words = "; " + launch_in_words(kernel);
  const measured<double> occupancy = metric_of(kernel, "occupancy_ratio");
  if (is_of_memory && occupancy) words += fmt::format(", occupancy {}", percent(*occupancy));
  const measured<double> waves = metric_of(kernel, "waves_ratio");
  if (!waits && waves) words += fmt::format(", {:.2g} waves", *waves);
  return words;
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
    recommendation item =
        saving(figures, stage, saved_time::one_kernel, found.ratio_of_stage,
               fmt::format("{}{}: {}.", figures.kernel_names.of(kernel.group.kernel_name),
                           op.empty() ? "" : fmt::format(" in {}", op), advice_on(figures, stage, kernel)),
               fmt::format("{} of {}, {}; alone under ncu {}{}", percent(found.share_ratio), weights.whole(),
                           found.reached, kernel.evidence, launch_evidence(kernel)));
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
