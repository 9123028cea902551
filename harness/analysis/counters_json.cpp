#include "profile_parts.h"

namespace profgate::analysis {
namespace {

template <class T>
measured<T> if_in_timeline(const counted_kernel& kernel, T value) {
  return kernel.is_in_timeline ? measured<T>(value) : measured<T>::absent(kernel.share_ratio.reason());
}

json counted_json(const counted_kernel& kernel) {
  json_object object;
  object.put("kernel_name", kernel.group.kernel_name);
  object.put_text("op", kernel.group.op, "it was launched under no operator");
  object.put("device", "cuda:" + std::to_string(kernel.group.device));
  object.put("grid_blocks", json(kernel.group.grid));
  object.put("block_threads", json(kernel.group.block));
  object.put("launches_count", kernel.launches);
  object.put("traced_total_ns", if_in_timeline(kernel, kernel.group.total_ns));
  object.put("traced_calls_count", if_in_timeline(kernel, kernel.group.calls));
  object.put("share_ratio", kernel.share_ratio);
  object.put("duration_mean_ns", kernel.duration_ns);
  object.put("dram_mean_bytes", kernel.dram_bytes);
  object.put("work_mean_flops", kernel.flops);
  object.put_text("work_parts", kernel.flops_parts, "ncu counted no arithmetic");
  object.put("achieved_flops_per_s", kernel.flops_per_s);
  object.put("achieved_bytes_per_s", kernel.bytes_per_s);
  object.put("intensity_flops_per_byte", kernel.intensity_flops_per_byte);
  object.put("flops_over_ceiling_ratio", kernel.flops_over_ceiling_ratio);
  object.put("bytes_over_ceiling_ratio", kernel.bytes_over_ceiling_ratio);
  object.put("roof_ratio", kernel.roof_ratio);
  object.put("occupancy_ratio", kernel.occupancy_ratio);
  object.put("waves_ratio", kernel.waves);
  object.put("bound", kernel.bound);
  object.put_text("evidence", kernel.evidence, kernel.bound.reason());
  return object.take();
}

}  // namespace

json stage_counters_json(const stage_counters& counters) {
  json_object object;
  object.put("launches_count", counters.launches);
  object.put("coverage_ratio", counters.coverage_ratio);
  object.put("unmatched_launches_count", counters.unmatched_launches);
  json kernels = json::array();
  for (const counted_kernel& kernel : counters.kernels) kernels.push_back(counted_json(kernel));
  object.put("kernels", std::move(kernels));
  return object.take();
}

json counter_settings_json(const counter_facts& facts) {
  json_object object;
  const std::string& reason = facts.absent_reason;
  object.put_text("cache_control", facts.launches.empty() ? "" : facts.cache_control, reason);
  object.put_text("clock_control", facts.launches.empty() ? "" : facts.clock_control, reason);
  object.put_text("replay_mode", facts.launches.empty() ? "" : facts.replay_mode, reason);
  return object.take();
}

}  // namespace profgate::analysis
