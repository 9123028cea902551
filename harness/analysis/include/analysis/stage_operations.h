#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/kernel_patterns.h"
#include "core/records.h"

/// What a stage's time consists of: the exclusive times of what its devices did, and the time in which they
/// did nothing. The parts add up to the whole. It is what the gate compares, and small enough to be kept
/// beside the times of a build: so causes can be named long after a trace is gone.
namespace profgate::analysis {

/// A kernel, copy or memset on the device. Texts must live as long as the trace.
struct operation {
  std::string_view name{};      ///< demangled, whole; copies: "copy host to device", …
  std::string_view path{};      ///< NVTX ranges around its launch, outermost first, joined by '/'
  std::string_view category{};  ///< by conf/categories; "copy": a copy or memset; "host": a range
  bool is_copy = false;
  int device = 0;
  std::uint32_t stream = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t launched_ns = 0;               ///< when the host asked for it; 0: the tool does not tell
  std::string_view host_range{};              ///< the innermost range that the host was in when it did
  const core::kernel_shape* shape = nullptr;  ///< of a kernel; null: not told
  std::int64_t bytes = 0;                     ///< of a copy
  std::int32_t layer = core::no_layer;        ///< of the innermost range around its launch that has one
};

/// "copy host to device", "memset", …: what an operation that is a copy is called.
std::string_view name_of(core::copy_kind kind);
/// Whether an operation of that name is one. Its category does not tell: kernels that copy have the same.
bool is_copy_name(std::string_view name);

/// A call in which the host waits for the device and does nothing else.
bool is_synchronisation(const core::host_call& call);

/// A host call that waits for the device.
struct host_wait {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::string_view call{};        ///< cudaStreamSynchronize, …
  std::string_view host_range{};  ///< the innermost range around it
};

/// One occurrence of a stage in one traced process. What lies outside the window is cut off.
struct stage_trace {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<operation> operations{};
  std::vector<host_wait> waits{};
  std::uint32_t process_id = 0;
};

/// What names operations, beside the timeline.
struct operation_labels {
  std::string domain{};
  const category_rules* categories = nullptr;
  std::vector<std::string> device_timed_stages{};  ///< see find_windows()
};

/// One traced process, with its operations labelled.
struct labelled_traces {
  std::vector<stage_trace> occurrences{};  ///< of the stage, in the order of time
  /// What the telling_window() asked for, whenever the device got round to it: which operations run while a
  /// stage is open is chance where the device lags behind.
  std::vector<operation> asked_for{};
  core::text_pool texts{};  ///< joined paths; all other texts are the timeline's
  std::size_t unseen = 0;   ///< kernels of graphs whose capture was not recorded: they have no operator
};

/// What the stage's process ran while the stage was open. Where there is no device work at all, the stretches
/// in which a range was the innermost one open on the stage's thread take its place: they fill the stage, so
/// what lies outside of all has its own name, and nothing is idle.
/// One a stage, in their order.
std::vector<labelled_traces> label_operations(const core::timeline& timeline,
                                              const std::vector<std::string>& stages,
                                              const operation_labels& labels);
labelled_traces label_operations(const core::timeline& timeline, const std::string& stage,
                                 const operation_labels& labels);

/// What an idle device waited for, by what came next and by when the host had asked for it.
enum class idle_cause {
  launch,           ///< a kernel that was asked for, and had not begun
  synchronisation,  ///< the host, which stood in a call that waits; or nothing more: the stage's last wait
  copy,             ///< a copy or memset that was asked for, and had not begun
  host,             ///< the host, which was elsewhere; or the stage never used the device
};
inline constexpr std::size_t idle_cause_count = 4;
std::string to_text(idle_cause cause);

struct idle_times {
  std::array<std::int64_t, idle_cause_count> by_cause_ns{};
};

/// Idle time in which the host stood in one call, or in none, in one range; of a launch that was waited for,
/// the range in which the host asked for it.
struct idle_place {
  idle_cause cause = idle_cause::host;
  std::string call{};        ///< empty: in none that is known
  std::string host_range{};  ///< empty: in none
  std::int64_t idle_ns = 0;
};

/// What is one operator in all layers of a model, in one of them.
struct layer_sum {
  std::int32_t layer = core::no_layer;
  std::int64_t launches = 0;
  std::int64_t cost_ns = 0;  ///< exclusive time and waiting_ns
};

/// More layers than these have no sums of their own: a file must not grow with whatever a program numbers.
inline constexpr std::size_t most_layers = 256;

/// All operations of one name under one path, in one stage of one traced process.
struct operation_sum {
  std::string name{};  ///< demangled, whole
  std::string operator_path{};
  std::string category{};
  std::int64_t launches = 0;
  std::int64_t total_ns = 0;         ///< from start to end of each
  std::int64_t exclusive_units = 0;  ///< see exclusive_time.h
  std::int64_t first_at_ns = 0;      ///< of its first start from the stage's: the launch order
  /// In which the device had nothing else to do and this had been asked for: from the end of what ran before
  /// to its start. With the exclusive time it is what the operation costs its stage.
  std::int64_t waiting_ns = 0;
  /// Of waiting_ns: what a launch took from the call to its start where the device had run dry before the
  /// call. Whichever operation comes first then waits; it is the launch's time and not its own.
  std::optional<std::int64_t> latency_ns{};
  /// Launches that began before what is ahead of them in their stream had ended (programmatic dependent
  /// launch). Nothing, as above: run sets of earlier versions do not tell; nor do ranges of the host.
  std::optional<std::int64_t> early_launches{};
  std::vector<layer_sum> layers{};  ///< by number. Empty: their layers are not known, or there are too many
};

/// What a stage's own time on a CPU is called, in which no operator was open.
std::string outside_of_operators(std::string_view stage);

/// When the devices did nothing, and in which time.
struct stage_times {
  /// Of the stage in the process, on each device that it used: all other numbers are sums over them.
  std::int64_t occurrences = 0;
  std::int64_t time_ns = 0;
  idle_times idle{};
  std::vector<idle_place> places{};  ///< where the host was in idle times of its own, longest first
};

/// One stage of one traced process.
struct stage_operations {
  std::optional<stage_times> times{};  ///< nothing: run sets of schema 1.0 hold durations alone
  std::vector<operation_sum> operations{};
};

/// The unprofiled time of a process is its median step. Where most occurrences ran equally many operations
/// that step is one of them: the others warmed up or captured a graph, and stay out. Of equals that take
/// about as long the quicker half counts; where they differ (texts of several lengths), the one or two whose
/// mean the median is. Each process (rank) has its own: another's work is no odd one of its.
std::vector<const stage_trace*> typical_of(const std::vector<stage_trace>& occurrences);

/// `occurrences` are those of one traced run; the typical ones count. Throws core::bad_input for a window or
/// an operation that ends before it starts.
stage_operations sum_up(const std::vector<stage_trace>& occurrences);

}  // namespace profgate::analysis
