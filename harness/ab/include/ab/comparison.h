#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "ab/request.h"
#include "gate/run_set.h"

/// Runs fresh processes of two builds in turns until the gate can say something.
namespace profgate::ab {

/// Two run sets to be judged (gate/judge.h), and what they do not hold.
struct comparison_result {
  gate::run_set baseline{};
  gate::run_set candidate{};
  std::filesystem::path folder{};  ///< of the finished comparison: runs, logs, traces
  std::string baseline_name{};     ///< as the request has it, like what follows
  std::string candidate_name{};
  std::string look_deeper{};
  std::vector<std::string> warnings{};  ///< runs that failed once, traces that are not whole
  double seconds = 0;                   ///< that the runs took
};

/// Goes on where an earlier call of the same request was cut off. step_failure where a workload fails twice
/// in a row, interrupted by Ctrl-C, not_possible where the workload says so (exit code 77).
comparison_result run_comparison(const request& wanted);

/// Of a build on this machine as it is now. `device_name`: what a CPU is called, where the workload has said
/// so.
gate::build_identity identity_of_build(const surroundings& where, const arm_build& build,
                                       const std::string& device_name);

enum class traced_too { no, yes };

/// `count` bare processes of one build that count, after one that is dropped (it is the first of the set, as
/// gate::reduction_rules have it). With `traced_too` one traced process follows, for the structure and the
/// kernels. Spoiled processes are repeated and stay in the set, marked.
gate::run_set run_one_arm(const surroundings& where, const arm_build& build, std::size_t count,
                          traced_too traced = traced_too::no);

/// What is exact of one build, by stage, and what may be missing from it.
struct exact_evidence {
  gate::stage_structures structure{};
  std::vector<std::string> doubts{};
};

/// One traced process of a build, and nothing that is timed. A process that fails or is disturbed is run
/// again, twice at most; then step_failure.
exact_evidence trace_once(const surroundings& where, const arm_build& build);

}  // namespace profgate::ab
