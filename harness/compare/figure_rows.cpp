#include "compare/profile_comparison.h"

namespace profgate::compare {

// Keys are JSON pointers into profile.json, for stages into stages[].

const std::vector<figure_description>& run_figure_rows() {
  static const std::vector<figure_description> rows{
      {"/throughput/total_mean_ns", "all stages", "duration", better::lower},
      {"/throughput/tokens_mean_per_s", "decoded tokens a second", "per_s", better::higher},
      {"/throughput/ttft/p50_ns", "time to the first token, median", "duration", better::lower},
      {"/throughput/tpot/p50_ns", "time of a further token, median", "duration", better::lower},
      {"/throughput/tpot/p99_ns", "time of a further token, p99", "duration", better::lower},
      {"/throughput/utilisation/mfu_over_measured_ratio", "MFU, measured ceiling", "percent", better::higher},
      {"/throughput/utilisation/mfu_over_vendor_ratio", "MFU, vendor's peak", "percent", better::higher},
      {"/throughput/utilisation/mbu_over_measured_ratio", "MBU, measured ceiling", "percent", better::higher},
      {"/throughput/utilisation/mbu_over_vendor_ratio", "MBU, vendor's peak", "percent", better::higher},
      {"/throughput/memory_peak_bytes", "memory, peak", "bytes", better::lower},
      {"/throughput/weight_bytes", "memory, weights", "bytes"},
      {"/throughput/kv_cache_bytes", "memory, KV cache", "bytes"},
      {"/throughput/scratch_bytes", "memory, scratch", "bytes", better::lower},
      {"/throughput/energy_per_decoded_token_j", "energy of a decoded token", "energy", better::lower},
      {"/ceilings/measured_flops_per_s", "ceiling, arithmetic, measured", "flops_per_s"},
      {"/ceilings/measured_bytes_per_s", "ceiling, bandwidth, measured", "bytes_per_s"},
  };
  return rows;
}

const std::vector<figure_description>& stage_figure_rows() {
  static const std::vector<figure_description> rows{
      {"/bare/median_ns", "time, median", "duration", better::lower},
      {"/bare/mean_ns", "time, mean", "duration", better::lower},
      {"/bare/min_ns", "time, smallest", "duration", better::lower},
      {"/bare/max_ns", "time, largest", "duration", better::lower},
      {"/bare/samples_count", "repetitions", "count"},
      {"/share_ratio", "share of all stages", "percent"},
      {"/utilisation/achieved_flops_per_s", "arithmetic, achieved", "flops_per_s", better::higher},
      {"/utilisation/achieved_bytes_per_s", "bandwidth, achieved", "bytes_per_s", better::higher},
      {"/utilisation/mfu_over_measured_ratio", "MFU, measured ceiling", "percent", better::higher},
      {"/utilisation/mfu_over_vendor_ratio", "MFU, vendor's peak", "percent", better::higher},
      {"/utilisation/mbu_over_measured_ratio", "MBU, measured ceiling", "percent", better::higher},
      {"/utilisation/mbu_over_vendor_ratio", "MBU, vendor's peak", "percent", better::higher},
      {"/utilisation/roof_ns", "least time at the measured ceilings", "duration", better::lower},
      {"/idle/busy_ns", "device busy", "duration", better::lower},
      {"/idle/idle_ns", "device idle", "duration", better::lower},
      {"/idle/idle_ratio", "device idle, share", "percent", better::lower},
      {"/idle/launch_ns", "idle, waiting for a launch", "duration", better::lower},
      {"/idle/synchronisation_ns", "idle, waiting for the host", "duration", better::lower},
      {"/idle/copy_ns", "idle, copies", "duration", better::lower},
      {"/idle/other_ns", "idle, other", "duration", better::lower},
      {"/traced/kernel_own_ns", "kernel time, traced", "duration", better::lower},
      {"/launches_per_token_count", "launches a token", "count", better::lower},
      {"/kernels_per_token_count", "kernels a token", "count", better::lower},
      {"/overhead_ratio", "overhead of tracing", "percent"},
      {"/telemetry/sm_clock_median_mhz", "SM clock, median", "mhz"},
      {"/telemetry/power_median_w", "power, median", "watts"},
      {"/telemetry/temperature_median_c", "temperature, median, °C", "whole"},
      {"/telemetry/energy_mean_j", "energy of a repetition", "energy", better::lower},
  };
  return rows;
}

}  // namespace profgate::compare
