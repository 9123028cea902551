#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/facts.h"
#include "analysis/gap_causes.h"
#include "analysis/kernel_patterns.h"
#include "analysis/measured.h"
#include "analysis/regions.h"
#include "core/records.h"

/// What the traced runs show: which stages they hold, which operators run inside them, and which kernels
/// those launched. Shares and counts come from here; times in reports come from the bare run.
namespace profgate::analysis {

struct operator_figures {
  core::operator_record record;
  std::string total_absent_reason;           ///< where the record has no total_ns
  std::string cuda_absent_reason;            ///< where the record has no cuda_ns
  measured<std::int64_t> self_ns;            ///< host time without the operators nested inside
  measured<double> share_ratio;              ///< self time on the stage's own thread over its range_ns
  measured<std::int64_t> cuda_self_ns;       ///< kernels launched in it and in no operator nested inside
  measured<std::int64_t> cuda_exclusive_ns;  ///< of these, without waits for the kernels before them
  measured<std::int64_t> cuda_whole_exclusive_ns;  ///< the same with those of operators nested inside
  measured<std::int64_t> copies_ns;                ///< copies and memsets of all of them
  measured<double> cuda_share_ratio;               ///< exclusive time over that of all the stage's kernels
};

struct traced_steps {
  std::int64_t calls = 0;
  std::int64_t total_ns = 0;
};

/// Kernels of one kind of work.
struct category_figures {
  std::string category;
  std::int64_t total_ns = 0;
  std::int64_t exclusive_ns = 0;
  std::int64_t calls = 0;
  double share_ratio = 0;  ///< exclusive time over that of all the stage's kernels
};

/// What the trace shows of the devices' work in a stage. Tracing every node of a graph costs time between
/// kernels, so gaps are longer than in the bare run: they tell causes apart, not how long anything takes.
struct traced_activity {
  std::int64_t busy_ns = 0;  ///< a kernel ran; overlapping kernels of one device count once
  /// The same of one occurrence on one device, and what it waits for in those of middling length: programs
  /// warm up, and their texts are not all as long. Nothing where occurrences cannot be told apart.
  std::optional<double> busy_median_ns{};
  std::optional<gap_causes> typical_gaps{};  ///< the sum of several; one has typical_gap_ns
  std::optional<double> typical_gap_ns{};
  std::int64_t devices = 0;  ///< that ran kernels
  std::int64_t kernels = 0;
  std::int64_t launches = 0;        ///< calls that launched kernels; a graph's is one
  std::int64_t launch_call_ns = 0;  ///< the host was in those calls; 0: the tool does not tell
  gap_causes gaps;
  std::int64_t copies = 0;  ///< copies and memsets asked for inside the stage
  std::int64_t copy_ns = 0;
  std::int64_t copy_bytes = 0;
  std::int64_t pageable_copies = 0;  ///< of them from or to host memory that is not pinned
  std::int64_t pageable_ns = 0;
  std::int64_t synchronisations = 0;  ///< calls inside the stage in which the host waits for the device
  std::int64_t late_ns = 0;           ///< of its kernels' time, what ran after the range that launched them
};

/// A process that ran the stage, where several did: a rank of a program on many GPUs, a worker of a server.
struct rank_figures {
  std::uint32_t process_id = 0;
  std::vector<int> devices{};  ///< that it gave work to
  std::int64_t occurrences = 0;
  std::int64_t duration_ns = 0;  ///< of all occurrences, by the clock on the wall
  measured<std::int64_t> kernel_ns;
  measured<std::int64_t> kernels;
  measured<std::int64_t> launches;
  measured<std::int64_t> copies;
  measured<std::int64_t> copy_ns;

