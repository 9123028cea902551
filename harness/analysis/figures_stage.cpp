#include <cmath>
#include <stdexcept>

#include "figure_table.h"

namespace profgate::analysis {
namespace {

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

}  // namespace

const figure_table<stage_figures>& stage_table() {
  using stage = stage_figures;
  static const figure_table<stage> table(
      "stages[]",
      {{"name", through(&stage::bare, &bare_stage::name)},
       {"bare", object_by(bare_times_table(), through(&stage::bare, &bare_stage::time_ns))},
       {"step", object_by(step_table(), &stage::step)},
       {"share_ratio", through(&stage::bare, &bare_stage::share_ratio),
        "of `throughput.total_median_ns`; of ranges that a program went through, of the time of all of them; "
        "those that run inside of others are part of these",
        "share of all stages", "percent"},
       {"inside_of",
        [](const stage& one) {
          return one.traced && !one.traced->outer_stages.empty()
                     ? std::optional<std::vector<std::string>>(*valid_texts(one.traced->outer_stages))
                     : std::nullopt;
        },
        "stages in whose ranges all of its own lie: their times have its time, their kernels are without its "
        "own; absent where there are none"},
       {"warm_up_ns",
        [](const stage& one) {
          return one.bare.warm_up_ns.empty()
                     ? std::nullopt
                     : std::optional<std::int64_t>(std::llround(warm_up_ns(one.bare)));
        },
        "of the first occurrences of an adapter's stage that took several times as long as the others: they "
        "warm up, and no other figure of the stage has them; of several processes, which do so at the same "
        "time, of the one that took longest; absent where there are none"},
       {"other_lengths",
        [](const stage& one) {
          return one.bare.other_lengths.empty() ? std::nullopt
                                                : std::optional<std::string>(one.bare.other_lengths);
        },
        "of texts with another number of decode steps than more than half of them have: how many, and of how "
        "many; no figure of the unprofiled run has them; absent where there are none"},
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
        "of decode_all, over the tokens that one sequence decodes", "launches a token", "count",
        better::lower},
       {"kernels_per_token_count", &stage::kernels_per_token, "", "kernels a token", "count", better::lower},
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
        "duration", better::lower},
       {"std_ns", part_of(&times::std)},
       {"cv_ratio", part_of(&times::cv)},
       {"median_ns", part_of(&times::median), "", "time, median", "duration", better::lower},
       {"min_ns", part_of(&times::min), "", "time, smallest", "duration", better::lower},
       {"max_ns", part_of(&times::max), "", "time, largest", "duration", better::lower},
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
       {"achieved_flops_per_s", &use::flops_per_s, "", "arithmetic, achieved", "flops_per_s", better::higher},
       {"achieved_bytes_per_s", &use::bytes_per_s, "", "bandwidth, achieved", "bytes_per_s", better::higher},
       {"mfu_over_measured_ratio", &use::mfu_over_measured_ratio,
        "achieved over the ceiling that the workload measured, and over the dense peak, the vendor's "
        "or a configured one (`ceilings.vendor_source`)",
        "MFU, measured ceiling", "percent", better::higher},
       {"mfu_over_vendor_ratio", &use::mfu_over_vendor_ratio, "", "MFU, vendor's peak", "percent",
        better::higher},
       {"mbu_over_measured_ratio", &use::mbu_over_measured_ratio, "", "MBU, measured ceiling", "percent",
        better::higher},
       {"mbu_over_vendor_ratio", &use::mbu_over_vendor_ratio, "", "MBU, vendor's peak", "percent",
        better::higher},
       {"roof_ns", &use::roof_ns,
        "the least time the work can take at the measured ceilings, and which of `compute` and `memory` sets "
        "it",
        "least time at the measured ceilings", "duration", better::lower},
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
       {"energy_mean_j", &gpu::energy_mean_j, "of one repetition", "energy", "energy", better::lower},
       {"energy_uncertainty_ratio", &gpu::energy_uncertainty_ratio},
       {"energy_run_ns", &gpu::energy_run_ns,
        "a repetition while energy was measured: without a pause in between it takes longer than a timed "
        "one"},
       {"energy_run_power_w", &gpu::energy_run_power_w, "`energy_mean_j` over `energy_run_ns`"}});
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
