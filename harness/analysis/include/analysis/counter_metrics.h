#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/measured.h"

/// Quantities of one launch from ncu's metrics, by whichever of them there are. Absent ones say which metric
/// they would need.
namespace profgate::analysis {

using metric_values = std::map<std::string, double>;

measured<double> duration_ns_of(const metric_values& metrics);
measured<double> dram_bytes_of(const metric_values& metrics);
/// Of the busiest part of the multiprocessors, over its peak: ncu's speed of light of compute.
measured<double> sm_throughput_ratio_of(const metric_values& metrics);
/// Of the busiest part of caches and DRAM, over its peak.
measured<double> memory_throughput_ratio_of(const metric_values& metrics);

struct counted_flops {
  measured<double> flops;
  std::string parts;  ///< "tensor bf16, fp32": what was counted
};

/// Arithmetic of all kinds that were counted: tensor cores' operations, and two for each fused multiply-add.
/// Absent where tensor cores may have worked on a type that was not counted.
counted_flops flops_of(const metric_values& metrics);

/// A metric of ncu that is a figure as it is: counted, written, shown and described by its row alone.
struct kernel_metric {
  const char* ncu_name;
  double divisor;           ///< 100 turns percent into a ratio
  const char* key;          ///< in profile.json; ends in the unit
  const char* description;  ///< in PROFILE.md; empty: that of the row before holds for both
  const char* label;        ///< its column in kernels.md; empty: it has none
  const char* format;       ///< there, of render/values.h
};
const std::vector<kernel_metric>& kernel_metrics();
measured<double> value_of(const kernel_metric& metric, const metric_values& metrics);

/// Every metric that one of these reads, in no order: the columns that an import needs.
std::vector<std::string> needed_metrics();

}  // namespace profgate::analysis