  double mean_ns() const { return static_cast<double>(duration_ns) / static_cast<double>(occurrences); }
};

/// What an operator gave to one device, without what nested operators did.
struct device_operator {
  std::string op_name;
  std::int64_t total_ns = 0;
  std::int64_t exclusive_ns = 0;
  std::int64_t kernels = 0;
  double share_ratio = 0;  ///< exclusive time over that of all the stage's kernels on the device
};

/// A device that worked for the stage, where several did.
struct device_figures {
  int device = 0;
  traced_activity activity;
  double idle_ratio = 0;  ///< of the stage's time: none of its streams ran a kernel
  std::int64_t kernel_ns = 0;
  std::int64_t kernel_exclusive_ns = 0;
  std::vector<category_figures> categories{};  ///< shares of the device's kernel time
  std::vector<device_operator> operators{};    ///< largest own time first
};

/// What the launches of one kernel under one operator have of their neighbourhood.
struct neighbour_part {
  std::string kernel_name;  ///< whole
  std::string op_name;      ///< empty: launched under none
  std::int64_t times = 0;
  std::int64_t saves_at_most_ns = 0;  ///< of its own time: where it is not the longest of them
};

/// Two or three short kernels that follow each other in a stream again and again: candidates for one kernel.
struct kernel_neighbours {
  std::vector<std::string> kernel_names{};  ///< whole, in their order
  std::int64_t times = 0;                   ///< in all occurrences of the stage
  std::int64_t together_ns = 0;             ///< with what lies between them
  std::int64_t saves_at_most_ns = 0;        ///< of that, all but the longest of them
  std::vector<neighbour_part> parts{};      ///< by kernel and operator
};

struct traced_stage {
  std::string capture;
  std::string tool;
  std::string tool_version;
  std::int64_t occurrences = 0;                ///< ranks that run it together do so once
  std::int64_t duration_ns = 0;                ///< of all occurrences, by the clock on the wall
  std::vector<std::int64_t> occurrences_ns{};  ///< of each; of ranks, the slowest one's
  double median_ns = 0;                        ///< of one occurrence; of ranks that run it together the mean
  std::vector<std::string> outer_stages{};     ///< those that it runs inside of, always; empty: beside others
  std::int64_t ranges = 0;                     ///< of all ranks
  /// Their sum, thread time: more than duration_ns where they overlap. Operators' times are parts of it.
  std::int64_t range_ns = 0;
  bool do_ranges_overlap() const { return range_ns > duration_ns; }
  /// Of range_ns, time in no operator.
  std::int64_t uncovered_ns = 0;
  std::vector<rank_figures> ranks{};        ///< slowest first; empty: it ran in one process
  std::vector<device_figures> devices{};    ///< empty: it used one device at most
  std::vector<operator_figures> operators;  ///< largest first
  bool operators_by_device = false;         ///< by the time of their kernels, not of the host
  measured<traced_steps> steps;
  std::vector<core::kernel_record> kernels;       ///< largest total first
  std::vector<core::kernel_group> kernel_groups;  ///< also by operator, grid, block; largest own time first
  std::vector<category_figures> categories;       ///< largest own time first
  std::vector<kernel_neighbours> neighbours{};    ///< with the most to win first
  measured<std::int64_t> kernel_ns;               ///< sum over kernels; may exceed the wall on many streams
  measured<std::int64_t> kernel_exclusive_ns;     ///< the same without waits for the kernel before
  measured<double> device_idle_ratio;  ///< share of the traced stage in which a device ran no kernel
  measured<traced_activity> activity;
};

struct capture_figures {
  std::string name;
  std::optional<std::string> gate;
  std::string tool;
  std::string tool_version;
  std::vector<std::string> gpu_names{};
  std::optional<std::string> recorded_utc{};
  std::size_t ranges = 0;
  std::size_t open_ranges = 0;
  std::size_t kernels = 0;
  std::uint64_t dropped_records = 0;
  std::size_t opaque_graphs = 0;  ///< replays whose kernels the tool did not see
  std::string part{};             ///< as capture's
};

struct timeline_figures {
  std::vector<measured<traced_stage>> stages;  ///< in the order of the stages asked for
  std::vector<core::kernel_record> kernels;    ///< of all stages and of what ran outside any
  std::optional<std::string> kernels_absent_reason;
  std::string kernels_source = "the trace";  ///< what `kernels` are summed over
  std::vector<capture_figures> captures;
  std::vector<std::string> problems;  ///< what makes the trace incomplete or doubtful; empty: nothing
  region_list regions;                ///< of the captures that stages were taken from
};

/// What the analysis of a trace is told besides the trace.
struct attribution_facts {
  category_rules categories{};
  kernel_filter region_kernels{};
  bool stages_may_repeat = false;                    ///< nobody promised that each is traced once
  std::vector<std::string> device_timed_stages{};    ///< by events on the device: see find_windows()
  std::map<std::string, std::string> expressions{};  ///< by stage, where one tells its ranges
  bool leaves_out_warm_up = false;                   ///< see bare_facts::has_unnamed_warm_up
  bool has_device = true;                            ///< its calls are traced, whatever ranges there are
  std::vector<std::string> untimed_stages{};  ///< not in the unprofiled run either: the trace lacks nothing
};

/// Each stage is taken from one capture: the one gated on it, else the first that holds it. Where a trace is
/// not sound, what depends on it is absent, with the reason.
timeline_figures analyze_timelines(const std::vector<capture>& captures,
                                   const std::vector<std::string>& stages, const std::string& nvtx_domain,
                                   const std::string& captures_absent_reason,
                                   const attribution_facts& attribution = {});

}  // namespace profgate::analysis
