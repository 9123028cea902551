// A run on a GPU with kernels of hostile names, counters and telemetry.
#include "golden_cases.h"
#include "nanoseconds.h"

namespace profgate::render {
namespace {

using analysis::run_facts;
using core::range_style;
using core::step_state;

const char* const gpu_environment = R"json({
  "host": {"cpu_model": "Xeon | 8480+", "cpus_usable_count": 16, "memory_bytes": 134000000000,
           "operating_system": "Ubuntu 24.04"},
  "gpu_at_start": {"driver_version": "580.65", "devices": [{"name": "NVIDIA H200"}]},
  "git": {"commit": null, "changed_files_count": null,
          "not_measured": {"commit": "the project is not a git checkout",
                           "changed_files_count": "the project is not a git checkout"}},
  "build": {"compiler": "GNU 13.3.0", "build_type": "Release"}
})json";

core::timeline gpu_timeline() {
  core::timeline timeline;
  timeline.tool = "nsys";
  timeline.tool_version = "2025.3.1";
  add_range(timeline, "prefill", 0, 40 * ms);
  add_range(timeline, "vision.sam", 0, 5 * ms);
  add_range(timeline, "attn|core <b>\"x\"</b> `code` *a* _b_", 5 * ms, 30 * ms);
  add_range(timeline, "decode_all", 50 * ms, 150 * ms);
  add_range(timeline, "moe.experts", 50 * ms, 120 * ms);
  add_range(timeline, "copy", 60 * ms, 70 * ms, 1, range_style::start_end);
  const auto launch = [&](std::string_view name, std::int64_t launched_ns, std::int64_t start_ns,
                          std::int64_t duration_ns, int device = 0) {
    const core::kernel_shape* shape =
        timeline.shapes.keep({timeline.texts.keep(name), {}, {132, 2, 1}, {256, 1, 1}});
    timeline.kernels.push_back({shape, device, 7, 100, 1, launched_ns, start_ns, start_ns + duration_ns});
  };
  launch("void gemm<(int)32, (bool)1>(const T *, float[4])", 6 * ms, 7 * ms, 20 * ms + 1);
  launch("void a|b<x, \"q\">(`t`)\n![img](http://x) $y$ #h ~s~", 8 * ms, 28 * ms, 2 * ms);
  launch("control\x01\x02\x1b[31m & 'quotes' \\| end\\", 51 * ms, 52 * ms, 30 * ms);
  launch("long_" + std::string(10000, 'k') + "_end", 52 * ms, 82 * ms, 10 * ms);
  launch("void gemm<(int)32, (bool)1>(const T *, float[4])", 130 * ms, 131 * ms, 1 * ms, 1);
  launch("warm_up", 45 * ms, 45 * ms, 3 * ms);
  return timeline;
}

