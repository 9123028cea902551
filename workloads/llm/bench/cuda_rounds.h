#pragma once

#include <benchmark/benchmark.h>
#include <cuda_bf16.h>

#include <functional>
#include <string>

#include "cuda_ceilings.h"
#include "device_memory.h"

/// How kernels are timed against what this GPU gives: each line's ratio is the kernel's rate over a ceiling
/// measured just before in the same process, bytes over a device copy, operations over a large cuBLASLt
/// product.
namespace profgate::llm::cuda::bench {

using element = __nv_bfloat16;

// A round is replayed from a graph, as a decode step is: the host's launches would be longer than small
// kernels. Each launch of a round takes other weights, so that none are left in the L2 cache from the round
// before.
constexpr std::size_t pool_bytes = std::size_t{8} << 30U;
constexpr int round_launches = 20;

struct gpu {
  queue to;
  ceilings attainable;
  device_memory pool;

  gpu();
};

gpu& the_gpu();

/// Memory that the launch number `turn` of a round has for itself; the first part is `shared` by all.
class turn_memory {
 public:
  explicit turn_memory(std::size_t shared_bytes) : m_shared_bytes(shared_bytes) {}
  memory_layout shared() const { return memory_layout(the_gpu().pool.bytes()); }
  memory_layout own(int turn, std::size_t bytes) const {
    const std::size_t slots = (pool_bytes - m_shared_bytes) / bytes;
    return memory_layout(the_gpu().pool.bytes() + m_shared_bytes +
                         static_cast<std::size_t>(turn) % slots * bytes);
  }

 private:
  std::size_t m_shared_bytes;
};

/// Of one launch.
struct work {
  double bytes = 0;
  double flops = 0;
};

/// Times rounds of launches and counts their rates.
void time_rounds(benchmark::State& state, const work& once, const std::function<void(int turn)>& launch_one);

void add(const std::string& name, const std::function<void(benchmark::State&)>& body);

void add_products();
void add_experts();
void add_attention();
void add_vision();

}  // namespace profgate::llm::cuda::bench
