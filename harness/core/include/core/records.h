#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/experts.h"
#include "core/pools.h"

/// What the parsers make of the tools' files and what the analysis reads: plain data, no file format in it.
/// Times are nanoseconds on the tool's own clock; only differences mean anything.
namespace profgate::core {

enum class range_style : std::uint8_t { push_pop, start_end };

// A trace of half a million kernels holds as many of these records as that, and more: ids are as narrow as
// the operating system and CUDA hand them out.

/// What does not belong to one of several layers that have one name, or nobody knows to which.
inline constexpr std::int32_t no_layer = -1;

/// One NVTX range. Texts of a timeline's records lie in its pool.
struct range_record {
  std::string_view domain{};  ///< empty: the default domain
  std::string_view name{};
  range_style style = range_style::push_pop;
  std::uint32_t process_id = 0;
  std::uint32_t thread_id = 0;
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns;  ///< nothing: never closed, or closed only by the tool
  std::int32_t layer =
      no_layer;  ///< the number that stood in its name before layers were given one (name_stages)
};

/// One kernel on the device, as the timeline saw it.
struct kernel_execution {
  const kernel_shape* shape = &kernel_shape::unknown;  ///< in its timeline's shapes
  int device = 0;
  std::uint32_t stream = 0;
  std::uint32_t process_id = 0;
  std::uint32_t thread_id = 0;   ///< that launched it
  std::int64_t launched_ns = 0;  ///< when the host called
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t graph_node = 0;   ///< 0: not launched from a graph
  std::uint32_t correlation = 0;  ///< of the call that launched it, unique in its process
  std::uint32_t call_ns = 0;      ///< how long that call took; 0: the tool does not tell it
};
static_assert(sizeof(kernel_execution) == 64, "an export of nsys has some 85 bytes a kernel");

enum class copy_kind : std::uint8_t { host_to_device, device_to_host, device_to_device, memset, other };

/// One copy or memset on the device.
struct copy_execution {
  copy_kind kind = copy_kind::other;
  bool is_pageable = false;  ///< host memory on either side that is not pinned; false where nobody tells
  int device = 0;
  std::uint32_t stream = 0;
  std::uint32_t process_id = 0;
  std::uint32_t thread_id = 0;   ///< that asked for it
  std::int64_t launched_ns = 0;  ///< when the host called
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t bytes = 0;
  std::uint64_t graph_node = 0;
  std::uint32_t correlation = 0;  ///< of the call that asked for it
  std::uint32_t call_ns = 0;      ///< how long that call took; 0: the tool does not tell it
};

/// One call of the host into CUDA's runtime or driver. A parser may leave out all but synchronisations and
/// copies: what launches did is in the records of what they launched.
struct host_call {
  std::string_view name{};
  std::uint32_t process_id = 0;
  std::uint32_t thread_id = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t correlation = 0;
};

/// A whole graph launch that the tool recorded as one block, its kernels unseen.
struct opaque_graph {
  std::uint32_t process_id = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  int device = 0;
  std::uint32_t thread_id = 0;   ///< that launched it
  std::int64_t launched_ns = 0;  ///< when the host called
  std::uint32_t correlation = 0;
  std::uint32_t call_ns = 0;
};

/// A node of a CUDA graph, when it was made: while a stream was captured, or as the copy of another.
struct graph_node {
  std::uint64_t node = 0;
  std::uint64_t original = 0;  ///< what it is a copy of; 0: none, or the tool does not tell
  std::uint32_t process_id = 0;
  std::uint32_t thread_id = 0;  ///< that made it
  std::int64_t made_ns = 0;
};

/// Everything one traced run of a workload left.
struct timeline {
  std::string tool{};  ///< "nsys" or "embedded"
  std::string tool_version{};
  std::vector<std::string> gpu_names{};       ///< of the machine that ran it, each once; empty: nobody tells
  std::optional<std::string> recorded_utc{};  ///< "2026-11-16T12:03:03Z", when the recording began
  /// Of processes with records, as the tool saw them start: "/usr/bin/env", "python3". Empty, or without a
  /// process: it does not tell.
  std::map<std::uint32_t, std::string> process_names{};
  /// Of processes with a CUDA_VISIBLE_DEVICES of their own: what their devices 0, 1, … are called in it.
  std::map<std::uint32_t, std::vector<std::string>> visible_gpus{};
  std::vector<range_record> ranges{};
  std::vector<kernel_execution> kernels{};
  std::optional<std::int64_t> recording_end_ns{};      ///< nsys closes there what is open still
  std::optional<std::string> kernels_absent_reason{};  ///< set where the tool could not have seen any
  std::uint64_t dropped_records = 0;
  std::vector<copy_execution> copies{};
  std::vector<host_call> calls{};
  std::vector<opaque_graph> opaque_graphs{};
  std::vector<graph_node> graph_nodes{};  ///< that were made while the tool recorded; in no order
  /// By mangled name, of the machine code of kernels that were loaded, whether they ran or not. Empty, or
  /// without a kernel: the tool does not tell.
  std::map<std::string_view, std::uint64_t> code_hashes{};
  std::vector<std::string> doubts{};  ///< what the tool itself says it may have missed
  text_pool texts{};                  ///< what the records' texts point into
  kernel_shapes shapes{};             ///< what the kernels' shapes point into
};

/// A kernel's sum over one stage (R12).
struct kernel_record {
  std::string kernel_name;
  std::string device;
  std::int64_t total_ns = 0;
  std::int64_t calls = 0;
  std::optional<double> mean_ns;               ///< where the source gave none: total / max(calls, 1)
  std::optional<std::int64_t> exclusive_ns{};  ///< see kernel_group
};

/// Launches of one stage that do the same work: one GEMV name serves many shapes, so grid and operator are
/// part of what tells them apart.
struct kernel_group {
  std::string kernel_name;
  std::string op;  ///< empty: launched under no operator
  int device = 0;
  std::array<std::uint32_t, 3> grid{};
  std::array<std::uint32_t, 3> block{};
  std::int64_t total_ns = 0;
  std::int64_t calls = 0;
  /// Exclusive time (analysis/exclusive_time.h). Nothing: the source does not tell.
  std::optional<std::int64_t> exclusive_ns{};
  std::string category{};  ///< by conf/categories

