#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/counter_metrics.h"
#include "figure_table.h"

namespace profgate::analysis {
namespace {

measured<std::int64_t> operator_total_ns(const operator_figures& figures) {
  return or_absent(figures.record.total_ns, figures.total_absent_reason);
}

/// The host runs through no range of what a graph replays: what is known of it is the device's time.
measured<double> operator_mean_ns(const operator_figures& figures) {
  const measured<std::int64_t> host_ns = operator_total_ns(figures);
  const measured<std::int64_t> total_ns =
      host_ns ? host_ns : or_absent(figures.record.cuda_ns, figures.cuda_absent_reason);
  if (!total_ns) return measured<double>::absent(total_ns.reason());
  return static_cast<double>(*total_ns) / static_cast<double>(figures.record.calls);
}

double kernel_mean_ns(const core::kernel_record& record) {
  const auto calls = static_cast<double>(std::max<std::int64_t>(record.calls, 1));
  return record.mean_ns.value_or(static_cast<double>(record.total_ns) / calls);
}

measured<std::string> kernel_device(const core::kernel_record& record) {
  return text_or_absent(record.device, "the tool's own summary does not tell it");
}

template <class Kernel>
measured<std::int64_t> exclusive_ns(const Kernel& kernel) {
  return or_absent(kernel.exclusive_ns, "the source does not tell it");
}

measured<std::string> group_operator(const core::kernel_group& group) {
  return text_or_absent(group.op, "it was launched under no operator");
}

std::string group_device(const core::kernel_group& group) {
  return device_name(group.device);
}

using extent = std::array<std::uint32_t, 3>;

auto extent_of(extent core::kernel_group::*part) {
  return [part](const core::kernel_group& group) {
    return (group.*part)[0] != 0 ? measured<extent>(group.*part)
                                 : measured<extent>::absent("the tool does not tell it");
  };
}

/// Of the timeline, which does not have every kernel that was counted.
auto traced(std::int64_t core::kernel_group::*sum) {
  return [sum](const counted_kernel& kernel) {
    return kernel.is_in_timeline ? measured<std::int64_t>(kernel.group.*sum)
                                 : measured<std::int64_t>::absent(kernel.share_ratio.reason());
  };
}

std::vector<figure<counted_kernel>> counted_kernel_rows() {
  using kernel = counted_kernel;
  std::vector<figure<kernel>> rows{
      {"kernel_name", through(&kernel::group, &core::kernel_group::kernel_name),
       "launches that do the same work; `op` is the innermost operator, as in `kernel_groups`; largest share "
       "first"},
      {"op", through(&kernel::group, group_operator)},
      {"device", through(&kernel::group, group_device)},
      {"grid_blocks", through(&kernel::group, &core::kernel_group::grid)},
      {"block_threads", through(&kernel::group, &core::kernel_group::block)},
      {"launches_count", &kernel::launches, "that were counted"},
      {"traced_total_ns", traced(&core::kernel_group::total_ns),
       "of the timeline; null where it does not have them"},
      {"traced_calls_count", traced(&core::kernel_group::calls)},
      {"share_ratio", &kernel::share_ratio},
      {"duration_mean_ns", &kernel::duration_ns, "of one launch alone under ncu, the mean over those counted",
       "alone under ncu, ms", "ms"},
      {"dram_mean_bytes", &kernel::dram_bytes, "", "DRAM", "bytes"},
      {"work_mean_flops", &kernel::flops, "", "work", "flops"},
      {"work_parts",
       [](const kernel& counted) { return text_or_absent(counted.flops_parts, "ncu counted no arithmetic"); },
       "which arithmetic was counted: tensor cores' operations by type, and fp32, fp16, fp64 instructions, a "
       "fused multiply-add as two. `work_mean_flops` is null where tensor cores worked, or may have, on none "
       "of the types that were counted"},
      {"achieved_flops_per_s", &kernel::flops_per_s, "over ncu's duration; bytes are DRAM's", "FLOP/s",
       "flops_per_s"},
      {"achieved_bytes_per_s", &kernel::bytes_per_s, "", "bandwidth", "bytes_per_s"},
      {"intensity_flops_per_byte", &kernel::intensity_flops_per_byte, "", "FLOP/byte", "count"},
      {"flops_over_ceiling_ratio", &kernel::flops_over_ceiling_ratio,
       "over the measured ceilings; `roof_ratio`, the larger of the two, is what the kernel reached of the "
       "roofline at its intensity"},
      {"bytes_over_ceiling_ratio", &kernel::bytes_over_ceiling_ratio},
      {"roof_ratio", &kernel::roof_ratio},
      {"reached_ratio", &kernel::reached_ratio,
       "what it reached of its roof in the run: the time that its work takes at the roof, over its exclusive "
       "time in the timeline; it may exceed 1, since ceilings are measured; null where the timeline does not "
       "have it",
       "of its roof", "ceiling"},
      {"reached_alone_ratio", &kernel::reached_alone_ratio,
       "the same over its time alone under ncu: `roof_ratio`; where no ceiling was measured, the larger of "
       "the shares of ncu's own peaks. It may exceed 1: ceilings are measured, and caches answer",
       "of it alone under ncu", "ceiling"}};
  for (const kernel_metric& metric : kernel_metrics()) {
    rows.push_back({metric.key, [key = metric.key](const kernel& counted) { return counted.metrics.at(key); },
                    metric.description, metric.label, metric.format});
  }
  rows.push_back({"bound", &kernel::bound,
                  "`memory` or `compute` where it reaches half of that ceiling, the larger of the two; "
                  "`instructions` where it reaches half of the multiprocessors' peak throughput (deep mode "
                  "measures it), more than of its memory's ceiling, and not half of the arithmetic one; else "
                  "`launch` below 5 µs a launch, alone under ncu or of its own in the run (then the evidence "
                  "has that time, too), else `latency`; and the figures that say so"});
  rows.push_back({"evidence", [](const kernel& counted) {
                    return text_or_absent(counted.evidence, counted.bound.reason());
                  }});
  return rows;
}

}  // namespace

const figure_table<operator_figures>& operator_table() {
  using figures = operator_figures;
  static const figure_table<figures> table(
      "stages[].operators[]",
      {{"op_name", through(&figures::record, &core::operator_record::op_name),
        "`total_ns` with nested ranges, `exclusive_ns` without; `share_ratio`: self time on the stage's "
        "thread over the stage's time; null for what a graph replays, whose `mean_ns` is of `cuda_ns`. "
        "Largest `total_ns` first, largest "
        "`cuda_ns` where a graph hides host times. A call inside of one of the same name is a part of it, no "
        "call of its own. Counters that PyTorch appends to a name (`aten::mm, op_id = 7`) are left out"},
       {"calls_count", through(&figures::record, &core::operator_record::calls)},
       {"total_ns", operator_total_ns},
       {"mean_ns", operator_mean_ns},
       {"exclusive_ns", &figures::self_ns},
       {"share_ratio", &figures::share_ratio},
       {"cuda_ns", [](const figures& op) { return or_absent(op.record.cuda_ns, op.cuda_absent_reason); },
        "device time of what was launched inside, with and without nested operators; the latter and the "
        "former as exclusive time; the latter over the stage's `kernel_own_ns`"},
       {"cuda_exclusive_ns", &figures::cuda_self_ns},
       {"cuda_own_ns", &figures::cuda_exclusive_ns},
       {"cuda_whole_own_ns", &figures::cuda_whole_exclusive_ns},
       {"cuda_share_ratio", &figures::cuda_share_ratio},
       {"copies_ns", &figures::copies_ns,
        "copies and memsets that were launched inside, those of nested operators too; in none of the times "
        "above"}});
  return table;
}

const figure_table<core::kernel_record>& kernel_table() {
  using record = core::kernel_record;
  static const figure_table<record> table(
      "stages[].kernels[]",
      {{"kernel_name", &record::kernel_name,
        "largest total first; `own_ns`: exclusive time: of operations that are resident in a stream at once "
        "an instant belongs to the one that ends first (with programmatic dependent launch a kernel starts "
        "early and waits inside), streams that work at once share it"},
       {"device", kernel_device},
       {"total_ns", &record::total_ns},
       {"own_ns", exclusive_ns<record>},
       {"calls_count", &record::calls},
       {"mean_ns", kernel_mean_ns}});
  return table;
}

const figure_table<core::kernel_group>& kernel_group_table() {
  using group = core::kernel_group;
  static const figure_table<group> table("stages[].kernel_groups[]",
                                         {{"kernel_name", &group::kernel_name,
                                           "the stage's kernels by name, innermost operator, grid, block and "
                                           "device, largest exclusive time first; sizes are lists of three"},
                                          {"op_name", group_operator},
                                          {"category", &group::category},
                                          {"device", group_device},
                                          {"grid_blocks_count", extent_of(&group::grid)},
                                          {"block_threads_count", extent_of(&group::block)},
                                          {"total_ns", &group::total_ns},
                                          {"own_ns", exclusive_ns<group>},
                                          {"calls_count", &group::calls}});
  return table;
}

const figure_table<category_figures>& category_table() {
  using figures = category_figures;
  static const figure_table<figures> table("stages[].categories[]",
                                           {{"category", &figures::category,
                                             "the stage's kernels by kind of work (conf/categories), largest "
                                             "exclusive time first; shares of `kernel_own_ns`"},
                                            {"total_ns", &figures::total_ns},
                                            {"own_ns", &figures::exclusive_ns},
                                            {"calls_count", &figures::calls},
                                            {"share_ratio", &figures::share_ratio}});
  return table;
}

const figure_table<kernel_neighbours>& neighbours_table() {
  using figures = kernel_neighbours;
  static const figure_table<figures> table(
      "stages[].kernel_neighbours[]",
      {{"kernel_names",
        [](const figures& one) { return fmt::format("{}", fmt::join(one.kernel_names, "; ")); },
        "two or three kernels of at most 10 µs that follow each other in a stream, in their order, those "
        "with "
        "the most to win first: candidates for one kernel"},
       {"times_count", &figures::times, "in all traced occurrences of the stage"},
       {"together_ns", &figures::together_ns,
        "of all of these times, with what lies between them; `saves_at_most_ns` is that without the longest "
        "of "
        "each"},
       {"saves_at_most_ns", &figures::saves_at_most_ns}});
  return table;
}

const figure_table<category_figures>& device_category_table() {
  using figures = category_figures;
  static const figure_table<figures> table("stages[].traced.devices[].categories[]",
                                           {{"category", &figures::category,
                                             "as the stage's `categories`, of this device's kernels; shares "
                                             "of its `kernel_own_ns`"},
                                            {"total_ns", &figures::total_ns},
                                            {"own_ns", &figures::exclusive_ns},
                                            {"calls_count", &figures::calls},
                                            {"share_ratio", &figures::share_ratio}});
  return table;
}

const figure_table<device_operator>& device_operator_table() {
  using figures = device_operator;
  static const figure_table<figures> table(
      "stages[].traced.devices[].operators[]",
      {{"op_name", &figures::op_name,
        "what each operator gave to this device, without nested operators, largest `cuda_own_ns` first; "
        "shares of the device's `kernel_own_ns`"},
       {"cuda_exclusive_ns", &figures::total_ns},
       {"cuda_own_ns", &figures::exclusive_ns},
       {"kernels_count", &figures::kernels},
       {"cuda_share_ratio", &figures::share_ratio}});
  return table;
}

const figure_table<stage_counters>& counters_table() {
  static const figure_table<stage_counters> table(
      "stages[].counters",
      {{"launches_count", &stage_counters::launches,
        "launches that ncu counted. `counters` is null where there are none, with the reason"},
       {"coverage_ratio", &stage_counters::coverage_ratio,
        "share of the stage's GPU time (in the timeline) whose kernels were counted"},
       {"unmatched_launches_count", &stage_counters::unmatched_launches,
        "counted launches whose name, grid and block the timeline does not have"},
       {"kernels",
        [](const stage_counters& counters) { return counted_kernel_table().list_of(counters.kernels); }}});
  return table;
}

const figure_table<counted_kernel>& counted_kernel_table() {
  static const figure_table<counted_kernel> table("stages[].counters.kernels[]", counted_kernel_rows());
  return table;
}

}  // namespace profgate::analysis
