#include "ncu_metric_names.h"

#include <array>

namespace profgate::parsers {
namespace {

struct scaled_word {
  std::string_view word;
  double factor;
};

/// Seconds, as a unit's numerator or denominator; older versions spell them out.
constexpr std::array<scaled_word, 8> times_in_s = {{{"s", 1},
                                                    {"second", 1},
                                                    {"ms", 1e-3},
                                                    {"msecond", 1e-3},
                                                    {"us", 1e-6},
                                                    {"usecond", 1e-6},
                                                    {"ns", 1e-9},
                                                    {"nsecond", 1e-9}}};

/// Things that are counted.
constexpr std::array<std::string_view, 16> counted_units = {
    "%",      "byte", "hz",   "cycle", "inst",    "block", "cluster",   "register",
    "thread", "SM",   "warp", "pass",  "request", "op",    "wavefront", "sector"};

constexpr std::array<scaled_word, 5> prefixes = {
    {{"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}}};

double factor_in_s(std::string_view word) {
  for (const scaled_word& time : times_in_s) {
    if (time.word == word) return time.factor;
  }
  return 0;
}

double factor_of_count(std::string_view word) {
  for (const std::string_view known : counted_units) {
    if (known == word) return 1;
    for (const scaled_word& prefix : prefixes) {
      if (word.starts_with(prefix.word) && word.substr(prefix.word.size()) == known) return prefix.factor;
    }
  }
  return 0;
}

struct renamed_metric {
  std::string_view old_name;
  std::string_view name;
  double factor;
};

constexpr double bytes_a_dram_sector = 32;

/// The same sums, counted a level higher (2020 to 2022) or in sectors.
constexpr std::array<renamed_metric, 11> renamed = {{
    {"sm__sass_thread_inst_executed_op_fadd_pred_on.sum",
     "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 1},
    {"sm__sass_thread_inst_executed_op_fmul_pred_on.sum",
     "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 1},
    {"sm__sass_thread_inst_executed_op_ffma_pred_on.sum",
     "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 1},
    {"sm__sass_thread_inst_executed_op_hadd_pred_on.sum",
     "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", 1},
    {"sm__sass_thread_inst_executed_op_hmul_pred_on.sum",
     "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", 1},
    {"sm__sass_thread_inst_executed_op_hfma_pred_on.sum",
     "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", 1},
    {"sm__sass_thread_inst_executed_op_dadd_pred_on.sum",
     "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", 1},
    {"sm__sass_thread_inst_executed_op_dmul_pred_on.sum",
     "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", 1},
    {"sm__sass_thread_inst_executed_op_dfma_pred_on.sum",
     "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", 1},
    {"dram__sectors_read.sum", "dram__bytes_read.sum", bytes_a_dram_sector},
    {"dram__sectors_write.sum", "dram__bytes_write.sum", bytes_a_dram_sector},
}};

struct labelled_metric {
  std::string_view label;
  std::string_view base_unit;
  std::string_view name;
};

constexpr std::array<labelled_metric, 10> labelled = {{
    {"Duration", "ns", "gpu__time_duration.sum"},
    {"Memory Throughput", "%", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"Memory Throughput", "byte/s", "dram__bytes.sum.per_second"},
    {"DRAM Throughput", "%", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"Compute (SM) Throughput", "%", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"Achieved Occupancy", "%", "sm__warps_active.avg.pct_of_peak_sustained_active"},
    {"Theoretical Occupancy", "%", "sm__maximum_warps_per_active_cycle_pct"},
    {"Elapsed Cycles", "cycle", "gpc__cycles_elapsed.max"},
    {"Registers Per Thread", "register/thread", "launch__registers_per_thread"},
    {"Waves Per SM", "", "launch__waves_per_multiprocessor"},
}};

/// "usecond" and "ns" are both times, "Gbyte/second" and "byte/s" both rates.
std::string_view base_of(std::string_view unit) {
  if (factor_in_s(unit) != 0) return "ns";
  const std::size_t slash = unit.find('/');
  if (slash != std::string_view::npos && factor_in_s(unit.substr(slash + 1)) != 0 &&
      unit.substr(0, slash).ends_with("byte")) {
    return "byte/s";
  }
  return unit;
}

}  // namespace

double factor_to_base_unit(std::string_view unit) {
  if (unit.empty()) return 1;
  if (const double time = factor_in_s(unit); time != 0) return time / 1e-9;
  const std::size_t slash = unit.find('/');
  const double numerator = factor_of_count(unit.substr(0, slash));
  if (slash == std::string_view::npos || numerator == 0) return numerator;
  const std::string_view below = unit.substr(slash + 1);
  if (const double time = factor_in_s(below); time != 0) return numerator / time;
  const double denominator = factor_of_count(below);
  return denominator == 0 ? 0 : numerator / denominator;
}

bool is_time_unit(std::string_view unit) {
  return factor_in_s(unit) != 0;
}

metric_name current_metric_name(std::string_view name) {
  for (const renamed_metric& row : renamed) {
    if (row.old_name == name) return {std::string(row.name), row.factor};
  }
  return {std::string(name), 1};
}

std::string metric_of_label(std::string_view label, std::string_view unit) {
  for (const labelled_metric& row : labelled) {
    if (row.label == label && row.base_unit == base_of(unit)) return std::string(row.name);
  }
  return "";
}

}  // namespace profgate::parsers
