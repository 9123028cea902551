#include "cuda_rounds.h"

#include "captured_graph.h"

namespace profgate::llm::cuda::bench {

gpu::gpu() : to(open_queue()) {
  attainable = measure_ceilings<element>(to);
  pool = device_memory(pool_bytes);
  PROFGATE_CUDA(cudaMemset(pool.bytes(), 0, pool_bytes));
}

gpu& the_gpu() {
  static gpu only;
  return only;
}

void time_rounds(benchmark::State& state, const work& once, const std::function<void(int turn)>& launch_one) {
  const gpu& device = the_gpu();
  launch_one(0);  // loads the kernel and plans the product, which a capture must not
  PROFGATE_CUDA(cudaStreamSynchronize(device.to.stream));
  const captured_graph round(device.to.stream, [&] {
    for (int turn = 0; turn < round_launches; ++turn) launch_one(turn);
  });
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  PROFGATE_CUDA(cudaEventCreate(&begin));
  PROFGATE_CUDA(cudaEventCreate(&end));
  double seconds = 0;
  for ([[maybe_unused]] auto iteration : state) {
    PROFGATE_CUDA(cudaEventRecord(begin, device.to.stream));
    round.replay(device.to.stream);
    PROFGATE_CUDA(cudaEventRecord(end, device.to.stream));
    PROFGATE_CUDA(cudaEventSynchronize(end));
    float elapsed_ms = 0;
    PROFGATE_CUDA(cudaEventElapsedTime(&elapsed_ms, begin, end));
    const double one_s = static_cast<double>(elapsed_ms) * 1e-3 / round_launches;
    state.SetIterationTime(one_s);
    seconds += one_s;
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  const double rate = static_cast<double>(state.iterations()) / seconds;
  if (once.bytes > 0) {
    state.counters["GB/s"] = once.bytes * rate * 1e-9;
    state.counters["of_copy"] = once.bytes * rate / device.attainable.memory_bytes_per_s;
  }
  if (once.flops > 0) {
    state.counters["TFLOP/s"] = once.flops * rate * 1e-12;
    state.counters["of_gemm"] = once.flops * rate / device.attainable.flops_per_s;
  }
}

void add(const std::string& name, const std::function<void(benchmark::State&)>& body) {
  benchmark::RegisterBenchmark(name.c_str(), body)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond)
      ->MinTime(0.02);
}

}  // namespace profgate::llm::cuda::bench
