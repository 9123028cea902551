#include <algorithm>
#include <thread>

#include "llm/backend.h"
#include "llm/checkpoint.h"
#include "llm/cpu_decoder.h"
#include "llm/failure.h"
#include "llm/machine.h"
#include "vision/cpu_vision_encoder.h"
#include "vision/vision_weights.h"
#include "vision/vision_work.h"

namespace profgate::llm {
namespace {

constexpr auto float_bytes = static_cast<std::int64_t>(sizeof(float));

std::int64_t weight_bytes(const model_shape& shape, const std::optional<vision::vision_need>& vision) {
  return (parameter_count(shape) + (vision ? vision::parameter_count(vision->shape) : 0)) * float_bytes;
}

/// Linux grants memory it does not have and kills whoever uses it; better to say so beforehand.
void require_memory(std::int64_t bytes) {
  const auto available = available_memory_bytes();
  if (available && bytes > *available)
    throw not_possible("the weights need " + std::to_string(bytes) + " bytes of memory, this machine has " +
                       std::to_string(*available) + " available");
}

std::unique_ptr<tensor_source> open_source(const workload_config& config, thread_pool& pool) {
  if (config.checkpoint) return std::make_unique<checkpoint_source>(*config.checkpoint, pool);
  return std::make_unique<synthetic_source>(pool);
}

/// A vision encoder and what it refers to.
struct cpu_vision {
  vision::vision_weights weights;
  vision::cpu_vision_encoder encoder;

  cpu_vision(const workload_config& config, const vision::vision_need& need, thread_pool& pool,
             const stage_ranges& ranges)
      : weights(vision::load_weights(need.shape, open_source(config, pool))),
        encoder(need.shape, weights, need.image_sizes, pool, ranges) {}
};

class cpu_backend : public backend {
 public:
  cpu_backend(const workload_config& config, const model_shape& shape, decoder_capacity capacity,
              const stage_ranges& ranges, const std::optional<vision::vision_need>& vision)
      : m_pool(threads_of(config)),
        m_weights(load_weights(shape, open_source(config, m_pool))),
        m_engine(shape, m_weights, capacity, m_pool, ranges, config.planted_delay_ns),
        m_memory{.weight_bytes = weight_bytes(shape, vision),
                 .kv_cache_bytes =
                     2 * shape.num_hidden_layers * capacity.positions * shape.key_value_width() * float_bytes,
                 .scratch_bytes = 0,
                 .peak_bytes = std::nullopt} {
    if (vision) m_vision.emplace(config, *vision, m_pool, ranges);
  }

  device_description device() const override { return {"cpu", cpu_name(), m_pool.size(), std::nullopt, {}}; }
  decoder& engine() override { return m_engine; }
  vision::vision_encoder* vision() override { return m_vision ? &m_vision->encoder : nullptr; }
  memory_use memory() const override {
    memory_use use = m_memory;
    use.peak_bytes = peak_memory_bytes();
    return use;
  }
  ceilings measure_ceilings() override { return llm::measure_ceilings(m_pool); }

 private:
  thread_pool m_pool;
  decoder_weights m_weights;
  cpu_decoder m_engine;
  std::optional<cpu_vision> m_vision;
  memory_use m_memory;
};

}  // namespace

unsigned threads_of(const workload_config& config) {
  return config.threads > 0 ? config.threads : std::max(1U, std::thread::hardware_concurrency());
}

std::unique_ptr<backend> make_cpu_backend(const workload_config& config, const model_shape& shape,
                                          decoder_capacity capacity, const stage_ranges& ranges,
                                          const std::optional<vision::vision_need>& vision) {
  if (!config.checkpoint) require_memory(weight_bytes(shape, vision));
  return std::make_unique<cpu_backend>(config, shape, capacity, ranges, vision);
}

}  // namespace profgate::llm
