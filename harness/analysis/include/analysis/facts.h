#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/kernel_patterns.h"
#include "core/decode_steps.h"
#include "core/records.h"

/// What the analysis is given: everything that one run left, as plain data. Nothing here is derived.
namespace profgate::analysis {

/// Dense peaks: the vendor's, from conf/hardware/, or what somebody set.
struct hardware_peaks {
  std::string name;                           ///< empty: nobody named the hardware
  std::map<std::string, double> peak_tflops;  ///< by dtype
  std::optional<double> memory_bandwidth_bytes_per_s;
  std::string source;  ///< where the vendor says so; empty: somebody set them

  bool is_of_vendor() const { return !source.empty(); }
};

/// Whose word on a peak it is, in the words of every report: "vendor's peak", "configured peak". What the
/// workload measured is a "measured ceiling".
inline std::string_view whose_peaks(bool are_configured) {
  return are_configured ? "configured" : "vendor's";
}

/// What a program told of its run by itself.
struct program_figure {
  std::string name;
  std::string unit;    ///< as its user calls it: "tokens/s"
  std::string source;  ///< "out.json", "standard output"
  std::vector<double> values;
};

/// A stage's source where its ranges are timed as they are.
inline constexpr const char* nvtx_ranges_source = "NVTX ranges";

/// A stage's source where it has sync: true.
inline constexpr const char* synchronised_ranges_source =
    "its NVTX ranges, the device synchronised at both ends";
/// That of the whole process, where it is a server.
inline constexpr const char* whole_client_source = "the whole client";

/// A stage's source where an adapter opened its ranges.
inline constexpr const char* adapter_ranges_source = "ranges of the PyTorch adapter";

/// What the bare (untraced) run left. All times in reports come from here.
struct bare_facts {
  std::vector<std::string> stages;  ///< in the order that people read
  std::optional<core::workload_result> bench;
  std::string bench_absent_reason;  ///< required where `bench` is empty
  /// Of a program that writes no result: its model, and the work that one of that shape has to do.
  std::optional<core::workload_result> counted{};
  /// Where nobody tells its FLOPs and bytes: what would.
  std::string how_to_tell_work = "a result JSON of its own can tell them (workloads/README.md)";
  bool is_python = false;         ///< the program is a Python's script
  bool imports_torch = false;     ///< it was seen to, and no adapter was asked for
  bool has_adapter = false;       ///< one was asked for
  std::string adapter_silence{};  ///< that it never reported in, and why that may be; empty: it did
  std::vector<std::int64_t> process_wall_ns;  ///< for a program that writes no result: stage "process"
  /// The same, by stage: how long each of its occurrences took.
  std::map<std::string, std::vector<std::int64_t>> stage_samples_ns{};
  /// Of each of those, the number of its process; absent: there was one.
  std::map<std::string, std::vector<std::uint32_t>> stage_processes{};
  /// Whether first occurrences that take very long warm up: the stages are an adapter's, so the program has
  /// no way to call a warm-up something else, and all of them have the same work.
  bool has_unnamed_warm_up = false;
  /// "4 texts of 16 to 200 prompt tokens": the spread of their times is theirs, and none stands for all.
  /// Empty: most are of one length, or nobody tells.
  std::string lengths_that_differ{};
  /// By stage, of each process that warms up: left out of stage_samples_ns.
  std::map<std::string, std::vector<std::vector<std::int64_t>>> warm_up_ns{};
  /// Of those, by stage, where they come from ("out.json"); the others are of its NVTX ranges as they are.
  std::map<std::string, std::string> stage_sources{};
  double range_cost_ns = 0;  ///< what the collector takes to record one of those ranges; 0: nobody tried
  /// What it was seen to be fed and to make, as a result has it: "batch", "prompt", "decode"; empty: unknown.
  std::map<std::string, std::int64_t> seen_tokens{};
  std::optional<core::steps_without_cache> without_cache{};  ///< nothing: none was seen
  /// The same of the times that its tokens took; empty: those of its stages tell.
  std::vector<std::int64_t> first_token_ns{};
  std::string ttft_leaves_out{};  ///< "the forward of Encoder before each prefill, 132 ms"; empty: nothing
  std::string
      decoding_in_turns{};  ///< why nothing is told of tokens: two models decode; empty: none or one does
  std::string first_token_absent_reason{};  ///< why those times are withheld; empty: they are not
  std::vector<std::int64_t> further_token_ns{};
  std::vector<std::int64_t> further_tokens{};  ///< how many of them each text has, in their order
  std::vector<std::int64_t> decode_steps{};    ///< in each sample of decode_all; empty: nobody tells
  std::string other_lengths{};                 ///< texts.h tells of leave_out_other_lengths()
  bool is_mean_decode = false;                 ///< seen_tokens has the mean of its texts' steps, rounded
  std::vector<program_figure> figures{};
  std::optional<hardware_peaks> peaks;  ///< nothing: none are known
  /// Of the CPU that computes; nothing: it is a GPU that does, or nobody tells.
  std::optional<std::int64_t> last_level_cache_bytes{};
  std::optional<std::int64_t> peak_rss_bytes;  ///< the operating system's own figure for the process
};

/// One traced run of the workload. With gating nsys needs one a stage, the embedded collector one in all.
struct capture {
  std::string name;                 ///< e.g. "nsys/run.sqlite"
  std::optional<std::string> gate;  ///< the stage it was gated on, or several: "decode_all, prefill"
  core::timeline timeline;
  std::string part{};  ///< of the run that was recorded, where no gate tells: "from 1 s, for 1 s"; empty: all
};

/// What a tool itself summed up over the kernels of one capture. Our own sums are held against it; where the
/// capture is not there, it is all that is known of its kernels.
struct kernel_summary {
  std::string name;                 ///< e.g. "nsys/run_cuda_gpu_kern_sum.csv"
  std::string capture;              ///< e.g. "nsys/run.sqlite"
  std::optional<std::string> gate;  ///< as the capture's
  std::vector<core::kernel_record> kernels{};
  std::map<std::string, std::vector<core::kernel_record>> by_stage{};  ///< of the stages that it tells
  std::string unreadable{};                                            ///< why it could not be read
};

/// What ncu counted, and how.
struct counter_facts {
  std::vector<core::kernel_counters> launches{};
  std::string absent_reason{};  ///< required where there are no launches
  std::string cache_control{};  ///< "all": caches were flushed before each pass
  std::string clock_control{};
  std::string replay_mode{};
  std::optional<std::int64_t> multiprocessors{};  ///< of the GPU; nothing: nobody tells
};

struct step_facts {
  std::string name;
  core::step_state state = core::step_state::ok;
  std::string reason;  ///< required unless ok
  std::string remedy;
  std::optional<double> duration_s;
  std::string tool;
  std::string tool_version;
  std::vector<std::string> notes;
};

struct artifact_facts {
  std::string path;  ///< relative to the run directory
  std::string title;
  std::uint64_t size_bytes = 0;
};

struct named_value {
  std::string name;
  std::string value;
};

/// A setting that is not its default.
struct changed_setting {
  std::string key;
  std::string value;
  std::string default_value;
};

struct run_facts {
  std::string run_id;
  std::string created_utc;  ///< ISO 8601
  std::string pair;
  std::string model;
  std::string model_variant{};  ///< such as "8B"; empty: none
  std::string config;
  std::string device;  ///< "cpu" or "cuda"
  std::string mode;    ///< "deep" or "light"
  std::string config_hash;
  std::string nvtx_domain;
  std::vector<std::string> device_timed_stages{};          ///< by events among the device's work
  std::map<std::string, std::string> stage_expressions{};  ///< by stage, where one tells its ranges
  std::size_t top_n_kernels = 20;
  bare_facts bare;
  std::vector<core::workload_result> profiled;  ///< what the traced runs said of themselves
  std::vector<capture> captures;
  std::string program{};               ///< what people call the program that was run; empty: nobody tells
  std::string captures_absent_reason;  ///< required where `captures` is empty
  std::vector<kernel_summary> kernel_summaries{};
  counter_facts counters{};
  category_rules kernel_categories{};
  kernel_filter region_kernels{};  ///< which kernels the regions report shows
  std::vector<step_facts> steps;
  std::vector<artifact_facts> artifacts;
  std::vector<named_value> inputs;
  std::vector<changed_setting> changed_settings{};
  std::string env_json = "{}";  ///< the provenance document, embedded as it is
};

}  // namespace profgate::analysis
