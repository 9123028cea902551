#include "figure_table.h"

namespace profgate::analysis {
namespace {

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

std::optional<std::int64_t> thread_ns(const traced_stage& stage) {
  return stage.do_ranges_overlap() ? std::optional<std::int64_t>(stage.range_ns) : std::nullopt;
}

std::optional<double> spread_ns(const traced_stage& stage) {
  if (stage.ranks.empty()) return std::nullopt;
  return stage.ranks.front().mean_ns() - stage.ranks.back().mean_ns();
}

}  // namespace

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
       {"thread_ns", thread_ns,
        "only where occurrences overlap (of several threads, of several processes, of requests): their sum. "
        "Times of operators and `uncovered_ns` are parts of it, and operators' `share_ratio` is of it; "
        "elsewhere of `duration_ns`"},
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
       {"kernel_own_ns", &stage::kernel_exclusive_ns, "", "kernel time, traced", "duration", better::lower},
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
       {"std_ns", &step::std_ns, "the same occurrences' spread; `std_ns` is the sample's (n − 1)"},
       {"cv_ratio", &step::cv_ratio},
       {"min_ns", &step::min_ns},
       {"max_ns", &step::max_ns},
       {"occurrences_count", &step::occurrences, "that were timed"},
       {"source", [](const step& one) { return one.source + (one.is_host_alone ? host_alone_words : ""); },
        "where the times come from"},
       {"range_cost_ns", &step::range_cost_ns,
        "of times of ranges: what the collector takes to record one, tried in the program before its first"},
       {"range_cost_ratio", &step::range_cost_ratio, "the same over `median_ns`"},
       {"launches_count", &step::launches,
        "what the trace counted, over its occurrences: calls that launched kernels, kernels, copies and "
        "memsets, calls in which the host waited",
        "launches a step", "count", better::lower},
       {"kernels_count", &step::kernels, "", "kernels a step", "count", better::lower},
       {"copies_count", &step::copies, "", "copies a step", "count", better::lower},
       {"synchronisations_count", &step::synchronisations, "", "synchronisations a step", "count",
        better::lower}});
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
       {"launch_call_ns",
        [](const activity& one) {
          return one.launch_call_ns > 0
                     ? measured<std::int64_t>(one.launch_call_ns)
                     : measured<std::int64_t>::absent("the trace does not tell how long launch calls took");
        },
        "the host was in those calls, which a tracer lengthens"},
       {"gap_ns", [](const activity& one) { return one.gaps.total_ns(); },
        "the rest of the traced stage, by what the device waited for: a launch that had not come; the same "
        "for "
        "a millisecond or longer, while the host did something else; a host that waited; copies and memsets; "
        "work launched long before (order between kernels, a graph's own "
        "spacing); nothing any more, as the stage's last kernel had run and the host came to its end. "
        "Tracing lengthens gaps: they tell causes apart, not how long anything takes"},
       {"gap_launch_ns", [](const activity& one) { return one.gaps.launch_ns; }},
       {"gap_pause_ns", [](const activity& one) { return one.gaps.pause_ns; }},
       {"gap_synchronisation_ns", [](const activity& one) { return one.gaps.synchronisation_ns; }},
       {"gap_copy_ns", [](const activity& one) { return one.gaps.copy_ns; }},
       {"gap_other_ns", [](const activity& one) { return one.gaps.other_ns; }},
       {"gap_after_ns", [](const activity& one) { return one.gaps.after_ns; }},
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
  const auto if_known = [](double idle::*part) {
    return [part](const idle& one) {
      return one.idle_absent_reason.empty() ? measured<double>(one.*part)
                                            : measured<double>::absent(one.idle_absent_reason);
    };
  };
  static const figure_table<idle> table(
      "stages[].idle",
      {{"busy_ns", &idle::busy_ns,
        "of one repetition: the kernels' busy time in the trace. `idle` is null where it is more than 5 % "
        "longer than the bare stage, or where a quarter of the kernels or more ran after the range that "
        "launched them. Where the stage was not timed without a tracer, or is a whole process, the traced "
        "stage stands for it",
        "device busy", "duration", better::lower},
       {"idle_ns", if_known(&idle::idle_ns),
        "the bare median without the busy time, but no more than the traced gaps; its share of the bare "
        "median; and that split in the proportion of the traced gaps. Null where the kernels took as long "
        "under the tracer as the whole bare stage, or longer: then only `idle_at_most_ns` is known",
        "device idle", "duration", better::lower},
       {"idle_ratio", if_known(&idle::idle_ratio), "", "device idle, share", "percent", better::lower},
       {"launch_ns", if_known(&idle::launch_ns), "", idle_label("launch"), "duration", better::lower},
       {"pause_ns", if_known(&idle::pause_ns), "", idle_label("pause"), "duration", better::lower},
       {"synchronisation_ns", if_known(&idle::synchronisation_ns), "", idle_label("synchronisation"),
        "duration", better::lower},
       {"copy_ns", if_known(&idle::copy_ns), "", idle_label("copy"), "duration", better::lower},
       {"other_ns", if_known(&idle::other_ns), "", idle_label("other"), "duration", better::lower},
       {"after_ns", if_known(&idle::after_ns), "", idle_label("after"), "duration", better::lower},
       {"idle_at_most_ns", &idle::idle_at_most_ns,
        "the traced gaps of one occurrence: a tracer lengthens gaps, so no bare stage idles longer"},
       {"unexplained_ns", &idle::unexplained_ns,
        "of the bare median, what neither the kernels nor the gaps of the trace explain: its kernels ran "
        "slower than in the trace (clocks, spread)",
        "kernels slower than in the trace", "duration", better::lower},
       {"is_traced", &idle::is_traced, "all of it is the trace's"},
       {"is_mean", &idle::is_mean,
        "it is the mean of the traced occurrences, which the trace does not tell apart, or which are "
        "processes; else `busy_ns`, `idle_ns` and `unexplained_ns` add up to `step.median_ns`, unless "
        "`idle_ns` is null"}});
  return table;
}

}  // namespace profgate::analysis