/// Hostile names through ncu; one launch that the timeline does not have, and one without a metric.
analysis::counter_facts gpu_counters() {
  const auto launch = [](const std::string& name, const std::string& op, double time_ns, double bytes,
                         double tensor_flops) {
    core::kernel_counters counted;
    counted.kernel_name = name;
    counted.ranges = {"decode_all", op};
    counted.grid = {132, 2, 1};
    counted.block = {256, 1, 1};
    counted.metrics = {{"gpu__time_duration.sum", time_ns},
                       {"dram__bytes_read.sum", bytes},
                       {"dram__bytes_write.sum", 1000},
                       {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", tensor_flops},
                       {"sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active.sum",
                        tensor_flops / 1024},
                       {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 1e6},
                       {"sm__warps_active.avg.pct_of_peak_sustained_active", 22.94},
                       {"launch__waves_per_multiprocessor", 0.97}};
    return counted;
  };
  analysis::counter_facts facts;
  facts.launches = {launch("control\x01\x02\x1b[31m & 'quotes' \\| end\\", "moe.experts", 30e6, 1.1e11, 1e9),
                    launch("control\x01\x02\x1b[31m & 'quotes' \\| end\\", "moe.experts", 32e6, 1.1e11, 1e9),
                    launch("long_" + std::string(10000, 'k') + "_end", "moe.experts", 4000, 1e5, 0),
                    launch("not | in <the> trace", "a|b", 20e3, 1e5, 1e10)};
  facts.launches[2].metrics.erase("dram__bytes_read.sum");
  facts.cache_control = "all";
  facts.clock_control = "none";
  facts.replay_mode = "kernel";
  return facts;
}

/// A prefill too short for the driver's counters, and a decode that ran into the power limit.
std::map<std::string, core::stage_telemetry> gpu_telemetry() {
  core::stage_telemetry prefill;
  prefill.windows_count = 3;
  prefill.windows_ns = 120 * ms;
  prefill.samples_count = 6;
  prefill.sm_clock_mhz = {1965, 1980, 1980};
  prefill.memory_clock_mhz = {3201, 3201, 3201};
  prefill.temperature_c = {39, 40, 41};
  prefill.throttle_reasons = {"gpu_idle"};
  prefill.power_method = "the driver's instant power";
  prefill.not_measured = {
      {"power_w", "no sample fell 100 ms or more into a window"},
      {"energy_j", "one run of the stage takes 40 ms, too short | for the counter"},
      {"energy_uncertainty_ratio", "one run of the stage takes 40 ms, too short | for the counter"}};
  core::stage_telemetry decode = prefill;
  decode.windows_ns = 1500 * ms;
  decode.samples_count = 72;
  decode.sm_clock_mhz = {1245, 1470, 1980};
  decode.power_w = {558.6, 716.7, 767.5};
  decode.temperature_c = {41, 47, 52};
  decode.throttle_reasons = {"gpu_idle", "software_power_cap"};
  decode.energy_j = 1050;
  decode.energy_runs_ns = 1650 * ms;  // in a row they take longer than the timed ones
  decode.energy_uncertainty_ratio = 0.2;
  decode.not_measured.clear();
  return {{"prefill", prefill}, {"decode_all", decode}};
}

}  // namespace

run_facts gpu_kernels(run_facts facts) {
  facts.run_id = "20250102-030405-deepseek-ocr.decode-b1";
  facts.pair = "deepseek-ocr.decode-b1";
  facts.model = "deepseek-ocr";
  facts.config = "decode-b1";
  facts.device = "cuda";
  core::workload_result& bench = *facts.bare.bench;
  bench.device_kind = "cuda";
  bench.device_name = "NVIDIA H200";
  bench.model_name = "deepseek-ocr";
  bench.model_architecture = "deepseek_v2";
  bench.model_dtype = "bfloat16";
  bench.parameters = 2934734080;
  bench.active_parameters = 574000000;
  bench.samples_ns = {{"prefill", {36 * ms, 44 * ms, 40 * ms}},
                      {"decode_all", {95 * ms, 96 * ms, 94 * ms}},
                      {"vision", {12 * ms, 12 * ms, 12 * ms}}};
  bench.work = {{"prefill", {1.5e13, 8.0e9}}, {"decode_all", {1.0e11, 2.0e11}}};
  bench.ceiling_flops_per_s = 7.71e14;
  bench.ceiling_bytes_per_s = 4.29e12;
  bench.memory_peak_bytes = 8500000000;
  bench.weight_bytes = 5869468160;
  bench.kv_cache_bytes = 1200000000;
  bench.scratch_bytes = 350000000;
  bench.telemetry_reason.clear();
  bench.telemetry = gpu_telemetry();
  facts.profiled = {bench};
  facts.bare.peaks = {{"h200-sxm", {{"bfloat16", 989.0}}, 4.8e12, "the vendor's data sheet, dense"}};
  facts.captures = {{"nsys/run.sqlite", std::nullopt, gpu_timeline()}};
  facts.steps[2] = {"timeline", step_state::ok, "", "", 12.0, "nsys", "2025.3.1", {}};
  facts.steps[3] = {"counters", step_state::ok, "", "", 80.0, "ncu", "2025.3.1", {}};
  facts.counters = gpu_counters();
  facts.artifacts.push_back({"nsys/run (1).nsys-rep", "Trace | for <nsys>", 92000000});
  facts.env_json = gpu_environment;
  return facts;
}

}  // namespace profgate::render
