#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gate/attribution.h"
#include "gate/exact_gates.h"
#include "gate/figure_units.h"
#include "gate/suspects.h"

/// What is known of one build on one machine: its processes, what they ran under, and where they come from.
/// A baseline is a run set; so is each arm of a comparison.
namespace profgate::gate {

/// What was watched while one process ran. Nothing: it could not be seen (a CPU, no NVML).
struct run_conditions {
  std::optional<double> sm_clock_mhz{};  ///< median
  std::optional<double> temperature_c{};
  std::optional<double> power_w{};
  std::vector<std::string> throttle_reasons{};
  std::vector<std::string> foreign_processes{};  ///< "4711 python": computed on the same GPU
};

/// One fresh process of the bare workload.
struct process_record {
  std::size_t slot = 0;  ///< its place in the order in which the processes of both arms ran
  std::string started_utc{};
  std::map<std::string, std::vector<std::int64_t>> samples_ns{};  ///< by stage, one an iteration, in order
  run_conditions conditions{};
  std::optional<std::string> spoiled_by{};  ///< why it does not count; it was repeated
};

/// What must be equal for two run sets to be compared at all, and what is worth a warning.
struct build_identity {
  // The key: other values are another thing.
  std::string pair{};                ///< "llama-3.1-8b.decode-b1"
  std::string model{};               ///< "llama-3.1-8b"
  std::string config_sha256{};       ///< of the settings that decide what is computed and measured
  std::string device_name{};         ///< "NVIDIA H200", or the CPU's
  std::int64_t multiprocessors = 0;  ///< of a CPU: its cores
  bool is_profiled = false;          ///< times under a profiler never meet bare ones
  // Provenance: differences are warned about.
  std::string commit{};  ///< whole; empty outside git
  bool is_dirty = false;
  std::string profgate_version{};
  std::map<std::string, std::string> versions{};  ///< "driver" → "580.159.04", "cuda_runtime", "pip torch", …
  std::string host{};
  std::string boot_id{};
  std::string device_uuid{};
  /// Of a command that was typed to be compared with another: config_sha256 without the command, which is
  /// meant to differ. Empty: nobody asked for that.
  std::string typed_settings_sha256{};
};

/// Among versions: what stands before the reason why "pip packages" or "dpkg packages" could not be found
/// out.
inline const std::string unknown_prefix = "not known: ";

/// A package that the two do not have alike.
struct package_change {
  std::string name{};      ///< "pip torch", "dpkg libcublas-13-0"
  std::string baseline{};  ///< its version; empty: it is not installed
  std::string candidate{};
};

struct run_set {
  build_identity identity{};
  std::string created_utc{};
  std::vector<process_record> processes{};                                  ///< in the order they ran
  stage_structures structure{};                                             ///< from a traced process
  std::vector<std::map<std::string, analysis::stage_operations>> traces{};  ///< by traced process, by stage
  // What run sets of an earlier profgate do not say.
  core::experts_by_stage experts{};  ///< of a model with experts: stages that all processes routed alike
  std::vector<std::string> gated_stages{};      ///< that it was measured for, in the workload's order
  figure_units units_of_figures{};              ///< that the program tells itself, those not judged too
  std::optional<std::int64_t> decode_tokens{};  ///< of one decode_all; fewer than the pair's own
  std::string untraced_because{};               ///< why there are no traces, where there should be some
  std::vector<kernel_counts> counters{};        ///< of the kernels that a regression was put down to
  std::string uncounted_because{};              ///< why there are none, where there should be some
};

}  // namespace profgate::gate
