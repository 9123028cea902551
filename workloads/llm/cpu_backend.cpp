#include <algorithm>
#include <thread>

#include "llm/backend.h"
#include "llm/checkpoint.h"
#include "llm/cpu_decoder.h"
#include "llm/failure.h"
#include "llm/machine.h"

namespace profgate::llm {
namespace {

std::int64_t weight_bytes(const model_shape& shape) {
  return parameter_count(shape) * static_cast<std::int64_t>(sizeof(float));
}

/// Linux grants memory it does not have and kills whoever uses it; better to say so beforehand.
void require_memory(const model_shape& shape) {
  const auto available = available_memory_bytes();
  if (available && weight_bytes(shape) > *available)
    throw not_possible("the weights need " + std::to_string(weight_bytes(shape)) +
                       " bytes of memory, this machine has " + std::to_string(*available) + " available");
}

std::unique_ptr<tensor_source> open_source(const workload_config& config, const model_shape& shape,
                                           thread_pool& pool) {
  if (config.checkpoint) return std::make_unique<checkpoint_source>(*config.checkpoint, pool);
  require_memory(shape);
  return std::make_unique<synthetic_source>(pool);
}

class cpu_backend : public backend {
 public:
  cpu_backend(const workload_config& config, const model_shape& shape, decoder_capacity capacity,
              const stage_ranges& ranges)
      : m_pool(config.threads > 0 ? config.threads : std::max(1U, std::thread::hardware_concurrency())),
        m_weights(load_weights(shape, open_source(config, shape, m_pool))),
        m_engine(shape, m_weights, capacity, m_pool, ranges, config.planted_delay_ns),
        m_memory{.weight_bytes = weight_bytes(shape),
                 .kv_cache_bytes = 2 * shape.num_hidden_layers * capacity.positions *
                                   shape.key_value_width() * static_cast<std::int64_t>(sizeof(float)),
                 .scratch_bytes = 0,
                 .peak_bytes = std::nullopt} {}

  device_description device() const override { return {"cpu", cpu_name(), m_pool.size(), std::nullopt, {}}; }
  decoder& engine() override { return m_engine; }
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
  memory_use m_memory;
};

}  // namespace

std::unique_ptr<backend> make_cpu_backend(const workload_config& config, const model_shape& shape,
                                          decoder_capacity capacity, const stage_ranges& ranges) {
  return std::make_unique<cpu_backend>(config, shape, capacity, ranges);
}

}  // namespace profgate::llm
