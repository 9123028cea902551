#include "golden_cases.h"

#include "nanoseconds.h"

namespace profgate::render {
namespace {

using analysis::run_facts;
using core::range_style;
using core::step_state;

const char* const cpu_environment = R"json({
  "host": {"cpu_model": "Neoverse-V1", "cpus_usable_count": 2, "memory_bytes": 8200000000,
           "operating_system": "Debian GNU/Linux 12 (bookworm)"
}
, "gpu_at_start" : {
  "driver_version" : null,
  "devices" : null,
  "not_measured" : {"driver_version" : "there is no NVIDIA driver", "devices" : "there is no NVIDIA driver"}
},
                   "git" : {"commit" : "0123456789abcdef", "changed_files_count" : 0},
                           "build" : {
  "compiler" : "GNU 12.2.0", "build_type" : "Release"
}
})json";

const char* const gpu_environment = R"json({
  "host": {"cpu_model": "Xeon | 8480+", "cpus_usable_count": 16, "memory_bytes": 134000000000,
           "operating_system": "Ubuntu 24.04"},
  "gpu_at_start": {"driver_version": "580.65", "devices": [{"name": "NVIDIA H200"}]},
  "git": {"commit": null, "changed_files_count": null,
          "not_measured": {"commit": "the project is not a git checkout",
                           "changed_files_count": "the project is not a git checkout"}},
  "build": {"compiler": "GNU 13.3.0", "build_type": "Release"}
})json";

core::workload_result tiny_llama_result() {
  core::workload_result result;
  result.mode = "bench";
  result.device_kind = "cpu";
  result.device_name = "Neoverse-V1, 2 threads";
  result.samples_ns = {{"prefill", {20 * ms, 22 * ms, 21 * ms}}, {"decode_all", {80 * ms, 81 * ms, 79 * ms}}};
  result.decode_step_ns = {9 * ms, 10 * ms, 11 * ms, 10 * ms};
  result.work = {{"prefill", {4.2e8, 2.0e7}}, {"decode_all", {1.6e8, 6.4e8}}};
  result.work_assumptions = {"one multiply-add is two FLOPs", "only the last position's logits are computed"};
  result.ceiling_flops_per_s = 4.0e10;
  result.ceiling_bytes_per_s = 1.0e10;
  result.ceiling_method = "largest of five 256 MB reads and of five register-resident multiply-add loops";
  result.tokens = {{"prompt", 37}, {"decode", 8}, {"batch", 1}};
  result.model_name = "llama-tiny";
  result.model_architecture = "llama";
  result.model_dtype = "float32";
  result.model_weights = "synthetic";
  result.model_dims = {{"hidden_size", 64}, {"num_hidden_layers", 2}};
  result.parameters = 123456;
  result.active_parameters = 123456;
  result.memory_peak_bytes = 64000000;
  result.weight_bytes = 493824;
  result.kv_cache_bytes = 92160;
  result.scratch_bytes = 0;
  result.telemetry_reason = "the device is not an NVIDIA GPU";
  result.logits_hash = "9e3779b97f4a7c15";
  result.reference_name = "llama-tiny";
  result.reference_distance = 3.1e-7;
  result.reference_cosine = 0.9999998;
  return result;
}

void add_range(core::timeline& timeline, const char* name, std::int64_t start_ns, std::int64_t end_ns,
               std::uint32_t thread_id = 1, range_style style = range_style::push_pop) {
  timeline.ranges.push_back({"LLM", name, style, 100, thread_id, start_ns, end_ns});
}

core::timeline embedded_timeline() {
  core::timeline timeline;
  timeline.tool = "embedded";
  timeline.tool_version = "0.1.0";
  timeline.kernels_absent_reason = "the device is a CPU, which has no kernels";
  add_range(timeline, "prefill", 0, 22 * ms);
  add_range(timeline, "embed", 0, 1 * ms);
  add_range(timeline, "attn.qkv", 1 * ms, 9 * ms);
  add_range(timeline, "mlp.gate_up", 9 * ms, 21 * ms);
  add_range(timeline, "decode_all", 30 * ms, 114 * ms);
  for (std::int64_t step = 0; step < 8; ++step) {
    const std::int64_t start_ns = (30 + 10 * step) * ms;
    add_range(timeline, "decode_step", start_ns, start_ns + 10 * ms);
    add_range(timeline, "attn.core", start_ns, start_ns + 3 * ms);
    add_range(timeline, "lm_head", start_ns + 3 * ms, start_ns + 9 * ms);
  }
  add_range(timeline, "worker.gemv", 40 * ms, 45 * ms, 2);
  return timeline;
}

