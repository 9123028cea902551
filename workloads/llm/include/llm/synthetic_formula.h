#pragma once

#include <cstdint>

#include "llm/model_shape.h"

// The parts of the synthetic weights' formula (workloads/README.md) that every device shares.
namespace profgate::llm {

constexpr std::uint64_t golden_gamma = 0x9E3779B97F4A7C15U;

#ifdef __CUDACC__
#define PROFGATE_EVERYWHERE __host__ __device__
#else
#define PROFGATE_EVERYWHERE
#endif

/// The top 24 bits of the splitmix64 finaliser.
PROFGATE_EVERYWHERE constexpr std::uint32_t random_24_bits(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  z = z ^ (z >> 31U);
  return static_cast<std::uint32_t>(z >> 40U);
}

/// An element is offset + scale * s, s in [-1, 1).
struct affine {
  float offset = 0;
  float scale = 1;
};

affine distribution_of(const tensor_spec& spec);

}  // namespace profgate::llm
