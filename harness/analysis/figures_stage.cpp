#include <cmath>
#include <stdexcept>

#include "figure_table.h"

namespace profgate::analysis {
namespace {

constexpr auto lower = better::lower;
constexpr auto higher = better::higher;

std::vector<std::int64_t> rounded(const measured<sample_statistics>& time_ns) {
  std::vector<std::int64_t> values;
  if (!time_ns) return values;
  for (const double sample_ns : time_ns->samples)
    values.push_back(static_cast<std::int64_t>(std::llround(sample_ns)));
  return values;
}

/// What the trace lists of the stage; nothing where there is none.
template <class Table, class Member>
auto traced_list(const Table& table, Member member) {
  return [&table, member](const stage_figures& stage) {
    return stage.traced ? table.list_of((*stage.traced).*member) : json::array();
  };
}

json stage_kernels(const stage_figures& stage) {
  return kernel_table().list_of(stage.traced ? stage.traced->kernels : stage.summarized_kernels);
}

/// An object of its own, by its table.
template <class Table, class Getter>
auto object_by(const Table& table, Getter get) {
  return [&table, get](const auto& from) { return table.json_of(std::invoke(get, from)); };
}

auto spread(measured<core::value_spread> telemetry_figures::*values, double core::value_spread::*part) {
  return through(values, part_of(part));
}

measured<std::string> source_of_work(const utilisation& use) {
  return use.source.empty() ? measured<std::string>::absent("nobody says what work it does")
                            : measured<std::string>(use.source);
}

measured<std::vector<std::string>> valid_texts(measured<std::vector<std::string>> texts) {
  if (!texts) return texts;
  std::vector<std::string> valid;
  for (const std::string& text : *texts) valid.push_back(core::to_valid_utf8(text));
  return valid;
}

/// A list that stands only where there is something to tell apart.
template <class Table, class Member>
auto list_if_any(const Table& table, Member member) {
  return [&table, member](const traced_stage& stage) {
    return (stage.*member).empty() ? std::nullopt : std::optional<json>(table.list_of(stage.*member));
  };
}

std::optional<std::int64_t> slowest_process(const traced_stage& stage) {
  return stage.ranks.empty() ? std::nullopt : std::optional<std::int64_t>(stage.ranks.front().process_id);
}

std::optional<double> spread_ns(const traced_stage& stage) {
  if (stage.ranks.empty()) return std::nullopt;
  return stage.ranks.front().mean_ns() - stage.ranks.back().mean_ns();
}

}  // namespace

const figure_table<stage_figures>& stage_table() {
  using stage = stage_figures;
  static const figure_table<stage> table(
      "stages[]",
      {{"name", through(&stage::bare, &bare_stage::name)},
       {"bare", object_by(bare_times_table(), through(&stage::bare, &bare_stage::time_ns))},
       {"step", object_by(step_table(), &stage::step)},
       {"share_ratio", through(&stage::bare, &bare_stage::share_ratio),
        "of `throughput.total_median_ns`; of ranges that a program went through, of the time of all of them",
        "share of all stages", "percent"},
       {"utilisation", object_by(utilisation_table(), through(&stage::bare, &bare_stage::use))},
       {"telemetry", object_by(telemetry_table(), through(&stage::bare, &bare_stage::telemetry))},
       {"experts",
        [](const stage& one) {
          return one.bare.experts ? std::optional<json>(experts_table().json_of(*one.bare.experts))
                                  : std::nullopt;
        }},
       {"traced", object_by(traced_table(), &stage::traced)},
       {"overhead_ratio", &stage::overhead_ratio,
        "of the timeline: traced time over the bare median, minus one", "overhead of tracing", "percent"},
       {"launches_per_token_count", &stage::launches_per_token,
        "of decode_all, over the tokens that one sequence decodes", "launches a token", "count", lower},
       {"kernels_per_token_count", &stage::kernels_per_token, "", "kernels a token", "count", lower},
       {"idle", object_by(idle_table(), &stage::idle)},
       {"operators", traced_list(operator_table(), &traced_stage::operators)},
       {"kernels", stage_kernels},
       {"top_kernels_share_ratio", &stage::top_kernels_share_ratio,
        "of the kernels' `total_ns`, in the `run.top_n_kernels_count` largest of them"},
       {"counters", object_by(counters_table(), &stage::counters)},
       {"kernel_groups", traced_list(kernel_group_table(), &traced_stage::kernel_groups)},
       {"categories", traced_list(category_table(), &traced_stage::categories)},
       {"kernel_neighbours", traced_list(neighbours_table(), &traced_stage::neighbours)}});
  return table;
}

const figure_table<measured<sample_statistics>>& bare_times_table() {
  using times = sample_statistics;
  static const figure_table<measured<times>> table(
      "stages[].bare",
      {{"mean_ns", part_of(&times::mean), "bare times; `std_ns` is the sample's (n − 1)", "time, mean",
        "duration", lower},
       {"std_ns", part_of(&times::std)},
       {"cv_ratio", part_of(&times::cv)},
       {"median_ns", part_of(&times::median), "", "time, median", "duration", lower},
       {"min_ns", part_of(&times::min), "", "time, smallest", "duration", lower},
       {"max_ns", part_of(&times::max), "", "time, largest", "duration", lower},
       {"samples_count", [](const measured<times>& time_ns) { return time_ns ? time_ns->samples.size() : 0; },
        "", "repetitions", "count"},
       {"samples_ns", rounded}});
  return table;
}

const figure_table<utilisation>& utilisation_table() {
  using use = utilisation;
  static const figure_table<use> table(
      "stages[].utilisation",
      {{"work_flops", &use::flops,
        "work of one repetition, and over its mean time, of a program without a result file the median"},
       {"work_bytes", &use::bytes},
       {"achieved_flops_per_s", &use::flops_per_s, "", "arithmetic, achieved", "flops_per_s", higher},
       {"achieved_bytes_per_s", &use::bytes_per_s, "", "bandwidth, achieved", "bytes_per_s", higher},
       {"mfu_over_measured_ratio", &use::mfu_over_measured_ratio,
        "achieved over the ceiling that the workload measured, and over the dense peak, the vendor's "
        "or a configured one (`ceilings.vendor_source`)",
        "MFU, measured ceiling", "percent", higher},
       {"mfu_over_vendor_ratio", &use::mfu_over_vendor_ratio, "", "MFU, vendor's peak", "percent", higher},
       {"mbu_over_measured_ratio", &use::mbu_over_measured_ratio, "", "MBU, measured ceiling", "percent",
        higher},
       {"mbu_over_vendor_ratio", &use::mbu_over_vendor_ratio, "", "MBU, vendor's peak", "percent", higher},
       {"roof_ns", &use::roof_ns,
        "the least time the work can take at the measured ceilings, and which of `compute` and `memory` sets "
        "it",
        "least time at the measured ceilings", "duration", lower},
       {"roof", &use::roof},
       {"work_source", source_of_work,
        "who says what the work is: the workload, the model's shape, or counters of some of its kernels"}});
  return table;
}

const figure_table<telemetry_figures>& telemetry_table() {
  using gpu = telemetry_figures;
  using core::value_spread;
  static const figure_table<gpu> table(
      "stages[].telemetry",
      {{"windows_count", &gpu::windows_count,
        "of what the GPU did while the stage was timed: timed runs, and samples that fell into them. "
        "`telemetry` is null where there is no NVIDIA GPU"},
       {"samples_count", &gpu::samples_count},
       {"sm_clock_min_mhz", spread(&gpu::sm_clock_mhz, &value_spread::min), "of the samples"},
       {"sm_clock_median_mhz", spread(&gpu::sm_clock_mhz, &value_spread::median), "", "SM clock, median",
        "mhz"},
       {"sm_clock_max_mhz", spread(&gpu::sm_clock_mhz, &value_spread::max)},
       {"sm_clock_spread_ratio", &gpu::sm_clock_spread_ratio, "(max − min) over the median"},
       {"memory_clock_min_mhz", spread(&gpu::memory_clock_mhz, &value_spread::min), "of the samples"},
       {"memory_clock_median_mhz", spread(&gpu::memory_clock_mhz, &value_spread::median)},
       {"memory_clock_max_mhz", spread(&gpu::memory_clock_mhz, &value_spread::max)},
       {"power_min_w", spread(&gpu::power_w, &value_spread::min)},
       {"power_median_w", spread(&gpu::power_w, &value_spread::median), "", "power, median", "watts"},
       {"power_max_w", spread(&gpu::power_w, &value_spread::max)},
       {"power_method", &gpu::power_method, "which of the driver's readings it is"},
       {"temperature_min_c", spread(&gpu::temperature_c, &value_spread::min), "of the samples"},
       {"temperature_median_c", spread(&gpu::temperature_c, &value_spread::median), "",
        "temperature, median, °C", "whole"},
       {"temperature_max_c", spread(&gpu::temperature_c, &value_spread::max)},
       {"throttle_reasons", through(&gpu::throttle_reasons, valid_texts),
        "every reason for lower clocks that the driver named, idleness included"},
       {"energy_mean_j", &gpu::energy_mean_j, "of one repetition", "energy", "energy", lower},
       {"energy_uncertainty_ratio", &gpu::energy_uncertainty_ratio}});
  return table;
}

const figure_table<core::expert_use>& experts_table() {
  using use = core::expert_use;
  static const figure_table<use> table(
      "stages[].experts",
      {{"top_k_count", &use::top_k,
        "of a model with experts: how many each token goes to, of how many, and how many tokens there were. "
        "`experts` is absent where the workload does not tell"},
       {"experts_count", &use::experts},
       {"tokens_count", &use::tokens},
       {"worst_imbalance_ratio", [](const use& of) { return of.worst_layer().imbalance(); },
        "tokens of the fullest expert of a layer over the mean: in the worst layer, and in the median one"},
       {"median_imbalance_ratio", &use::median_imbalance},
       {"worst_layer", [](const use& of) { return of.worst_layer().layer; }, "from 0"},
       {"layers", [](const use& of) { return expert_layer_table().list_of(of.layers); }}});
  return table;
}

const figure_table<core::expert_layer>& expert_layer_table() {
  using layer = core::expert_layer;
  static const figure_table<layer> table(
      "stages[].experts.layers[]",
      {{"layer", &layer::layer, "those with experts, in their order"},
       {"largest_rows_count", &layer::largest_rows, "tokens of its fullest expert, and of the mean one"},
       {"mean_rows_count", &layer::mean_rows},
       {"unused_count", &layer::unused, "experts that got none"}});
  return table;
}

const figure_table<traced_stage>& traced_table() {
  using stage = traced_stage;
  static const figure_table<stage> table(
      "stages[].traced",
      {{"capture", &stage::capture,
        "the capture it was taken from, of a gated one the first occurrence; `uncovered_ns`: in no operator, "
        "on the stage's thread. `traced` is null where the stage was not traced"},
       {"tool", &stage::tool},
       {"tool_version", &stage::tool_version},
       {"occurrences_count", &stage::occurrences},
       {"duration_ns", &stage::duration_ns},
       {"median_ns", &stage::median_ns, "of one occurrence; of ranks that run it together, of the slowest's"},
       {"uncovered_ns", &stage::uncovered_ns},
       {"slowest_process", slowest_process,
        "only where several processes (ranks, workers) ran the stage. Its `duration_ns` is wall time, an "
        "instant in which several are in it counted once, and its `occurrences_count` that of the process "
        "that had most meanwhile: over each other they are the time of a step. `spread_ns`: the slowest "
        "process's mean time of an occurrence minus the fastest's"},
       {"spread_ns", spread_ns},
       {"ranks", list_if_any(rank_table(), &stage::ranks)},
       {"decode_steps", object_by(steps_table(), &stage::steps)},
       {"operators_by_device", &stage::operators_by_device,
        "operators are ranked by the time of their kernels; else by the host's time inside them"},
       {"kernel_ns", &stage::kernel_ns,
        "sum over kernels, and of their exclusive times; share of the traced stage in which a device ran "
        "none (mean of the devices). Withheld where the trace is not sound: dropped records, graphs seen as "
        "one block"},
       {"kernel_own_ns", &stage::kernel_exclusive_ns, "", "kernel time, traced", "duration", lower},
       {"device_idle_ratio", &stage::device_idle_ratio},
       {"activity", object_by(activity_table(), &stage::activity)},
       {"devices", list_if_any(device_table(), &stage::devices)}});
  return table;
}

const figure_table<rank_figures>& rank_table() {
  using rank = rank_figures;
  static const figure_table<rank> table(
      "stages[].traced.ranks[]",
      {{"process", &rank::process_id,
        "each process that ran the stage, slowest first; `ranks` is there only where several did"},
       {"devices",
        [](const rank& one) {
          std::vector<std::string> names;
          for (const int device : one.devices) names.push_back(device_name(device));
          return names;
        }},
       {"occurrences_count", &rank::occurrences},
       {"duration_ns", &rank::duration_ns},
       {"mean_ns", &rank::mean_ns},
       {"kernel_ns", &rank::kernel_ns, "of what it gave to devices"},
       {"kernels_count", &rank::kernels},
       {"launches_count", &rank::launches},
       {"copies_count", &rank::copies},
       {"copy_ns", &rank::copy_ns}});
  return table;
}

const figure_table<device_figures>& device_table() {
  using figures = device_figures;
  static const figure_table<figures> table(
      "stages[].traced.devices[]",
      {{"device", through(&figures::device, device_name),
        "each device, whichever processes it worked for; `devices` is there only where the stage used "
        "several. `idle_ratio`: share of the stage's `duration_ns` in which no stream of the device ran a "
        "kernel; its `activity` is as the stage's"},
       {"kernel_ns", &figures::kernel_ns},
       {"kernel_own_ns", &figures::kernel_exclusive_ns},
       {"idle_ratio", &figures::idle_ratio},
       {"activity", object_by(activity_table(), &figures::activity)},
       {"categories", [](const figures& one) { return device_category_table().list_of(one.categories); }},
       {"operators", [](const figures& one) { return device_operator_table().list_of(one.operators); }}});
  return table;
}

const figure_table<traced_steps>& steps_table() {
  using steps = traced_steps;
  static const figure_table<steps> table(
      "stages[].traced.decode_steps",
      {{"calls_count", &steps::calls,
        "of the ranges `decode_step`; `decode_steps` is null where there are none"},
       {"total_ns", &steps::total_ns},
       {"mean_ns", [](const steps& all) {
          return static_cast<double>(all.total_ns) / static_cast<double>(all.calls);
        }}});
  return table;
}

const figure_table<step_figures>& step_table() {
  using step = step_figures;
  static const figure_table<step> table(
      "stages[].step",
      {{"median_ns", &step::median_ns,
        "one occurrence of the stage: of the bare run where that timed it, else of the trace. `step` is null "
        "where neither did"},
       {"mean_ns", &step::mean_ns},
       {"occurrences_count", &step::occurrences, "that were timed"},
       {"source", &step::source, "where the times come from"},
       {"launches_count", &step::launches,
        "what the trace counted, over its occurrences: calls that launched kernels, kernels, copies and "
        "memsets, calls in which the host waited",
        "launches a step", "count", lower},
       {"kernels_count", &step::kernels, "", "kernels a step", "count", lower},
       {"copies_count", &step::copies, "", "copies a step", "count", lower},
       {"synchronisations_count", &step::synchronisations, "", "synchronisations a step", "count", lower}});
  return table;
}

const figure_table<traced_activity>& activity_table() {
  using activity = traced_activity;
  static const figure_table<activity> table(
      "stages[].traced.activity",
      {{"busy_ns", &activity::busy_ns,
        "a kernel ran (overlapping kernels of a device count once; devices summed); calls that launched "
        "kernels, a graph's being one. `activity` is null where the trace does not tell"},
       {"devices_count", &activity::devices},
       {"kernels_count", &activity::kernels},
       {"launches_count", &activity::launches},
       {"gap_ns", [](const activity& one) { return one.gaps.total_ns(); },
        "the rest of the traced stage, by what the device waited for: a launch that had not come; the same "
        "for "
        "a millisecond or longer, while the host did something else; a host that waited; copies and memsets; "
        "work launched long before (order between kernels, a graph's own "
        "spacing). Tracing lengthens gaps: they tell causes apart, not how long anything takes"},
       {"gap_launch_ns", [](const activity& one) { return one.gaps.launch_ns; }},
       {"gap_pause_ns", [](const activity& one) { return one.gaps.pause_ns; }},
       {"gap_synchronisation_ns", [](const activity& one) { return one.gaps.synchronisation_ns; }},
       {"gap_copy_ns", [](const activity& one) { return one.gaps.copy_ns; }},
       {"gap_other_ns", [](const activity& one) { return one.gaps.other_ns; }},
       {"copies_count", &activity::copies, "copies and memsets asked for inside the stage"},
       {"copy_ns", &activity::copy_ns},
       {"copy_bytes", &activity::copy_bytes},
       {"pageable_copies_count", &activity::pageable_copies,
        "of them from or to host memory that is not pinned; only nsys tells"},
       {"pageable_ns", &activity::pageable_ns}});
  return table;
}

const figure_table<idle_figures>& idle_table() {
  using idle = idle_figures;
  static const figure_table<idle> table(
      "stages[].idle",
      {{"busy_ns", &idle::busy_ns,
        "of one repetition: the kernels' busy time, the bare median without it, and that split in the "
        "proportion of the traced gaps; `idle` is null where the kernels took longer than the bare stage, or "
        "where a quarter of them "
        "or more ran after the range that launched them. "
        "Where "
        "the stage was not timed without a tracer, or is a whole process, the traced stage stands for it",
        "device busy", "duration", lower},
       {"idle_ns", &idle::idle_ns, "", "device idle", "duration", lower},
       {"idle_ratio", &idle::idle_ratio, "", "device idle, share", "percent", lower},
       {"launch_ns", &idle::launch_ns, "", idle_label("launch"), "duration", lower},
       {"pause_ns", &idle::pause_ns, "", idle_label("pause"), "duration", lower},
       {"synchronisation_ns", &idle::synchronisation_ns, "", idle_label("synchronisation"), "duration",
        lower},
       {"copy_ns", &idle::copy_ns, "", idle_label("copy"), "duration", lower},
       {"other_ns", &idle::other_ns, "", idle_label("other"), "duration", lower},
       {"is_traced", &idle::is_traced, "all of it is the trace's"},
       {"is_mean", &idle::is_mean,
        "it is the mean of the traced occurrences, which the trace does not tell apart, or which are "
        "processes; else busy and idle time add up to `step.median_ns`"}});
  return table;
}

const std::vector<object_description>& described_objects() {
  static const std::vector<object_description> objects{
      stage_table().description(),
      bare_times_table().description(),
      utilisation_table().description(),
      telemetry_table().description(),
      experts_table().description(),
      expert_layer_table().description(),
      traced_table().description(),
      steps_table().description(),
      step_table().description(),
      activity_table().description(),
      rank_table().description(),
      device_table().description(),
      device_category_table().description(),
      device_operator_table().description(),
      idle_table().description(),
      operator_table().description(),
      kernel_table().description(),
      kernel_group_table().description(),
      category_table().description(),
      neighbours_table().description(),
      counters_table().description(),
      counted_kernel_table().description(),
  };
  return objects;
}

const std::vector<figure_description>& figures_of(std::string_view path) {
  for (const object_description& object : described_objects())
    if (object.path == path) return object.figures;
  throw std::out_of_range("no object of profile.json is described at " + std::string(path));
}

}  // namespace profgate::analysis
