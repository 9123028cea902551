#include <cuda_bf16.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "cublaslt.h"
#include "cuda_ceilings.h"
#include "cuda_decoder.h"
#include "cuda_limits.h"
#include "cuda_vision_encoder.h"
#include "llm/backend.h"
#include "llm/failure.h"
#include "llm/stopwatch.h"

namespace profgate::llm::cuda {
namespace {

/// The one GPU of this process, and a stream on it.
struct gpu {
  queue to;
  std::string name;
  std::string pci_bus_id;
  std::int64_t shared_bytes = 0;  ///< that one block may have

  gpu() {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0)
      throw not_possible(std::string("no CUDA device: ") +
                         (status != cudaSuccess ? cudaGetErrorString(status) : "the driver lists none"));
    cudaDeviceProp properties{};
    PROFGATE_CUDA(cudaGetDeviceProperties(&properties, 0));
    if (properties.major < 8)
      throw not_possible(std::string(properties.name) + " has compute capability " +
                         std::to_string(properties.major) + "." + std::to_string(properties.minor) +
                         ", the CUDA engine needs 8.0: no CUDA device for it");
    PROFGATE_CUDA(cudaSetDevice(0));
    char bus_id[32];
    PROFGATE_CUDA(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, 0));
    name = properties.name;
    pci_bus_id = bus_id;
    shared_bytes = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin) - 1024;
    to = open_queue();
  }
  gpu(const gpu&) = delete;
  gpu& operator=(const gpu&) = delete;
  ~gpu() { cudaStreamDestroy(to.stream); }
};

/// Another version may choose other kernels, so comparisons must know it.
std::map<std::string, std::string> library_versions() {
  int runtime = 0;  // 13020 is 13.2
  PROFGATE_CUDA(cudaRuntimeGetVersion(&runtime));
  const std::size_t cublaslt = load_cublaslt().version();  // 130100 is 13.1.0
  return {{"cuda_runtime", std::to_string(runtime / 1000) + "." + std::to_string(runtime % 1000 / 10)},
          {"cublaslt", std::to_string(cublaslt / 10000) + "." + std::to_string(cublaslt % 10000 / 100) + "." +
                           std::to_string(cublaslt % 100)}};
}

/// What comes on top of the arrays: kernels that are loaded when first used, the graph, a checkpoint's
/// staging.
constexpr std::int64_t reserve_bytes = std::int64_t{512} << 20;

std::int64_t signed_bytes(std::size_t bytes) {
  return static_cast<std::int64_t>(bytes);
}

std::int64_t free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  PROFGATE_CUDA(cudaMemGetInfo(&free, &total));
  return signed_bytes(free);
}

template <typename T>
class cuda_backend : public backend {
 public:
  cuda_backend(const workload_config& config, const model_shape& shape, decoder_capacity capacity,
               const stage_ranges& ranges, const std::optional<vision::vision_need>& vision) {
    require_supported(shape, m_gpu.shared_bytes);
    if (vision) require_supported(*vision);
    // Before the model: a copy's speed depends on where in memory its buffers come to lie.
    if (config.measure_ceilings) {
      require_room({0, 0, ceilings_bytes}, free_bytes() - reserve_bytes);
      m_ceilings = cuda::measure_ceilings<T>(m_gpu.to);
    }
    const decoder_plan plan = make_plan(shape, capacity, m_gpu.to);
    memory_layout weights_need;
    place_weights<T>(shape, weights_need);
    memory_layout cache_need;
    place_cache<T>(shape, plan, cache_need);
    memory_layout scratch_need;
    place_buffers<T>(shape, plan, scratch_need);
    if (vision) {
      place_vision_weights<T>(vision->shape, weights_need);
      place_vision_buffers<T>(*vision, scratch_need);
    }
    m_need = {signed_bytes(weights_need.bytes_taken()), signed_bytes(cache_need.bytes_taken()),
              signed_bytes(scratch_need.bytes_taken())};
    require_room(m_need, free_bytes() - reserve_bytes);

    m_weight_memory = device_memory(weights_need.bytes_taken());
    m_cache_memory = device_memory(cache_need.bytes_taken());
    m_scratch_memory = device_memory(scratch_need.bytes_taken());
    // Counters must be zero at the start; the rest is zeroed so that a fault shows the same in every run.
    PROFGATE_CUDA(cudaMemset(m_cache_memory.bytes(), 0, cache_need.bytes_taken()));
    PROFGATE_CUDA(cudaMemset(m_scratch_memory.bytes(), 0, scratch_need.bytes_taken()));
    PROFGATE_CUDA(cudaDeviceSynchronize());
    memory_layout weights_at(m_weight_memory.bytes());
    memory_layout cache_at(m_cache_memory.bytes());
    memory_layout scratch_at(m_scratch_memory.bytes());
    m_weights = place_weights<T>(shape, weights_at);
    if (vision) m_vision_weights = place_vision_weights<T>(vision->shape, weights_at);
    bring_weights(config, shape, vision);
    m_engine =
        std::make_unique<cuda_decoder<T>>(shape, m_weights, plan, place_cache<T>(shape, plan, cache_at),
                                          place_buffers<T>(shape, plan, scratch_at), m_gpu.to, ranges,
                                          config.cuda_graphs, config.planted_delay_ns);
    if (vision) {
      m_image_threads.emplace(threads_of(config));
      m_vision = std::make_unique<cuda_vision_encoder<T>>(*vision, m_vision_weights,
                                                          place_vision_buffers<T>(*vision, scratch_at),
                                                          m_gpu.to, *m_image_threads, ranges);
    }
  }

