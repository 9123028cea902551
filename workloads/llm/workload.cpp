#include "llm/workload.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <map>

#include "llm/backend.h"
#include "llm/bench_mode.h"
#include "llm/failure.h"
#include "llm/fnv1a.h"
#include "llm/inputs.h"
#include "llm/reference.h"
#include "llm/stopwatch.h"
#include "llm/telemetry.h"
#include "llm/thread_pool.h"

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

decoder_capacity capacity_for(const run_request& request, const std::optional<reference>& expected) {
  decoder_capacity capacity{request.config.batch, 0, 0};
  for (const auto& input : request.inputs) {
    capacity.positions = std::max(capacity.positions, input.prompt_tokens + input.request.decode_tokens);
    capacity.prefill_tokens = std::max(capacity.prefill_tokens, input.prompt_tokens);
  }
  if (expected) {
    const auto prompt = static_cast<std::int64_t>(expected->prompt.size());
    const auto greedy = static_cast<std::int64_t>(expected->greedy.size());
    capacity.positions = std::max(capacity.positions, prompt + greedy);
    capacity.prefill_tokens = std::max(capacity.prefill_tokens, prompt);
  }
  return capacity;
}

std::unique_ptr<backend> make_backend(const run_request& request, decoder_capacity capacity,
                                      const stage_ranges& ranges) {
  const stopwatch watch;
  const auto make = request.config.device == "cuda" ? make_cuda_backend : make_cpu_backend;
  auto loaded = make(request.config, request.shape, capacity, ranges, request.vision);
  std::printf("model: %s, %" PRId64 " parameters, loaded in %.2f s on %s\n",
              request.config.model_name.c_str(), request.parameters(), watch.elapsed_s(),
              loaded->device().name.c_str());
  return loaded;
}

double median_s(std::vector<std::int64_t> samples_ns) {
  std::sort(samples_ns.begin(), samples_ns.end());
  return static_cast<double>(samples_ns[samples_ns.size() / 2]) * 1e-9;
}

double prefill_s(const run_result& result) {
  return median_s(result.total_ns(&input_result::prefill_ns));
}

double decode_s(const run_result& result) {
  return median_s(result.total_ns(&input_result::decode_all_ns));
}

double step_ms(const run_request& request, const run_result& result) {
  return decode_s(result) * 1e3 / static_cast<double>(request.decode_tokens());
}

void print_vision_time(const run_result& result) {
  const auto vision_ns = result.total_ns(&input_result::vision_ns);
  if (!vision_ns.empty()) std::printf("vision: %.2f ms of the prefill\n", median_s(vision_ns) * 1e3);
}

void print_times(const run_request& request, const run_result& result) {
  std::printf("decode: %.3f ms a step\nprefill: %.2f ms\n", step_ms(request, result),
              prefill_s(result) * 1e3);
}

void print_against_ceilings(const run_request& request, const run_result& result) {
  const double bandwidth = static_cast<double>(request.decode().bytes) / decode_s(result);
  std::printf("decode: %.3f ms a step, %.1f GB/s of %.1f GB/s measured memory bandwidth = %.2f\n",
              step_ms(request, result), bandwidth / bytes_per_gb,
              result.attainable->memory_bytes_per_s / bytes_per_gb,
              bandwidth / result.attainable->memory_bytes_per_s);
  const double rate = static_cast<double>(request.prefill().flops) / prefill_s(result);
  std::printf("prefill: %.2f ms, %.2f TFLOP/s of %.2f TFLOP/s measured = %.2f\n", prefill_s(result) * 1e3,
              rate * 1e-12, result.attainable->flops_per_s * 1e-12, rate / result.attainable->flops_per_s);
}

/// One round that is not timed: it warms up, and later rounds must repeat its tokens. A NaN of any decode
/// step stays in the cache, so the last step's logits tell of all.
void run_first_round(std::span<generator> inputs, const std::optional<std::string>& checkpoint,
                     run_result& result) {
  for (auto& input : inputs) {
    input_result first;
    input.prefill();
    require_finite(input.logits(), checkpoint);
    first.logits_hash = fnv1a_64(std::as_bytes(input.logits()));
    input.decode_all();
    require_finite(input.logits(), checkpoint);
    first.greedy = input.greedy();
    std::printf("logits: %s\n", hash_text(first.logits_hash).c_str());
    result.inputs.push_back(std::move(first));
  }
}

void run_profile(decoder& engine, std::span<generator> inputs, stage_ranges& ranges, run_result& result) {
  ranges.enable(true);
  bool same_tokens = true;
  {
    const auto range = ranges.open(range_name::generate);
    engine.capture_again();
    same_tokens = run_round(inputs, nullptr, result);
  }
  ranges.enable(false);
  if (!same_tokens)
    throw judged_bad("the profiled round generated other tokens than the self-check",
                     "look for a data race or faulty memory");
}

}  // namespace

void run_workload(const command_line& command) {
  if (command.mode == run_mode::count)
    return write_counted_work(command.result_path,
                              request_of(read_workload_config(command.config_path, use_of_config::counting)));
  workload_config config = read_workload_config(command.config_path);
  const bool bench = command.mode == run_mode::bench;
  const bool ceilings_wanted = config.measure_ceilings;
  config.measure_ceilings = bench && ceilings_wanted;
  const run_request request = request_of(config);
  const model_shape& shape = request.shape;
  std::optional<reference> expected;
  if (config.reference) expected = read_reference(config.reference_file, *config.reference, shape.vocab_size);

  stage_ranges ranges(config.nvtx_domain);
  const auto device = make_backend(request, capacity_for(request, expected), ranges);
  run_result result;
  result.mode = bench ? "bench" : "profile";
  result.device = device->device();
  if (expected) {
    result.reference =
        check_against(device->engine(), *expected, required_agreement(config.dtype, shape.has_experts()),
                      config.checkpoint);
    std::printf("reference: %s, logits %.1e away, cosine %.6f\n", expected->name.c_str(),
                result.reference->distance, result.reference->cosine);
  }

  std::vector<generator> inputs;
  for (const auto& input : request.inputs)
    inputs.emplace_back(device->engine(), device->vision(), ranges, input,
                        prompts_for(input, config.batch, shape.vocab_size), config.decode_step_ranges,
                        shape.has_experts());
  run_first_round(inputs, config.checkpoint, result);

  if (bench) {
    const auto beside_result = std::filesystem::path(command.result_path).parent_path() / "benchmark.json";
    telemetry gpu(result.device.pci_bus_id);
    run_bench(inputs, config, beside_result.string(), gpu, result);
    result.telemetry = gpu.report();
    print_vision_time(result);
  } else {
    run_profile(device->engine(), inputs, ranges, result);
  }
  result.memory = device->memory();
  if (config.measure_ceilings) {
    result.attainable = device->measure_ceilings();  // last: its buffers must not count as the model's
    print_against_ceilings(request, result);
  } else {
    result.ceilings_reason =
        ceilings_wanted ? "they are measured only in --mode bench" : "stage1.ceilings is false";
    if (bench) print_times(request, result);
  }
  write_result(command.result_path, request, result);
}

}  // namespace profgate::llm
