#include "llm/workload.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <map>

#include "llm/backend.h"
#include "llm/bench_mode.h"
#include "llm/failure.h"
#include "llm/hf_config.h"
#include "llm/reference.h"
#include "llm/stopwatch.h"
#include "llm/synthetic_weights.h"
#include "llm/telemetry.h"
#include "llm/work_count.h"

namespace profgate::llm {
namespace {

constexpr const char* usage =
    "profgate-llm --config <resolved.yaml> --mode bench|profile|count --result <json>";

failure misuse(const std::string& what_is_wrong) {
  return bad_input(what_is_wrong, std::string("call it as ") + usage);
}

}  // namespace

command_line parse_command_line(std::span<const char* const> arguments) {
  std::map<std::string, std::string> values = {{"--config", ""}, {"--mode", ""}, {"--result", ""}};
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const auto option = values.find(arguments[i]);
    if (option == values.end()) throw misuse(std::string("unknown argument '") + arguments[i] + "'");
    if (!option->second.empty()) throw misuse(option->first + " is given twice");
    if (i + 1 == arguments.size() || *arguments[i + 1] == '\0') throw misuse(option->first + " has no value");
    option->second = arguments[i + 1];
  }
  for (const auto& [option, value] : values)
    if (value.empty()) throw misuse(option + " is missing");
  const std::string& mode = values["--mode"];
  static const std::map<std::string, run_mode> modes = {
      {"bench", run_mode::bench}, {"profile", run_mode::profile}, {"count", run_mode::count}};
  const auto known = modes.find(mode);
  if (known == modes.end()) throw misuse("--mode is '" + mode + "', not bench, profile or count");
  return {values["--config"], known->second, values["--result"]};
}

namespace {

constexpr double bytes_per_gb = 1e9;

model_shape shape_of(const workload_config& config) {
  return config.checkpoint ? read_hf_config(*config.checkpoint + "/config.json") : *config.shape;
}

decoder_capacity capacity_for(const workload_config& config, const std::optional<reference>& expected) {
  decoder_capacity capacity{config.batch, config.prompt_tokens + config.decode_tokens, config.prompt_tokens};
  if (expected) {
    const auto prompt = static_cast<std::int64_t>(expected->prompt.size());
    const auto greedy = static_cast<std::int64_t>(expected->greedy.size());
    capacity.positions = std::max(capacity.positions, prompt + greedy);
    capacity.prefill_tokens = std::max(capacity.prefill_tokens, prompt);
  }
  return capacity;
}

std::unique_ptr<backend> make_backend(const workload_config& config, const model_shape& shape,
                                      decoder_capacity capacity, const stage_ranges& ranges) {
  const stopwatch watch;
  auto loaded = config.device == "cuda" ? make_cuda_backend(config, shape, capacity, ranges)
                                        : make_cpu_backend(config, shape, capacity, ranges);
  std::printf("model: %s, %" PRId64 " parameters, loaded in %.2f s on %s\n", config.model_name.c_str(),
              parameter_count(shape), watch.elapsed_s(), loaded->device().name.c_str());
  return loaded;
}

/// [batch, length]; every sequence its own tokens.
std::vector<token_id> prompts_for(const workload_config& config, const model_shape& shape) {
  std::vector<token_id> prompts;
  for (std::int64_t sequence = 0; sequence < config.batch; ++sequence) {
    const std::string tag =
        sequence == 0 ? config.seed_tag : config.seed_tag + "#" + std::to_string(sequence);
    const auto tokens = synthetic_tokens(tag, config.prompt_tokens, shape.vocab_size);
    prompts.insert(prompts.end(), tokens.begin(), tokens.end());
  }
  return prompts;
}

double median_s(std::vector<std::int64_t> samples_ns) {
  std::sort(samples_ns.begin(), samples_ns.end());
  return static_cast<double>(samples_ns[samples_ns.size() / 2]) * 1e-9;
}

void print_times(const workload_config& config, const run_result& result) {
  std::printf("decode: %.3f ms a step\nprefill: %.2f ms\n",
              median_s(result.decode_all_ns) * 1e3 / static_cast<double>(config.decode_tokens),
              median_s(result.prefill_ns) * 1e3);
}

void print_against_ceilings(const workload_config& config, const model_shape& shape,
                            const run_result& result) {
  const double decode_s = median_s(result.decode_all_ns);
  const auto decode = decode_work(shape, size_of(config));
  const double bandwidth = static_cast<double>(decode.bytes) / decode_s;
  std::printf("decode: %.3f ms a step, %.1f GB/s of %.1f GB/s measured memory bandwidth = %.2f\n",
              decode_s * 1e3 / static_cast<double>(config.decode_tokens), bandwidth / bytes_per_gb,
              result.attainable->memory_bytes_per_s / bytes_per_gb,
              bandwidth / result.attainable->memory_bytes_per_s);
  const double prefill_s = median_s(result.prefill_ns);
  const double rate = static_cast<double>(prefill_work(shape, size_of(config)).flops) / prefill_s;
  std::printf("prefill: %.2f ms, %.2f TFLOP/s of %.2f TFLOP/s measured = %.2f\n", prefill_s * 1e3,
              rate * 1e-12, result.attainable->flops_per_s * 1e-12, rate / result.attainable->flops_per_s);
}

void run_profile(decoder& engine, generator& rounds, stage_ranges& ranges, run_result& result) {
  ranges.enable(true);
  {
    const auto range = ranges.open(range_name::generate);
    engine.capture_again();
    result.prefill_ns.push_back(rounds.prefill());
    result.decode_all_ns.push_back(rounds.decode_all());
  }
  ranges.enable(false);
  result.decode_step_ns = rounds.decode_step_ns();
  if (rounds.greedy() != result.greedy)
    throw judged_bad("the profiled round generated other tokens than the self-check",
                     "look for a data race or faulty memory");
}

}  // namespace

