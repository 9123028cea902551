#pragma once

#include "device.cuh"

// What one block tells others, of its own kernel or of the next, while both run: no counter, no barrier, no
// second trip to the cache. Who waits must leave room for those it waits for.
namespace profgate::llm::cuda {

/// A float that is its own sign of being there: its bits are 0 until another block publishes it, and who has
/// taken it makes them 0 again. A 0 is published as -0.
__device__ inline void publish(float* at, float value) {
  const unsigned bits = __float_as_uint(value);
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(bits == 0 ? 0x80000000U : bits)
               : "memory");
}

__device__ inline bool is_missing(float value) {
  return __float_as_uint(value) == 0;
}

/// Waits until it is there.
__device__ inline float when_published(const float* at) {
  float v;
  do {
    asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(v) : "l"(at) : "memory");
  } while (is_missing(v));
  return v;
}

}  // namespace profgate::llm::cuda