  /// What it costs its stage.
  std::int64_t cost_ns() const { return exclusive_ns.value_or(total_ns); }
};

/// What ncu counted of one launch.
struct kernel_counters {
  std::string kernel_name;
  std::vector<std::string>
      ranges;  ///< around the launch, outermost first: stages and operators (name_stages)
  int device = 0;
  std::array<std::uint32_t, 3> grid{};
  std::array<std::uint32_t, 3> block{};
  std::map<std::string, double> metrics;  ///< by ncu's name, in base units; an absent one was not counted
  /// All ranges around it, as the tool names them: domain (empty: the default one) and name.
  std::vector<std::pair<std::string, std::string>> open_ranges{};
};

/// An operator's (inner NVTX range's) sum over one stage.
struct operator_record {
  std::string stage;
  std::string op_name;
  std::optional<std::int64_t> total_ns;  ///< host time inside the range, nested ranges included; nothing
                                         ///< where the operator was replayed from a graph
  std::optional<std::int64_t> cuda_ns;   ///< device time of the kernels it launched
  std::int64_t calls = 0;
};

/// FLOPs and bytes that one repetition of a stage must do, counted from the architecture.
struct stage_work {
  std::optional<double> flops;
  std::optional<double> bytes;
};

/// Of the samples of one quantity.
struct value_spread {
  double min = 0;
  double median = 0;
  double max = 0;
};

/// What a GPU did while the repetitions of one stage were timed.
struct stage_telemetry {
  std::int64_t windows_count = 0;  ///< timed runs of the stage
  std::int64_t windows_ns = 0;     ///< all of them together
  std::int64_t samples_count = 0;
  std::optional<value_spread> sm_clock_mhz;
  std::optional<value_spread> memory_clock_mhz;
  std::optional<value_spread> power_w;
  std::optional<value_spread> temperature_c;
  std::optional<std::vector<std::string>> throttle_reasons;  ///< in any of the samples
  std::optional<double> energy_j;                            ///< of energy_runs_count runs
  std::optional<std::int64_t> energy_runs_count;             ///< nothing: of all windows
  std::optional<std::int64_t> energy_runs_ns;                ///< all of those runs together
  std::optional<double> energy_uncertainty_ratio;
  std::string power_method;
  std::map<std::string, std::string> not_measured;  ///< why a value is absent, by its key
};

/// One of the inputs that a workload runs one after the other in each repetition.
struct workload_input {
  std::string name;
  std::string image;                                            ///< in words; empty: it has none
  std::map<std::string, std::int64_t> tokens;                   ///< prompt, of these image; decode
  std::map<std::string, std::vector<std::int64_t>> samples_ns;  ///< by stage, one a repetition
};

/// What the workload's result JSON says (the contract is in workloads/README.md).
struct workload_result {
  std::string mode;  ///< "bench" or "profile"
  std::string device_kind;
  std::string device_name;
  std::string pci_bus_id;  ///< of a GPU, as CUDA spells it: "0000:3b:00.0"; empty: it was not said
  std::map<std::string, std::string> library_versions;          ///< that the workload computes with
  std::map<std::string, std::vector<std::int64_t>> samples_ns;  ///< by stage, one a repetition
  std::vector<std::int64_t> decode_step_ns;                     ///< every decode step of every repetition
  std::vector<workload_input> inputs;      ///< their samples add up to samples_ns; empty: it does not tell
  std::map<std::string, stage_work> work;  ///< by stage
  std::vector<std::string> work_assumptions;
  std::optional<double> ceiling_flops_per_s;
  std::optional<double> ceiling_bytes_per_s;
  std::string ceiling_method;
  std::string ceilings_reason;                 ///< why there are none
  std::map<std::string, std::int64_t> tokens;  ///< prompt, decode, batch
  std::string model_name;
  std::string model_architecture;
  std::string model_dtype;
  std::string model_weights;
  std::map<std::string, double> model_dims;
  std::optional<std::int64_t> parameters;
  std::optional<std::int64_t> active_parameters;
  std::optional<std::int64_t> memory_peak_bytes;  ///< CPU: of the process; GPU: in use there at the end
  std::optional<std::int64_t> weight_bytes;
  std::optional<std::int64_t> kv_cache_bytes;
  std::optional<std::int64_t> scratch_bytes;
  std::map<std::string, stage_telemetry> telemetry;  ///< by stage
  std::string telemetry_reason;                      ///< why there is none
  std::optional<std::string> logits_hash;
  std::optional<double> reference_distance;
  std::optional<double> reference_cosine;
  std::optional<std::string> reference_name;
  experts_by_stage experts;  ///< of a model with experts
};

enum class step_state { ok, skipped, failed };

}  // namespace profgate::core