  device_description device() const override {
    return {"cuda", m_gpu.name, std::nullopt, m_gpu.pci_bus_id, library_versions()};
  }
  decoder& engine() override { return *m_engine; }
  vision::vision_encoder* vision() override { return m_vision.get(); }
  memory_use memory() const override {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    PROFGATE_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
    return {m_need.weight_bytes, m_need.kv_cache_bytes, m_need.scratch_bytes,
            signed_bytes(total_bytes - free_bytes)};
  }
  ceilings measure_ceilings() override { return m_ceilings; }

 private:
  void bring_weights(const workload_config& config, const model_shape& shape,
                     const std::optional<vision::vision_need>& vision) {
    // Weights are read by kernels that do not wait for the ones before: all must be there first.
    queue one_by_one = m_gpu.to;
    one_by_one.overlap = false;
    const stopwatch watch;
    const auto bring = [&](const std::vector<tensor_spec>& tensors,
                           const std::map<std::string, T*>& place_of) {
      if (config.checkpoint)
        load_weights(one_by_one, tensors, *config.checkpoint, place_of);
      else
        fill_weights(one_by_one, tensors, place_of);
    };
    bring(tensors_of(shape), m_weights.place_of);
    if (vision) bring(vision::tensors_of(vision->shape), m_vision_weights.place_of);
    PROFGATE_CUDA(cudaStreamSynchronize(m_gpu.to.stream));
    std::printf("weights: %.2f GB %s in %.3f s\n", static_cast<double>(m_need.weight_bytes) * 1e-9,
                config.checkpoint ? "loaded" : "made by formula on the GPU", watch.elapsed_s());
  }

  gpu m_gpu;
  ceilings m_ceilings;
  memory_need m_need;
  device_memory m_weight_memory, m_cache_memory, m_scratch_memory;
  device_weights<T> m_weights;
  device_vision_weights<T> m_vision_weights;
  std::unique_ptr<cuda_decoder<T>> m_engine;
  std::optional<thread_pool> m_image_threads;
  std::unique_ptr<cuda_vision_encoder<T>> m_vision;
};

}  // namespace
}  // namespace profgate::llm::cuda

namespace profgate::llm {

std::unique_ptr<backend> make_cuda_backend(const workload_config& config, const model_shape& shape,
                                           decoder_capacity capacity, const stage_ranges& ranges,
                                           const std::optional<vision::vision_need>& vision) {
  if (config.dtype == "float32")
    return std::make_unique<cuda::cuda_backend<float>>(config, shape, capacity, ranges, vision);
  return std::make_unique<cuda::cuda_backend<__nv_bfloat16>>(config, shape, capacity, ranges, vision);
}

}  // namespace profgate::llm