void run_workload(const command_line& command) {
  if (command.mode == run_mode::count) {
    const workload_config config = read_workload_config(command.config_path, use_of_config::counting);
    return write_counted_work(command.result_path, config, shape_of(config));
  }
  workload_config config = read_workload_config(command.config_path);
  const bool bench = command.mode == run_mode::bench;
  const bool ceilings_wanted = config.measure_ceilings;
  config.measure_ceilings = bench && ceilings_wanted;
  const model_shape shape = shape_of(config);
  std::optional<reference> expected;
  if (config.reference) expected = read_reference(config.reference_file, *config.reference, shape.vocab_size);

  stage_ranges ranges(config.nvtx_domain);
  const auto device = make_backend(config, shape, capacity_for(config, expected), ranges);
  run_result result;
  result.mode = bench ? "bench" : "profile";
  result.device = device->device();
  if (expected) {
    result.reference =
        check_against(device->engine(), *expected, required_agreement(config.dtype, shape.has_experts()));
    std::printf("reference: %s, logits %.1e away, cosine %.6f\n", expected->name.c_str(),
                result.reference->distance, result.reference->cosine);
  }

  // One round that is not timed: it warms up, and later rounds must repeat its tokens.
  generator rounds(device->engine(), ranges, prompts_for(config, shape),
                   {config.decode_tokens, config.decode_step_ranges, shape.has_experts()});
  rounds.prefill();
  result.logits_hash = rounds.hash_logits();
  rounds.decode_all();
  result.greedy = rounds.greedy();
  std::printf("logits: %s\n", hash_text(result.logits_hash).c_str());

  if (bench) {
    const auto beside_result = std::filesystem::path(command.result_path).parent_path() / "benchmark.json";
    telemetry gpu(result.device.pci_bus_id);
    run_bench(rounds, config, beside_result.string(), gpu, result);
    result.telemetry = gpu.report();
  } else {
    run_profile(device->engine(), rounds, ranges, result);
  }
  result.memory = device->memory();
  result.graph_maps = device->graph_maps();
  if (config.measure_ceilings) {
    result.attainable = device->measure_ceilings();  // last: its buffers must not count as the model's
    print_against_ceilings(config, shape, result);
  } else {
    result.ceilings_reason =
        ceilings_wanted ? "they are measured only in --mode bench" : "stage1.ceilings is false";
    if (bench) print_times(config, result);
  }
  write_result(command.result_path, config, shape, result);
}

}  // namespace profgate::llm
