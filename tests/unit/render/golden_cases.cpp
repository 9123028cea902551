#include "golden_cases.h"

#include "nanoseconds.h"

namespace profgate::render {
namespace {

using analysis::run_facts;
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
  facts.changed_settings = {{"workload.stages", "[prefill, decode_all]", "[]"},
                            {"stage1.repetitions", "3", "5"}};
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

}  // namespace

void add_range(core::timeline& timeline, const char* name, std::int64_t start_ns, std::int64_t end_ns,
               std::uint32_t thread_id, core::range_style style) {
  timeline.ranges.push_back({"LLM", name, style, 100, thread_id, start_ns, end_ns});
}

std::vector<golden_case> golden_cases() {
  return {{"cpu_embedded", cpu_embedded()},
          {"generic_program", generic_program()},
          {"failed_step", failed_step()},
          {"incomplete_trace", incomplete_trace()},
          {"gpu_kernels", gpu_kernels(cpu_embedded())}};
}

}  // namespace profgate::render
