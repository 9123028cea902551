#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/facts.h"
#include "analysis/measured.h"
#include "core/records.h"

/// What the counters of single launches say of a stage's kernels.
namespace profgate::analysis {

/// A kernel that reaches this share of a measured ceiling, or of its multiprocessors' peak, is bound by it.
inline constexpr double bound_ratio = 0.5;
/// A kernel shorter than this is over before the next one could be launched.
inline constexpr double launch_bound_ns = 5000;

/// The measured ceilings of the bare run.
struct ceilings {
  measured<double> flops_per_s;
  measured<double> bytes_per_s;
};

/// Of one launch, the mean over those that were counted. Times are ncu's: clocks, caches and neighbours
/// differ from the run's own.
struct counted_kernel {
  core::kernel_group group;     ///< name as the timeline has it; total_ns and calls of the timeline
  bool is_in_timeline = false;  ///< by name, grid and block
  std::int64_t launches = 0;    ///< that were counted
  std::optional<std::int64_t> multiprocessors{};  ///< of its GPU; nothing: nobody tells
  measured<double> share_ratio;                   ///< of the stage's GPU time
  measured<double> duration_ns;
  measured<double> dram_bytes;
  measured<double> flops;
  std::string flops_parts;  ///< which arithmetic was counted
  measured<double> flops_per_s;
  measured<double> bytes_per_s;
  measured<double> intensity_flops_per_byte;
  measured<double> flops_over_ceiling_ratio;
  measured<double> bytes_over_ceiling_ratio;
  measured<double> roof_ratio;               ///< reached of what the roofline allows at this intensity
  measured<double> reached_ratio;            ///< of its roof, in the run; absent where no timeline has it
  measured<double> reached_alone_ratio;      ///< of its roof, alone under ncu
  measured<double> sm_throughput_ratio;      ///< of the multiprocessors' busiest part, over its peak
  measured<double> memory_throughput_ratio;  ///< the same of caches and DRAM
  std::map<std::string, measured<double>> metrics{};  ///< those of kernel_metrics(), by their keys
  measured<std::string> bound;  ///< "memory", "compute", "instructions", "launch" or "latency"
  std::string evidence;         ///< the figures that say so
};

struct stage_counters {
  std::vector<counted_kernel> kernels;  ///< largest share first, those outside of the timeline last
  std::int64_t launches = 0;
  measured<double> coverage_ratio;      ///< share of the stage's GPU time whose kernels were counted
  std::int64_t unmatched_launches = 0;  ///< of kernels that the timeline does not have
};

/// What a launch costs its stage, in the mean. The group must have calls.
double own_launch_ns(const core::kernel_group& group);

/// The launches of one stage. `groups` are the timeline's; `groups_absent_reason` where there are none.
measured<stage_counters> analyze_counters(const counter_facts& facts, const std::string& stage,
                                          const std::vector<std::string>& stages,
                                          const std::vector<core::kernel_group>& groups,
                                          const std::string& groups_absent_reason, const ceilings& roofs);

/// "25 launches of 9 of its 10 kernels were counted". A kernel is one name here, as in the tables: `kernels`
/// has one of several operators or grids several times.
std::string counted_in_words(const stage_counters& counters,
                             const std::vector<core::kernel_record>& traced_kernels);

/// The stage and the innermost operator around a launch, as in the timeline, by the names of its ranges,
/// outermost first; empty: none.
struct launch_place {
  std::string stage;
  std::string op;
};
launch_place place_of_launch(const std::vector<std::string>& ranges, const std::vector<std::string>& stages);

}  // namespace profgate::analysis
