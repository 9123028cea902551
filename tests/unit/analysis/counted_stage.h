#pragma once

#include <string>
#include <vector>

#include "analysis/counters.h"
#include "analysis/findings.h"

/// Stages whose kernels were counted, and what is found in them.
namespace profgate::analysis {

inline const std::vector<std::string> stages = {"prefill", "decode_all"};
inline const ceilings roofs{measured<double>(1e14), measured<double>(4e12)};
inline constexpr const char* tensor_cycles =
    "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active.sum";

/// As the light set counts: `bytes` from DRAM and `ffma` fused multiply-adds, none of them on tensor cores.
inline core::kernel_counters launch(const std::string& name, double time_ns, double bytes, double ffma,
                                    const std::string& op = "mlp.down") {
  core::kernel_counters counted;
  counted.kernel_name = name;
  counted.ranges = {"decode_all", "decode_step", op};
  counted.grid = {128, 1, 1};
  counted.block = {256, 1, 1};
  counted.metrics = {{"gpu__time_duration.sum", time_ns},
                     {"dram__bytes_read.sum", bytes},
                     {"dram__bytes_write.sum", 0},
                     {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", 0},
                     {tensor_cycles, 0},
                     {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", ffma},
                     {"sm__warps_active.avg.pct_of_peak_sustained_active", 25},
                     {"launch__waves_per_multiprocessor", 0.48}};
  return counted;
}

/// What launch() counts, as the timeline has it.
inline core::kernel_group traced_group(const std::string& name, std::int64_t total_ns,
                                       const std::string& op = "mlp.down", std::int64_t calls = 10) {
  return {name, op, 0, {128, 1, 1}, {256, 1, 1}, total_ns, calls};
}

inline measured<stage_counters> analyze(const std::vector<core::kernel_counters>& launches,
                                        const std::vector<core::kernel_group>& groups) {
  counter_facts facts;
  facts.launches = launches;
  facts.absent_reason = "ncu is not installed";
  return analyze_counters(facts, "decode_all", stages, groups, groups.empty() ? "there is no timeline" : "",
                          roofs);
}

inline findings findings_with(const stage_figures& stage) {
  run_figures figures;
  figures.stages = {stage};
  return find(run_facts{}, figures);
}

/// "text (evidence)" of each takeaway of a run with just this stage.
inline std::string takeaways_with(const stage_figures& stage) {
  std::string words;
  for (const takeaway& item : findings_with(stage).takeaways)
    words += item.text + " (" + item.evidence + ")\n";
  return words;
}

/// The same of the recommendations.
inline std::string advice_with(const stage_figures& stage) {
  std::string words;
  for (const recommendation& item : findings_with(stage).recommendations)
    words += item.text + " (" + item.evidence + ")\n";
  return words;
}

/// The stage takes 100 µs: big 70 of them, slow 30 unless told otherwise, in ten launches and in five.
inline stage_figures stage_of_two(const core::kernel_counters& big, const core::kernel_counters& slow,
                                  std::int64_t slow_ns = 30000) {
  stage_figures stage;
  stage.bare.name = "decode_all";
  step_figures step;
  step.median_ns = step.mean_ns = 1e5;
  stage.step = step;
  stage.counters =
      analyze({big, slow}, {traced_group("big", 70000), traced_group("slow", slow_ns, "attn.core", 5)});
  return stage;
}

/// Counters of 40 % of its time, and a roof of 20 of its 100 µs.
inline void leave_most_uncounted(stage_figures& stage) {
  stage_counters few = *stage.counters;
  few.coverage_ratio = 0.4;
  stage.counters = few;
  stage.bare.use.roof_ns = 2e4;
  stage.bare.use.roof = std::string("memory");
  stage.bare.use.mbu_over_measured_ratio = 0.2;
  stage.bare.use.mfu_over_measured_ratio = 0.01;
}

}  // namespace profgate::analysis
