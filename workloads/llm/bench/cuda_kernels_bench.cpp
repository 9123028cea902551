// What the CUDA kernels reach of what this GPU gives.
#include <cstdio>

#include "cuda_rounds.h"
#include "llm/failure.h"

int main(int argc, char** argv) {
  namespace bench = profgate::llm::cuda::bench;
  benchmark::Initialize(&argc, argv);
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::fprintf(stderr, "no CUDA device: nothing was measured\n");
    return static_cast<int>(profgate::llm::exit_code::not_possible);
  }
  std::printf("ceilings: %.0f GB/s copy, %.0f TFLOP/s bfloat16 product\n",
              bench::the_gpu().attainable.memory_bytes_per_s * 1e-9,
              bench::the_gpu().attainable.flops_per_s * 1e-12);
  bench::add_products();
  bench::add_experts();
  bench::add_attention();
  bench::add_vision();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
