#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "llm/ceilings.h"
#include "llm/decoder.h"
#include "llm/model_shape.h"
#include "llm/stage_ranges.h"
#include "llm/workload_config.h"
#include "vision/vision_encoder.h"

namespace profgate::llm {

struct device_description {
  std::string kind;  ///< cpu or cuda
  std::string name;
  std::optional<unsigned> threads;               ///< of the host, where they do the work
  std::optional<std::string> pci_bus_id;         ///< of a GPU, as CUDA spells it; NVML takes it
  std::map<std::string, std::string> libraries;  ///< that do the work, with their versions
};

/// What a model occupies on its device.
struct memory_use {
  std::int64_t weight_bytes = 0;
  std::int64_t kv_cache_bytes = 0;
  std::int64_t scratch_bytes = 0;  ///< activations and workspaces
  /// CPU: the most of this process. GPU: in use on it at the end of the run, contexts and other processes
  /// included.
  std::optional<std::int64_t> peak_bytes;
};

/// A model loaded on a device.
class backend {
 public:
  backend() = default;
  backend(const backend&) = delete;
  backend& operator=(const backend&) = delete;
  virtual ~backend() = default;

  virtual device_description device() const = 0;
  virtual decoder& engine() = 0;
  /// Null where none was asked for.
  virtual vision::vision_encoder* vision() { return nullptr; }
  virtual memory_use memory() const = 0;
  /// What the device can do; only where the config asked for it. Asked last: on the CPU it is measured then,
  /// and its buffer is not the model's.
  virtual ceilings measure_ceilings() = 0;
};

/// Of the host, where the config leaves it open all that it has.
unsigned threads_of(const workload_config& config);

/// Throw not_possible where the machine lacks the device. What does not fit its memory is not_possible on the
/// CPU, bad_input with the sum on a GPU. With a vision encoder where its need is given. ranges must outlive
/// the result.
std::unique_ptr<backend> make_cpu_backend(const workload_config& config, const model_shape& shape,
                                          decoder_capacity capacity, const stage_ranges& ranges,
                                          const std::optional<vision::vision_need>& vision = std::nullopt);
std::unique_ptr<backend> make_cuda_backend(const workload_config& config, const model_shape& shape,
                                           decoder_capacity capacity, const stage_ranges& ranges,
                                           const std::optional<vision::vision_need>& vision = std::nullopt);

}  // namespace profgate::llm
