#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/units.h"
#include "findings_parts.h"

/// What to change about a kernel that was counted: by what bounds it, by its grid, and by what it does.
namespace profgate::analysis {
namespace {

/// Below it a multiprocessor has too few warps to work while others wait.
constexpr double low_occupancy_ratio = 0.25;

/// From here on a kernel's FLOPs are those of matrix units: no others come near their ceiling.
constexpr double matrix_units_ratio = 0.1;

/// A kernel of which less time than this is its own ran beside the one before for the rest.
constexpr double mostly_own_ratio = 0.9;

bool has_matrix_work(const counted_kernel& kernel) {
  return kernel.flops_over_ceiling_ratio && *kernel.flops_over_ceiling_ratio >= matrix_units_ratio;
}

std::string advice_on_waiting_matrix_units(const counted_kernel& kernel) {
  if (is_library_kernel(kernel.group.kernel_name))
    return fmt::format("its matrix units wait: {}", larger_product);
  return fmt::format(
      "its matrix units wait: load the next tiles while these are multiplied (asynchronous copies, more "
      "stages), with warp specialisation{}",
      kernel.group.category == "attention"
          ? " as in FlashAttention-3: some warps load and multiply while others compute the softmax"
          : ": some warps load while others multiply");
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

/// The same kernel at its roof with more bytes a launch, under another operator or in another grid: then its
/// loads are not what keeps this launch slow. Nothing where there is none.
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

/// Those with which most of its launches are short in a row: "f + g"; empty: none are known. Under another
/// operator the same kernel has others.
std::string neighbours_of(const run_figures& figures, const stage_figures& stage,
                          const core::kernel_group& group) {
  if (!stage.traced) return "";
  for (const kernel_neighbours& row : stage.traced->neighbours) {
    const auto own = std::find_if(row.parts.begin(), row.parts.end(), [&](const neighbour_part& part) {
      return part.kernel_name == group.kernel_name && part.op_name == group.op;
    });
    if (own == row.parts.end() || 2 * own->times < group.calls) continue;
    std::string names;
    for (const std::string& name : row.kernel_names)
      if (name != group.kernel_name) names += (names.empty() ? "" : " + ") + figures.kernel_names.of(name);
    return names;
  }
  return "";
}

/// What hides a kernel's start behind the one before, or more of it where some is hidden already; to follow
/// "fuse it". Its own time is what it takes after that one's end, its total time holds the wait beside it.
std::string advice_on_its_start(const core::kernel_group& group) {
  const double own_ratio =
      group.exclusive_ns && group.total_ns > 0
          ? static_cast<double>(*group.exclusive_ns) / static_cast<double>(group.total_ns)
          : 1;
  if (own_ratio >= mostly_own_ratio)
    return ", or start its loads while the kernel before it still runs (programmatic dependent launch)";
  return fmt::format(
      "; it already overlaps with the kernel before ({} of its time): prefetch weights before waiting for "
      "it, or free registers or shared memory there, so both fit on an SM",
      core::format_percent(1 - own_ratio));
}

/// Tiles of a product whose rows are spread over experts: what is larger than an expert's rows is padding.
std::string advice_on_tiles(const stage_figures& stage, const counted_kernel& kernel) {
  if (kernel.group.op != experts_operator || !stage.bare.experts || stage.bare.experts->layers.empty())
    return "larger tiles and deeper pipelines; only fewer FLOPs go below its roof";
  const core::expert_layer& worst = stage.bare.experts->worst_layer();
  return fmt::format(
      "tiles that fit the rows of an expert ({} on average, {} in the fullest, of layer {}), for larger ones "
      "pad more, and deeper pipelines; only fewer FLOPs go below its roof",
      plain_number(worst.mean_rows), worst.largest_rows, worst.layer);
}

}  // namespace

std::string advice_on_kernel(const run_figures& figures, const stage_figures& stage,
                             const counted_kernel& kernel) {
  const std::string by_waves = advice_on_waves(kernel);
  if (*kernel.bound == "launch") {
    const std::string neighbours = neighbours_of(figures, stage, kernel.group);
    return fmt::format("its start and end take as long as its work: fuse it with {}{}{}",
                       neighbours.empty() ? "its neighbours" : neighbours, advice_on_its_start(kernel.group),
                       by_waves.empty() ? "" : fmt::format("; besides, {}", by_waves));
  }
  if (const counted_kernel* const sibling = sibling_at_roof(*stage.counters, kernel);
      sibling != nullptr && *kernel.bound != "compute")
    return fmt::format(
        "it is too short to reach the bandwidth: with more bytes{} it is at {} of its roof; fuse it{}",
        sibling->group.op.empty() ? "" : fmt::format(" (in {})", sibling->group.op),
        core::format_share_of_ceiling(*sibling->reached_ratio), advice_on_its_start(kernel.group));
  // Whatever bounds the multiprocessors that work: first let all of them do so.
  if (!by_waves.empty()) {
    if (!do_matrix_units_wait_in_taken_places(kernel)) return by_waves;
    return is_library_kernel(kernel.group.kernel_name)
               ? fmt::format("{}; the same helps its matrix units, which wait", by_waves)
               : fmt::format("{}; besides, {}", by_waves, advice_on_waiting_matrix_units(kernel));
  }
  if (is_library_kernel(kernel.group.kernel_name) && *kernel.bound != "latency")
    return fmt::format("{} comes nearer to its roof", larger_product);
  if (*kernel.bound == "memory") return "more bytes in flight (more warps, wider or asynchronous loads)";
  if (*kernel.bound == "instructions")
    return "its instructions fill the multiprocessors, not its FLOPs: fewer of them (vector loads, tensor "
           "cores, less index arithmetic)";
  if (*kernel.bound == "compute") return advice_on_tiles(stage, kernel);
  return advice_against_latency(kernel);
}

std::string launch_evidence(const counted_kernel& kernel) {
  const bool waits = *kernel.bound == "latency" || *kernel.bound == "launch";  // its evidence has the waves
  const bool is_of_memory = *kernel.bound == "memory";  // bytes in flight are those of its warps
  if (!waits && !is_of_memory && advice_on_waves(kernel).empty()) return "";
  std::string words = "; " + launch_in_words(kernel);
  const measured<double> occupancy = metric_of(kernel, "occupancy_ratio");
  if (is_of_memory && occupancy) words += fmt::format(", occupancy {}", core::format_percent(*occupancy));
  const measured<double> waves = metric_of(kernel, "waves_ratio");
  if (!waits && waves) words += ", " + waves_words(*waves);
  return words;
}

}  // namespace profgate::analysis
