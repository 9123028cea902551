#include "llm/workload.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>

#include "llm/bench_mode.h"
#include "llm/checkpoint.h"
#include "llm/cpu_decoder.h"
#include "llm/failure.h"
#include "llm/hf_config.h"
#include "llm/machine.h"
#include "llm/reference.h"
#include "llm/stopwatch.h"
#include "llm/synthetic_weights.h"
#include "llm/work_count.h"

namespace profgate::llm {
namespace {

constexpr double bytes_per_gb = 1e9;

model_shape shape_of(const workload_config& config) {
  return config.checkpoint ? read_hf_config(*config.checkpoint + "/config.json") : *config.shape;
}

/// Linux grants memory it does not have and kills whoever uses it; better to say so beforehand.
void require_memory(const model_shape& shape) {
  const std::int64_t needed = parameter_count(shape) * static_cast<std::int64_t>(sizeof(float));
  const auto available = available_memory_bytes();
  if (available && needed > *available)
    throw not_possible("the weights need " + std::to_string(needed) + " bytes of memory, this machine has " +
                       std::to_string(*available) + " available");
}

std::unique_ptr<tensor_source> open_source(const workload_config& config, const model_shape& shape,
                                           thread_pool& pool) {
  if (config.checkpoint) return std::make_unique<checkpoint_source>(*config.checkpoint, pool);
  require_memory(shape);
  return std::make_unique<synthetic_source>(pool);
}

decoder_capacity capacity_for(const workload_config& config, const std::optional<reference>& expected) {
  decoder_capacity capacity{config.prompt_tokens + config.decode_tokens, config.prompt_tokens};
  if (expected) {
    const auto prompt = static_cast<std::int64_t>(expected->prompt.size());
    const auto greedy = static_cast<std::int64_t>(expected->greedy.size());
    capacity.positions = std::max(capacity.positions, prompt + greedy);
    capacity.prefill_tokens = std::max(capacity.prefill_tokens, prompt);
  }
  return capacity;
}

void print_against_ceiling(const workload_config& config, const model_shape& shape,
                           const run_result& result) {
  auto sorted = result.decode_all_ns;
  std::sort(sorted.begin(), sorted.end());
  const double median_s = static_cast<double>(sorted[sorted.size() / 2]) * 1e-9;
  const auto bytes = decode_work(shape, config.prompt_tokens, config.decode_tokens).bytes;
  const double achieved = static_cast<double>(bytes) / median_s;
  const double attainable = result.attainable->read_bytes_per_s;
  std::printf("decode: %.1f GB/s of %.1f GB/s measured read bandwidth = %.2f\n", achieved / bytes_per_gb,
              attainable / bytes_per_gb, achieved / attainable);
}

}  // namespace

void run_workload(const command_line& command) {
  const workload_config config = read_workload_config(command.config_path);
  const model_shape shape = shape_of(config);
  std::optional<reference> expected;
  if (config.reference) expected = read_reference(config.reference_file, *config.reference, shape.vocab_size);

  thread_pool pool(config.threads > 0 ? config.threads : std::max(1U, std::thread::hardware_concurrency()));
  const stopwatch load_watch;
  const decoder_weights weights = load_weights(shape, open_source(config, shape, pool));
  std::printf("model: %s, %" PRId64 " parameters, loaded in %.1f s on %u threads\n",
              config.model_name.c_str(), parameter_count(shape), load_watch.elapsed_s(), pool.size());

  stage_ranges ranges(config.nvtx_domain);
  cpu_decoder engine(shape, weights, capacity_for(config, expected), pool, ranges);
  run_result result;
  result.mode = command.mode == run_mode::bench ? "bench" : "profile";
  result.threads = pool.size();
  if (expected) {
    result.reference = {expected->name, check_against(engine, *expected)};
    std::printf("reference: %s, logits %.1e away, greedy tokens equal\n", expected->name.c_str(),
                result.reference->distance);
  }

  // One round that is not timed: it warms up, and later rounds must repeat its tokens.
  generator rounds(engine, ranges, synthetic_tokens(config.seed_tag, config.prompt_tokens, shape.vocab_size),
                   {config.decode_tokens, config.decode_step_ranges});
  rounds.prefill();
  rounds.decode_all();
  result.logits_hash = rounds.logits_hash();
  result.greedy = rounds.greedy();
  std::printf("logits: %s\n", hash_text(result.logits_hash).c_str());

  if (command.mode == run_mode::bench) {
    const auto beside_result = std::filesystem::path(command.result_path).parent_path() / "benchmark.json";
    run_bench(rounds, config, beside_result.string(), result);
    result.memory_peak_bytes = peak_memory_bytes();  // before the ceilings' buffer adds to it
    result.attainable = measure_ceilings(pool);
    print_against_ceiling(config, shape, result);
  } else {
    ranges.enable(true);
    result.prefill_ns.push_back(rounds.prefill());
    result.decode_all_ns.push_back(rounds.decode_all());
    ranges.enable(false);
    result.decode_step_ns = rounds.decode_step_ns();
    result.memory_peak_bytes = peak_memory_bytes();
    if (rounds.greedy() != result.greedy)
      throw judged_bad("the profiled round generated other tokens than the self-check",
                       "look for a data race or faulty memory");
  }
  write_result(command.result_path, config, shape, result);
}

}  // namespace profgate::llm
