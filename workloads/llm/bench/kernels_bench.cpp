// What the matrix products reach of what this machine gives: each line's ratio is the product's rate over a
// ceiling measured just before, memory reads for one token, multiply-adds for many.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "llm/ceilings.h"
#include "llm/float_arena.h"
#include "llm/kernels.h"
#include "llm/thread_pool.h"

namespace {

using namespace profgate::llm;

thread_pool& pool() {
  static thread_pool shared(std::max(1U, std::thread::hardware_concurrency()));
  return shared;
}

const ceilings& attainable() {
  static const ceilings measured = measure_ceilings(pool());
  return measured;
}

/// Arguments: tokens, rows, depth.
void multiply(benchmark::State& state) {
  const auto tokens = static_cast<std::size_t>(state.range(0));
  const auto rows = static_cast<std::size_t>(state.range(1));
  const auto depth = static_cast<std::size_t>(state.range(2));
  float_arena arena;
  const auto weight = arena.take(rows * depth);
  const auto x = arena.take(tokens * depth);
  const auto out = arena.take(tokens * rows);
  std::fill(weight.begin(), weight.end(), 0.5F);
  std::fill(x.begin(), x.end(), 0.25F);
  for ([[maybe_unused]] auto iteration : state) {
    pool().for_chunks(rows, 64, [&](std::size_t begin, std::size_t end) {
      kernels::multiply_rows(
          x.data(), tokens, depth,
          {weight.data() + begin * depth, end - begin, nullptr, out.data() + begin, rows, false});
    });
    benchmark::DoNotOptimize(out.data());
  }
  using benchmark::Counter;
  const double runs = static_cast<double>(state.iterations());
  const double bytes = runs * static_cast<double>(weight.size_bytes());
  const double flops = runs * 2.0 * static_cast<double>(tokens * rows * depth);
  state.counters["GB/s"] = Counter(bytes * 1e-9, Counter::kIsRate);
  state.counters["GFLOP/s"] = Counter(flops * 1e-9, Counter::kIsRate);
  state.counters["of_read"] = Counter(bytes / attainable().memory_bytes_per_s, Counter::kIsRate);
  state.counters["of_flops"] = Counter(flops / attainable().flops_per_s, Counter::kIsRate);
}

// Qwen3-0.6B's LM head, gate and up, and down projection; one token, then prompts.
BENCHMARK(multiply)
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond)
    ->Args({1, 151936, 1024})
    ->Args({1, 65536, 3072})
    ->Args({32, 6144, 1024})
    ->Args({32, 1024, 3072})
    ->Args({256, 6144, 1024});

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::printf("ceilings: %.1f GB/s read, %.1f GFLOP/s float32 on %u threads\n",
              attainable().memory_bytes_per_s * 1e-9, attainable().flops_per_s * 1e-9, pool().size());
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
