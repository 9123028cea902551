#include "cuda_ceilings.h"

#include <cuda_bf16.h>

#include <algorithm>
#include <functional>
#include <string>

#include "device_memory.h"
#include "fill.h"
#include "gemm.h"
#include "llm/fnv1a.h"

namespace profgate::llm::cuda {
namespace {

constexpr int passes = 8;
constexpr std::int64_t gemm_size = 8192;
constexpr std::size_t copy_bytes = std::size_t{2} << 30U;

/// Seconds of the fastest pass, after one that warms up.
double best_seconds(const queue& to, const std::function<void()>& pass) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  PROFGATE_CUDA(cudaEventCreate(&begin));
  PROFGATE_CUDA(cudaEventCreate(&end));
  float best_ms = 0;
  for (int i = 0; i <= passes; ++i) {
    PROFGATE_CUDA(cudaEventRecord(begin, to.stream));
    pass();
    PROFGATE_CUDA(cudaEventRecord(end, to.stream));
    PROFGATE_CUDA(cudaEventSynchronize(end));
    float elapsed_ms = 0;
    PROFGATE_CUDA(cudaEventElapsedTime(&elapsed_ms, begin, end));
    best_ms = i <= 1 ? elapsed_ms : std::min(best_ms, elapsed_ms);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return static_cast<double>(best_ms) * 1e-3;
}

}  // namespace

template <typename T>
ceilings measure_ceilings(const queue& to) {
  ceilings measured;
  {
    const device_memory buffers(2 * copy_bytes);
    const double seconds = best_seconds(to, [&] {
      PROFGATE_CUDA(cudaMemcpyAsync(buffers.bytes() + copy_bytes, buffers.bytes(), copy_bytes,
                                    cudaMemcpyDeviceToDevice, to.stream));
    });
    measured.memory_bytes_per_s = 2.0 * static_cast<double>(copy_bytes) / seconds;
  }
  constexpr std::int64_t elements = gemm_size * gemm_size;
  memory_layout counted;
  counted.take<T>(3 * elements);
  counted.take<std::byte>(gemm_library::workspace_bytes);
  const device_memory buffers(counted.bytes_taken());
  memory_layout memory(buffers.bytes());
  T* matrices = memory.take<T>(3 * elements);
  gemm_library library(memory.take<std::byte>(gemm_library::workspace_bytes));
  // Real values: zeros would need less power, and the clocks would be higher than any model sees.
  fill_synthetic(to, fnv1a_64("ceilings"), 0.0F, 1.0F, 2 * elements, matrices);
  const double seconds = best_seconds(to, [&] {
    library.multiply(to, wide_product<T>{.weight = matrices,
                                         .x = matrices + elements,
                                         .out = matrices + 2 * elements,
                                         .tokens = gemm_size,
                                         .rows = gemm_size,
                                         .depth = gemm_size});
  });
  measured.flops_per_s = 2.0 * static_cast<double>(gemm_size * gemm_size * gemm_size) / seconds;
  measured.method =
      std::string(
          "best of 8 passes: device copy of 2 GiB (read and write counted); cuBLASLt product of "
          "8192 x 8192 x 8192 in ") +
      (sizeof(T) == 2 ? "bfloat16" : "float32");
  return measured;
}

template ceilings measure_ceilings<float>(const queue&);
template ceilings measure_ceilings<__nv_bfloat16>(const queue&);

}  // namespace profgate::llm::cuda
