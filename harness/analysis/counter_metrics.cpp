#include "analysis/counter_metrics.h"

#include <fmt/format.h>

#include <array>
#include <optional>

namespace profgate::analysis {
namespace {

constexpr const char* time_sum = "gpu__time_duration.sum";
constexpr const char* dram_read = "dram__bytes_read.sum";
constexpr const char* dram_write = "dram__bytes_write.sum";
constexpr const char* dram_rate = "dram__bytes.sum.per_second";
constexpr const char* scheduler_cycles = "smsp__cycles_elapsed.avg";
constexpr const char* sm_throughput = "sm__throughput.avg.pct_of_peak_sustained_elapsed";
constexpr const char* memory_throughput = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed";
/// Of matrix instructions, and a few of packed half-precision ones, which sm__pipe_tensor_cycles_active holds
/// all.
constexpr const char* tensor_cycles =
    "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active.sum";

/// One kind of arithmetic: instructions of each thread, times the operations in one.
struct instruction_kind {
  const char* part;
  const char* operation;
  double flops;
};

/// The half-precision instructions work on pairs, as the roofline of ncu counts them.
constexpr std::array<instruction_kind, 9> instructions = {{{"fp32", "fadd", 1},
                                                           {"fp32", "fmul", 1},
                                                           {"fp32", "ffma", 2},
                                                           {"fp16", "hadd", 2},
                                                           {"fp16", "hmul", 2},
                                                           {"fp16", "hfma", 4},
                                                           {"fp64", "dadd", 1},
                                                           {"fp64", "dmul", 1},
                                                           {"fp64", "dfma", 2}}};

struct tensor_kind {
  const char* part;
  const char* metric;
};

/// A multiply-add of a tensor core counts as two there.
constexpr std::array<tensor_kind, 5> tensors = {
    {{"tensor bf16", "sm__ops_path_tensor_src_bf16_dst_fp32.sum"},
     {"tensor fp16", "sm__ops_path_tensor_src_fp16.sum"},
     {"tensor tf32", "sm__ops_path_tensor_src_tf32_dst_fp32.sum"},
     {"tensor fp8", "sm__ops_path_tensor_src_fp8_sparsity_off.sum"},
     {"tensor fp64", "sm__ops_path_tensor_src_fp64.sum"}}};

std::string instruction_sum(const char* operation) {
  return fmt::format("smsp__sass_thread_inst_executed_op_{}_pred_on.sum", operation);
}

std::string instruction_rate(const char* operation) {
  return instruction_sum(operation) + ".per_cycle_elapsed";
}

std::optional<double> find(const metric_values& metrics, const std::string& name) {
  const auto found = metrics.find(name);
  return found == metrics.end() ? std::nullopt : std::optional(found->second);
}

measured<double> value_of(const char* name, const metric_values& metrics) {
  return or_absent(find(metrics, name), fmt::format("ncu did not count {}", name));
}

/// The sum itself, or the roofline set's rate times its cycles.
std::optional<double> executed(const metric_values& metrics, const char* operation) {
  if (const auto sum = find(metrics, instruction_sum(operation))) return sum;
  const auto rate = find(metrics, instruction_rate(operation));
  const auto cycles = find(metrics, scheduler_cycles);
  return rate && cycles ? std::optional(*rate * *cycles) : std::nullopt;
}

/// Adds to a list in words, once: "fp16" is no part of "tensor fp16".
void add_part(const std::string& part, std::string& parts) {
  if ((", " + parts + ",").find(", " + part + ",") != std::string::npos) return;
  parts += (parts.empty() ? "" : ", ") + part;
}

struct tensor_work {
  double flops = 0;
  std::string counted;  ///< types; empty: none
  std::string uncounted;
};

tensor_work tensor_work_of(const metric_values& metrics) {
  tensor_work work;
  for (const tensor_kind& kind : tensors) {
    const auto operations = find(metrics, kind.metric);
    work.flops += operations.value_or(0);
    add_part(kind.part, operations ? work.counted : work.uncounted);
  }
  return work;
}

/// Whether the cycles need no matrix product. Packed half-precision instructions pass by the tensor cores,
/// compilers take them to load constants, and some leave a cycle: an H200 shows 2,650 where 32,768 warps
/// executed one.
bool are_of_packed_instructions(double cycles, const metric_values& metrics) {
  constexpr double threads_a_warp = 32;
  return cycles <= executed(metrics, "hfma").value_or(0) / threads_a_warp;
}

/// Why the kernel may have multiplied on tensor cores what nobody counted; empty: it has not.
std::string why_tensor_work_is_unknown(const metric_values& metrics, const tensor_work& work) {
  if (work.flops > 0) return "";
  const auto cycles = find(metrics, tensor_cycles);
  if (cycles && !are_of_packed_instructions(*cycles, metrics)) {
    return fmt::format("its tensor cores worked on none of what ncu counted ({}); not counted: {}",
                       work.counted, work.uncounted.empty() ? "integers" : work.uncounted);
  }
  if (cycles || work.uncounted.empty()) return "";
  return fmt::format("ncu counted {} alone on tensor cores, and not {}, nor {}, which would rule them out",
                     work.counted, work.uncounted, tensor_cycles);
}

}  // namespace

measured<double> duration_ns_of(const metric_values& metrics) {
  return value_of(time_sum, metrics);
}

measured<double> dram_bytes_of(const metric_values& metrics) {
  const auto read = find(metrics, dram_read);
  const auto written = find(metrics, dram_write);
  if (read && written) return *read + *written;
  const auto rate = find(metrics, dram_rate);
  const auto time_ns = find(metrics, time_sum);
  if (rate && time_ns) return *rate * *time_ns * 1e-9;
  return measured<double>::absent(fmt::format("ncu did not count {} and {}", dram_read, dram_write));
}

const std::vector<kernel_metric>& kernel_metrics() {
  static const std::vector<kernel_metric> rows{
      {"sm__warps_active.avg.pct_of_peak_sustained_active", 100, "occupancy_ratio",
       "warps that were active, over what the multiprocessors hold", "occupancy", "percent"},
      {"launch__waves_per_multiprocessor", 1, "waves_ratio", "blocks over what the GPU holds at once", "",
       ""},
      {"launch__registers_per_thread", 1, "registers_per_thread_count", "as the kernel was compiled",
       "registers", "count"},
      {"launch__occupancy_limit_registers", 1, "occupancy_limit_registers_blocks",
       "how many blocks one multiprocessor could hold by what each of its resources allows: the smallest "
       "limits the occupancy",
       "", ""},
      {"launch__occupancy_limit_shared_mem", 1, "occupancy_limit_shared_memory_blocks", "", "", ""},
      {"launch__occupancy_limit_warps", 1, "occupancy_limit_warps_blocks", "", "", ""},
      {"launch__occupancy_limit_blocks", 1, "occupancy_limit_blocks_blocks", "", "", ""},
  };
  return rows;
}

measured<double> value_of(const kernel_metric& metric, const metric_values& metrics) {
  const measured<double> value = value_of(metric.ncu_name, metrics);
  return value ? measured<double>(*value / metric.divisor) : value;
}

measured<double> sm_throughput_ratio_of(const metric_values& metrics) {
  const measured<double> percent = value_of(sm_throughput, metrics);
  return percent ? measured<double>(*percent / 100) : percent;
}

measured<double> memory_throughput_ratio_of(const metric_values& metrics) {
  const measured<double> percent = value_of(memory_throughput, metrics);
  return percent ? measured<double>(*percent / 100) : percent;
}

counted_flops flops_of(const metric_values& metrics) {
  const tensor_work on_tensor_cores = tensor_work_of(metrics);
  counted_flops result;
  result.parts = on_tensor_cores.counted;
  double flops = on_tensor_cores.flops;
  for (const instruction_kind& kind : instructions) {
    const auto count = executed(metrics, kind.operation);
    if (!count) continue;
    flops += *count * kind.flops;
    add_part(kind.part, result.parts);
  }
  // With only one of the two a product on the other would look like no arithmetic at all.
  const bool has_fp32 = executed(metrics, "ffma").has_value();
  if (on_tensor_cores.counted.empty() || !has_fp32) {
    result.flops = measured<double>::absent(
        fmt::format("ncu did not count {}", has_fp32 ? tensors.front().metric : instruction_sum("ffma")));
    return result;
  }
  const std::string reason = why_tensor_work_is_unknown(metrics, on_tensor_cores);
  result.flops = reason.empty() ? measured<double>(flops) : measured<double>::absent(reason);
  return result;
}

std::vector<std::string> needed_metrics() {
  std::vector<std::string> names = {time_sum,         dram_read,     dram_write,        dram_rate,
                                    scheduler_cycles, sm_throughput, memory_throughput, tensor_cycles};
  for (const kernel_metric& metric : kernel_metrics()) names.emplace_back(metric.ncu_name);
  for (const tensor_kind& kind : tensors) names.emplace_back(kind.metric);
  for (const instruction_kind& kind : instructions) {
    names.push_back(instruction_sum(kind.operation));
    names.push_back(instruction_rate(kind.operation));
  }
  return names;
}

}  // namespace profgate::analysis
