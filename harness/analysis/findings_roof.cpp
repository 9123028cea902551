#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "ceilings.h"
#include "core/dtypes.h"
#include "core/stage_names.h"
#include "core/units.h"
#include "findings_parts.h"

namespace profgate::analysis {
namespace {

/// Less of its stage is not worth a sentence.
constexpr double small_room_ratio = 0.02;
/// From here on all large products run as fast as they can: what is left lies elsewhere.
constexpr double fast_products_ratio = 0.8;

/// How near a stage comes to what its device can do with the same work.
struct roof_share {
  double reached_ratio = 0;
  bool is_by_memory = false;
  measured<double> mbu_ratio;  ///< absent where the memory is no ceiling: the work stays in a cache
  double mfu_ratio = 0;
  bool is_measured = true;     ///< else the vendor's peaks, which lie higher
  bool is_configured = false;  ///< those peaks come from settings
};

/// "measured", "vendor's peak", "configured peak".
std::string peaks_word(const roof_share& share, const char* measured_word, const char* peak_word) {
  if (share.is_measured) return measured_word;
  return fmt::format("{} {}", whose_peaks(share.is_configured), peak_word);
}

measured<roof_share> share_of_roof(const stage_figures& stage) {
  const utilisation& use = stage.bare.use;
  const measured<double> reached = quotient(use.roof_ns, median_ns_of(stage));
  if (reached)
    return roof_share{*reached, *use.roof == "memory", use.mbu_over_measured_ratio,
                      *use.mfu_over_measured_ratio, true};
  const measured<double>& mbu = use.mbu_over_vendor_ratio;
  const measured<double>& mfu = use.mfu_over_vendor_ratio;
  if (!mbu || !mfu) return measured<roof_share>::absent(reached.reason());
  return roof_share{std::max(*mbu, *mfu), *mbu >= *mfu, mbu, *mfu, false, use.are_peaks_configured};
}

/// Whether the trace or the counters tell what bounds it, where its work is not known.
bool is_bound_known(const stage_figures& stage) {
  return has_counted_most(stage) || (stage.idle && stage.idle->idle_ratio >= mostly_idle_ratio);
}

bool has_kernels(const stage_figures& stage) {
  return stage.traced && !stage.traced->kernels.empty();
}

/// Why there is no roof, and what would give one.
struct unknown_roof {
  std::string reason;
  std::string remedy;
};

unknown_roof why_no_roof(const run_facts& facts, const stage_figures& stage) {
  const utilisation& use = stage.bare.use;
  if (facts.bare.bench)
    return {use.roof_ns.reason(),
            "the program's result file can tell the stage's FLOPs and bytes (work) and the ceilings that it "
            "measured"};
  if (!use.flops || !use.bytes) {
    const bool has_stages = stage.bare.name != core::whole_process_stage;
    return {"nobody tells its FLOPs and bytes",
            (has_stages ? "" : "once it has stages, ") + facts.bare.how_to_tell_work};
  }
  const measured<double>& mfu = use.mfu_over_vendor_ratio;
  const measured<double>& mbu = use.mbu_over_vendor_ratio;
  std::vector<std::string> missing;
  if (!mfu && facts.bare.counted)
    missing.push_back("hardware.peak_tflops." + core::long_dtype(facts.bare.counted->model_dtype));
  const bool is_in_cache = fits_cache(facts.bare, use.bytes);
  if (!mbu && !is_in_cache) missing.emplace_back("hardware.memory_bandwidth_gbs");
  return {fmt::format("no ceiling was measured, and {}", mfu ? mbu.reason() : mfu.reason()),
          missing.empty() ? "profile more tokens or a larger model, whose weights do not fit it"
                          : fmt::format("set {}", fmt::join(missing, " and "))};
}

/// Of the unprofiled stage, were all that tracing adds in this operator.
double least_share_of(const stage_figures& stage, const large_operator& traced) {
  const double added_ratio = is_distorted(stage) ? *stage.overhead_ratio : 0.0;
  return traced.share_ratio * (1 + added_ratio) - added_ratio;
}

/// `place`: where to begin, after a verb; empty: nobody knows.
std::string advice_below_roof(const roof_share& share, bool is_gpu, const std::string& place) {
  if (share.reached_ratio < bound_ratio)
    return fmt::format(
        "Find what it waits for{}: neither memory nor arithmetic bounds it ({}).", place,
        is_gpu ? "short kernels, few blocks, warps that wait for their operands"
               : "work in series, short loops, threads that wait for each other where it has several");
  // The workload measures its ceilings with as many threads as it works with: more of them are no remedy.
  const char* const threads = share.is_measured ? "" : "more threads, ";
  if (share.is_by_memory)
    return fmt::format("Move bytes faster{}: {}; {}.", place,
                       is_gpu ? "more bytes in flight (more warps, wider or asynchronous loads)"
                              : fmt::format("{}wider loads, prefetching", threads),
                       only_fewer_bytes);
  if (!is_gpu)
    return fmt::format(
        "Compute faster{}: {}larger tiles, vector instructions; only fewer FLOPs go below this bound.", place,
        threads);
  if (share.reached_ratio >= fast_products_ratio)
    return fmt::format(
        "Speed up attention, norms and small products{}: large products are nearly as fast as they can be. "
        "Only fewer FLOPs or a smaller dtype (FP8) go below this bound.",
        place);
  return fmt::format(
      "Compute faster{}: all products on tensor cores, larger tiles, deeper pipelines; only fewer FLOPs or a "
      "smaller dtype go below this bound.",
      place);
}

}  // namespace

measured<double> headroom(const stage_figures& stage) {
  const measured<roof_share> share = share_of_roof(stage);
  return share ? measured<double>(std::max(0.0, 1.0 - share->reached_ratio))
               : measured<double>::absent(share.reason());
}

std::string why_saving_is_unknown(const stage_figures& stage) {
  const bool is_work_known = (stage.bare.use.flops && stage.bare.use.bytes) || stage.counters;
  const bool can_be_counted = has_kernels(stage) && !stage.counters;
  return fmt::format("its roof is not, and {} would tell it", can_be_counted  ? "counters under ncu"
                                                              : is_work_known ? "ceilings of this machine"
                                                                              : "its FLOPs and bytes");
}

void judge_roof(const run_facts& facts, const run_figures& figures, const stage_figures& stage,
                findings& result) {
  const measured<roof_share> share = share_of_roof(stage);
  if (!share) return;
  const bool by_memory = share->is_by_memory;
  const std::string ceiling = fmt::format("{} {}", peaks_word(*share, "measured", "peak"),
                                          by_memory ? "bandwidth" : "arithmetic rate");
  std::string evidence = fmt::format(
      "{}MFU {} of the {}{}",
      share->mbu_ratio ? fmt::format("MBU {}, ", core::format_share_of_ceiling(*share->mbu_ratio)) : "",
      core::format_share_of_ceiling(share->mfu_ratio), peaks_word(*share, "measured ceilings", "peaks"),
      share->mbu_ratio ? "" : fmt::format("; {}", share->mbu_ratio.reason()));
  // Where kernels were counted, those that are far from their roofs are named instead.
  const bool has_row = share->reached_ratio < near_roof_ratio && !has_counted_most(stage);
  const std::string beyond = share->reached_ratio < near_roof_ratio ? "; its counters name the slow kernels"
                             : by_memory ? "; only fewer bytes (a smaller dtype) go below it"
                                         : "; only fewer or cheaper FLOPs (a smaller dtype) go below it";
  // What is beyond its ceiling is told with the ceilings.
  if (share->reached_ratio <= 1) {
    result.takeaways.push_back(
        {stage.bare.name,
         share->reached_ratio >= bound_ratio
             ? fmt::format("It is {}-bound: {} of the {}{}.", by_memory ? "memory" : "compute",
                           core::format_percent(share->reached_ratio), ceiling, has_row ? "" : beyond)
             : fmt::format("It reaches {} of the {}, its nearest limit: something else bounds it.",
                           core::format_percent(share->reached_ratio), ceiling),
         evidence});
  }
  if (!has_row) return;
  // What it idles is saved by other means, which are told with it.
  const double room_ratio = 1.0 - share->reached_ratio - (stage.idle ? stage.idle->idle_ratio : 0.0);
  if (room_ratio < small_room_ratio) return;
  if (!stage.traced && facts.device == "cuda") {
    result.recommendations.push_back(saving(
        figures, stage, saved_time::all_kernels, room_ratio,
        "Trace it: which kernels, or what idle time, keep it from its roof is not known without.", evidence));
    return;
  }
  const std::optional<large_operator> largest = largest_operator(stage);
  const bool has_place =
      !has_kernels(stage) && largest && least_share_of(stage, *largest) >= large_operator_ratio;
  // The largest operator of a device may be the one that is at its roof.
  const std::string place = has_kernels(stage) ? " (counters tell in which kernels)"
                            : has_place        ? fmt::format(", in {} first", largest->name)
                                               : "";
  if (has_place) evidence += fmt::format("; {} has {}", largest->name, largest->evidence);
  recommendation item = saving(figures, stage, saved_time::all_kernels, room_ratio,
                               advice_below_roof(*share, facts.device == "cuda" || has_kernels(stage), place),
                               std::move(evidence));
  if (has_place) item.op_name = largest->op_name;
  result.recommendations.push_back(std::move(item));
}

std::optional<std::string> unknown_bounds(const run_facts& facts, const run_figures& figures) {
  std::vector<std::string> stages;
  const stage_figures* first = nullptr;
  for (const stage_figures& stage : figures.stages) {
    if (!stage.step || share_of_roof(stage) || is_bound_known(stage)) continue;
    if (first == nullptr) first = &stage;
    stages.push_back(stage.bare.name);
  }
  if (first == nullptr) return std::nullopt;
  const unknown_roof unknown = why_no_roof(facts, *first);
  const std::string counters =
      !has_kernels(*first) || has_counters_of_most(*first) ? ""
      : first->counters                                    ? "counters of more kernels tell it of each, or "
                        : fmt::format("counters under ncu tell it of each kernel (there are none: {}), or ",
                                      first->counters.reason());
  return fmt::format("What bounds {} is not known: {}. To know it: {}{}.", fmt::join(stages, " and "),
                     unknown.reason, counters, unknown.remedy);
}

}  // namespace profgate::analysis
