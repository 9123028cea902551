#include <cuda_fp16.h>

#include <algorithm>
#include <string>

#include "device.cuh"
#include "fill.h"
#include "llm/failure.h"
#include "llm/synthetic_formula.h"

namespace profgate::llm::cuda {
inline namespace weights_fill {  // named: a kernel keeps its name from build to build

constexpr int block_threads = 256;

template <typename T>
__global__ __launch_bounds__(block_threads) void synthetic_kernel(std::uint64_t name_hash, float offset,
                                                                  float scale, std::int64_t count, T* out) {
  constexpr int width = vector_width<T>;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * block_threads * width;
  for (std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x) * width;
       first < count; first += stride) {
    float values[width];
    std::uint64_t state = name_hash + (static_cast<std::uint64_t>(first) + 1) * golden_gamma;
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const float unit = static_cast<float>(random_24_bits(state)) * 0x1p-23F - 1.0F;
      // Two roundings, as the formula has them, and then one to bfloat16, whatever T is.
      values[i] = __bfloat162float(__float2bfloat16_rn(__fadd_rn(offset, __fmul_rn(scale, unit))));
      state += golden_gamma;
    }
    if (first + width <= count) {
      *reinterpret_cast<uint4*>(out + first) = pack<T>(values);
    } else {
      for (int i = 0; first + i < count; ++i) out[first + i] = from_float<T>(values[i]);
    }
  }
}

template <typename T, typename From>
__global__ __launch_bounds__(block_threads) void convert_kernel(const From* from, std::int64_t count,
                                                                T* out) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * block_threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x; i < count;
       i += stride)
    out[i] = from_float<T>(static_cast<float>(from[i]));
}

dim3 blocks_for(const queue& to, std::int64_t items) {
  return {std::min(ceil_div(items, block_threads), static_cast<unsigned>(to.multiprocessors * 32)), 1, 1};
}

template <typename T, typename From>
void start_convert(const queue& to, const void* bytes, std::int64_t count, T* out) {
  launch(to, convert_kernel<T, From>, blocks_for(to, count), dim3(block_threads), 0,
         static_cast<const From*>(bytes), count, out);
}

}  // namespace weights_fill

bool compiled_for_overlap() {
  cudaFuncAttributes attributes{};
  const cudaError_t status = cudaFuncGetAttributes(&attributes, synthetic_kernel<float>);
  if (status != cudaSuccess)
    throw not_possible(std::string("this build has no code for the CUDA device, no CUDA kernel can run: ") +
                       cudaGetErrorString(status));
  return attributes.ptxVersion >= 90;
}

template <typename T>
void fill_synthetic(const queue& to, std::uint64_t name_hash, float offset, float scale, std::int64_t count,
                    T* out) {
  launch(to, synthetic_kernel<T>, blocks_for(to, (count + vector_width<T> - 1) / vector_width<T>),
         dim3(block_threads), 0, name_hash, offset, scale, count, out);
}

template <typename T>
void convert(const queue& to, tensor_dtype from, const void* bytes, std::int64_t count, T* out) {
  switch (from) {
    case tensor_dtype::f32:
      return start_convert<T, float>(to, bytes, count, out);
    case tensor_dtype::f16:
      return start_convert<T, __half>(to, bytes, count, out);
    case tensor_dtype::bf16:
      return start_convert<T, bf16>(to, bytes, count, out);
    case tensor_dtype::other:
      return;  // refused where the checkpoint is read
  }
}

#define PROFGATE_INSTANTIATE(T)                                                              \
  template void fill_synthetic(const queue&, std::uint64_t, float, float, std::int64_t, T*); \
  template void convert(const queue&, tensor_dtype, const void*, std::int64_t, T*)
PROFGATE_INSTANTIATE(float);
PROFGATE_INSTANTIATE(bf16);

}  // namespace profgate::llm::cuda
