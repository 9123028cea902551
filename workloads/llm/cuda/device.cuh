#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

// What several kernels share: 16-byte vectors of elements, reductions, and the hand-over between kernels.
namespace profgate::llm::cuda {

using bf16 = __nv_bfloat16;

constexpr unsigned all_lanes = 0xFFFFFFFFU;
constexpr int warp_size = 32;

/// Elements of T in a 16-byte vector.
template <typename T>
constexpr int vector_width = 16 / static_cast<int>(sizeof(T));

template <typename T>
__device__ inline void unpack(const uint4& vector, float (&values)[vector_width<T>]) {
  const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (sizeof(T) == 2) {  // bfloat16 is the upper half of a float
      values[2 * i] = __uint_as_float(words[i] << 16);
      values[2 * i + 1] = __uint_as_float(words[i] & 0xFFFF0000U);
    } else {
      values[i] = __uint_as_float(words[i]);
    }
  }
}

/// A lane's part of an inner product.
template <typename T>
__device__ inline float multiply_vector(const uint4& weights, const float (&x)[vector_width<T>]) {
  float w[vector_width<T>];
  unpack<T>(weights, w);
  float even = w[0] * x[0];  // two chains: a multiply-add waits for the one before it
  float odd = w[1] * x[1];
#pragma unroll
  for (int i = 2; i < vector_width<T>; i += 2) {
    even += w[i] * x[i];
    odd += w[i + 1] * x[i + 1];
  }
  return even + odd;
}

__device__ inline unsigned pack_pair(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&pair);
}

template <typename T>
__device__ inline uint4 pack(const float (&values)[vector_width<T>]) {
  if constexpr (sizeof(T) == 2)
    return {pack_pair(values[0], values[1]), pack_pair(values[2], values[3]), pack_pair(values[4], values[5]),
            pack_pair(values[6], values[7])};
  else
    return {__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
            __float_as_uint(values[3])};
}

__device__ inline float to_float(float value) {
  return value;
}
__device__ inline float to_float(bf16 value) {
  return __bfloat162float(value);
}
template <typename T>
__device__ inline T from_float(float value) {
  if constexpr (sizeof(T) == 2)
    return __float2bfloat16_rn(value);
  else
    return value;
}

/// Two neighbouring elements at once; the address of the first is a multiple of two elements.
__device__ inline float2 load_pair(const float* from) {
  return *reinterpret_cast<const float2*>(from);
}
__device__ inline float2 load_pair(const bf16* from) {
  return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(from));
}
__device__ inline void store_pair(float* to, float2 values) {
  *reinterpret_cast<float2*>(to) = values;
}
__device__ inline void store_pair(bf16* to, float2 values) {
  *reinterpret_cast<unsigned*>(to) = pack_pair(values.x, values.y);
}

/// silu(gate) * up. The quotient is approximate, as the power is: an exact one has a branch and twenty
/// instructions, which grouped_gemm ends with for each of its sums. Where the divisor is beyond 2^126 it is
/// 0.
__device__ inline float silu_times(float gate, float up) {
  return __fdividef(gate, 1.0F + __expf(-gate)) * up;
}

/// A weight is read once a step: it leaves L1 to what is read again.
__device__ inline uint4 load_once(const void* address) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(address));
  return v;
}

/// What an earlier kernel wrote and this one reads once, maybe before wait_for_previous_kernel(): volatile,
/// so that it stays where it stands, and past L1, which may hold an older state.
__device__ inline uint4 load_of_step(const void* address) {
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(address));
  return v;
}

__device__ inline float2 load_pair_of_step(const float* address) {
  float2 v;
  asm volatile("ld.global.cg.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(address));
  return v;
}
__device__ inline int load_of_step(const int* address) {
  int v;
  asm volatile("ld.global.cg.s32 %0, [%1];" : "=r"(v) : "l"(address));
  return v;
}

template <typename T>
__device__ inline uint4 load_vector(const T* address) {
  return *reinterpret_cast<const uint4*>(address);
}

__device__ inline float warp_sum(float value) {
#pragma unroll
  for (int offset = warp_size / 2; offset > 0; offset /= 2)
    value += __shfl_xor_sync(all_lanes, value, offset);
  return value;
}

/// The sum over all threads of the block, in every thread; scratch holds one float a warp.
__device__ inline float block_sum(float value, float* scratch) {
  value = warp_sum(value);
  const int warps = (static_cast<int>(blockDim.x) + warp_size - 1) / warp_size;
  if (threadIdx.x % warp_size == 0) scratch[threadIdx.x / warp_size] = value;
  __syncthreads();
  float total = 0;
  for (int warp = 0; warp < warps; ++warp) total += scratch[warp];
  __syncthreads();
  return total;
}

/// Under overlapping launches a kernel starts before the one before it has ended. What is read or written
/// after this is safe; before it, only what no kernel writes (weights).
__device__ inline void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// The next kernel's blocks may be scheduled as soon as this one's leave room. Where kernels are short, as
/// with one sequence, it is called after the wait: kernels that start earlier pile up behind a chain of
/// waiting ones, and slow it down (llama-3.1-8b on an H200: 4.16 ms a token instead of 4.06). Where a batch
/// makes them longer, it is called first (batch 16: 5.79 ms a step instead of 5.91). A kernel that calls it
/// after the wait gives the next one more than that: all kernels before it have ended.
__device__ inline void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// The compiler moves nothing that touches memory across it. Around a wait that keeps loads early and stores
/// late (short_gemv.cu: 0.60 ms a token of qwen3-0.6b on an H200, 0.64 in the compiler's own order).
__device__ inline void keep_order() {
  asm volatile("" ::: "memory");
}

/// Brings the 128 bytes around an address to the L2 cache, where a later load finds them.
__device__ inline void fetch_line(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

/// The threads of a grid of one dimension bring what a later kernel reads first to the L2 cache, up to two
/// lines each: more would only push each other out again.
__device__ inline void fetch_lines(const void* from, std::int64_t bytes) {
  constexpr std::int64_t line_bytes = 128;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const std::int64_t at = (first + i * static_cast<std::int64_t>(gridDim.x) * blockDim.x) * line_bytes;
    if (at < bytes) fetch_line(static_cast<const char*>(from) + at);
  }
}

/// True in all threads of the last of `blocks` blocks that come here with the same counter, which is zero
/// again afterwards. What the others wrote before is visible to that block.
__device__ inline bool last_block_here(unsigned* counter, unsigned blocks) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    // Releases what the other threads wrote before the barrier, and acquires for those behind the next one.
    unsigned before;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    last = before == blocks - 1;
    if (last) *counter = 0;
  }
  __syncthreads();
  return last;
}

}  // namespace profgate::llm::cuda