run_facts cpu_embedded() {
  run_facts facts;
  facts.run_id = "20250102-030405-llama-tiny.smoke";
  facts.created_utc = "2025-01-02T03:04:05Z";
  facts.pair = "llama-tiny.smoke";
  facts.model = "llama-tiny";
  facts.config = "smoke";
  facts.device = "cpu";
  facts.mode = "deep";
  facts.config_hash = "a5a5a5a5a5a5a5a5";
  facts.nvtx_domain = "LLM";
  facts.bare.stages = {"prefill", "decode_all"};
  facts.bare.bench = tiny_llama_result();
  facts.profiled = {tiny_llama_result()};
  facts.captures = {{"nsys/embedded.timeline", std::nullopt, embedded_timeline()}};
  facts.steps = {{"prepare", step_state::ok, "", "", 0.125, "", "", {}},
                 {"stage1", step_state::ok, "", "", 1.5, "profgate-llm", "0.1.0", {}},
                 {"timeline",
                  step_state::ok,
                  "",
                  "",
                  0.75,
                  "embedded",
                  "0.1.0",
                  {"nsys is not installed, so the embedded collector traced the run"}},
                 {"counters",
                  step_state::skipped,
                  "the device is a CPU, which has no counters that ncu reads",
                  "run a pair with device cuda on a machine with a GPU",
                  0.0,
                  "",
                  "",
                  {}}};
  facts.counters.absent_reason = facts.steps[3].reason;
  facts.artifacts = {{"stage1/metrics.json", "Stage 1 metrics", 4096},
                     {"nsys/embedded.timeline", "Timeline", 1200000},
                     {"config.yaml", "Resolved configuration", 2048}};
  facts.inputs = {{"prompt", "37 tokens of tag llama-tiny"}, {"weights", "synthetic"}};
  facts.env_json = cpu_environment;
  return facts;
}

/// Nothing but the bare process was possible: a program without NVTX and without a result file.
run_facts generic_program() {
  run_facts facts = cpu_embedded();
  facts.run_id = "20250102-030405-my-server.smoke";
  facts.pair = "my-server.smoke";
  facts.model = "my-server";
  facts.bare = {};
  facts.bare.bench_absent_reason = "the program writes no result file";
  facts.bare.process_wall_ns = {250 * ms, 260 * ms};
  facts.bare.peak_rss_bytes = 5000000;
  facts.profiled.clear();
  facts.captures.clear();
  facts.captures_absent_reason = "timeline is set to none";
  facts.steps[2] = {
      "timeline", step_state::skipped, "timeline is set to none", "set timeline=auto", {}, "", "", {}};
  facts.artifacts.clear();
  facts.inputs.clear();
  facts.env_json = "{}";
  return facts;
}

run_facts failed_step() {
  run_facts facts = cpu_embedded();
  facts.bare.bench.reset();
  facts.bare.bench_absent_reason = "step stage1 failed: the workload exited with code 3";
  facts.profiled.clear();
  facts.captures.clear();
  facts.captures_absent_reason = "step stage1 failed, so nothing was traced";
  facts.steps[1] = {"stage1",
                    step_state::failed,
                    "the workload exited with code 3",
                    "read stage1/log.txt",
                    0.5,
                    "profgate-llm",
                    "0.1.0",
                    {}};
  facts.steps[2] = {"timeline", step_state::skipped, "step stage1 failed", "repair stage1 first", {}, "", "",
                    {}};
  facts.artifacts = {{"stage1/log.txt", "Output of stage 1", 512}};
  return facts;
}

/// An interrupted trace with dropped records, one repetition, no work counts, tracing twice as slow.
run_facts incomplete_trace() {
  run_facts facts = cpu_embedded();
  core::workload_result& bench = *facts.bare.bench;
  bench.samples_ns = {{"prefill", {20 * ms}}, {"decode_all", {40 * ms}}};
  bench.decode_step_ns.clear();
  bench.work.clear();
  bench.ceiling_flops_per_s.reset();
  bench.ceiling_bytes_per_s.reset();
  bench.ceiling_method.clear();
  bench.reference_distance.reset();
  bench.reference_cosine.reset();
  bench.reference_name.reset();
  bench.logits_hash = "0000000000000000";
  core::timeline& timeline = facts.captures[0].timeline;
  timeline.dropped_records = 17;
  timeline.ranges[0].end_ns.reset();
  return facts;
}

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
  decode.energy_uncertainty_ratio = 0.2;
  decode.not_measured.clear();
  return {{"prefill", prefill}, {"decode_all", decode}};
}

run_facts gpu_kernels() {
  run_facts facts = cpu_embedded();
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

}  // namespace

std::vector<golden_case> golden_cases() {
  return {{"cpu_embedded", cpu_embedded()},
          {"generic_program", generic_program()},
          {"failed_step", failed_step()},
          {"incomplete_trace", incomplete_trace()},
          {"gpu_kernels", gpu_kernels()}};
}

}  // namespace profgate::render
