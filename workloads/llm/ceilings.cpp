#include "llm/ceilings.h"

#include <algorithm>
#include <vector>

#include "llm/float_arena.h"
#include "llm/kernels.h"
#include "llm/stopwatch.h"

namespace profgate::llm {
namespace {

constexpr int passes = 8;
constexpr std::size_t buffer_floats = (std::size_t{512} << 20U) / sizeof(float);
constexpr std::size_t chunk_floats = std::size_t{1} << 18U;

}  // namespace

double measure_read_bytes_per_s(thread_pool& pool) {
  float_arena arena;
  const auto buffer = arena.take(buffer_floats);
  // Written first: untouched pages would all be the one zero page, which never leaves the cache.
  pool.for_chunks(buffer.size(), chunk_floats, [&](std::size_t begin, std::size_t end) {
    std::fill(buffer.begin() + static_cast<std::ptrdiff_t>(begin),
              buffer.begin() + static_cast<std::ptrdiff_t>(end), 1.0F);
  });
  std::vector<float> chunk_sums(buffer.size() / chunk_floats);
  double best = 0;
  for (int pass = 0; pass < passes; ++pass) {
    const stopwatch watch;
    pool.for_chunks(buffer.size(), chunk_floats, [&](std::size_t begin, std::size_t end) {
      chunk_sums[begin / chunk_floats] = kernels::sum(buffer.data() + begin, end - begin);
    });
    best = std::max(best, static_cast<double>(buffer.size_bytes()) / watch.elapsed_s());
  }
  return best;
}

ceilings measure_ceilings(thread_pool& pool) {
  ceilings measured;
  measured.method =
      "best of 8 passes over all threads: sum of a 512 MiB float32 buffer; register-resident float32 "
      "multiply-adds";
  measured.memory_bytes_per_s = measure_read_bytes_per_s(pool);
  constexpr std::size_t rounds = 1U << 20U;
  std::vector<float> sinks(pool.size());
  std::vector<double> flops(pool.size());
  for (int pass = 0; pass < passes; ++pass) {
    const stopwatch watch;
    pool.for_chunks(pool.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        float sink = 0;
        flops[i] = kernels::spend_flops(rounds, &sink);
        sinks[i] = sink;
      }
    });
    const double elapsed_s = watch.elapsed_s();
    double total = 0;
    for (const double share : flops) total += share;
    measured.flops_per_s = std::max(measured.flops_per_s, total / elapsed_s);
  }
  return measured;
}

}  // namespace profgate::llm
