#include <algorithm>

#include "device.cuh"
#include "token_ops.h"

namespace profgate::llm::cuda {
inline namespace tokens {  // named: a kernel keeps its name from build to build

constexpr int block_threads = 256;

template <typename T>
__global__ __launch_bounds__(block_threads) void embed_kernel(const T* embedding, const int* tokens,
                                                              int width, T* out, step_angles angles) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  if (angles.positions != nullptr) {
    const std::int64_t from = static_cast<std::int64_t>(angles.positions[blockIdx.x]) * angles.half_head;
    const std::int64_t to = static_cast<std::int64_t>(blockIdx.x) * angles.half_head;
    for (int i = static_cast<int>(threadIdx.x); i < angles.half_head; i += block_threads) {
      angles.cosines[to + i] = angles.all_cosines[from + i];
      angles.sines[to + i] = angles.all_sines[from + i];
    }
  }
  const std::int64_t token = tokens[blockIdx.x];
  const auto* from = reinterpret_cast<const uint4*>(embedding + token * width);
  auto* to = reinterpret_cast<uint4*>(out + static_cast<std::int64_t>(blockIdx.x) * width);
  for (int i = static_cast<int>(threadIdx.x); i < width / vector_width<T>; i += block_threads)
    to[i] = from[i];
}

/// A block a token. Rows of up to 4 vectors a thread stay in registers between the two passes.
template <typename T>
__global__ __launch_bounds__(block_threads) void rms_norm_kernel(const T* x, const T* weight, float epsilon,
                                                                 int width, T* out) {
  constexpr int kept = 4;
  __shared__ float scratch[block_threads / warp_size];
  let_next_kernel_start();
  wait_for_previous_kernel();
  const int vectors = width / vector_width<T>;
  const auto* from = reinterpret_cast<const uint4*>(x + static_cast<std::int64_t>(blockIdx.x) * width);
  const auto* factors_from = reinterpret_cast<const uint4*>(weight);
  auto* to = reinterpret_cast<uint4*>(out + static_cast<std::int64_t>(blockIdx.x) * width);
  uint4 row[kept];
  float squares = 0;
  const auto add_squares = [&](const uint4& vector) {
    float values[vector_width<T>];
    unpack<T>(vector, values);
#pragma unroll
    for (float value : values) squares += value * value;
  };
#pragma unroll
  for (int i = 0; i < kept; ++i) {
    const int at = i * block_threads + static_cast<int>(threadIdx.x);
    row[i] = at < vectors ? from[at] : uint4{0, 0, 0, 0};
    add_squares(row[i]);
  }
  for (int at = kept * block_threads + static_cast<int>(threadIdx.x); at < vectors; at += block_threads)
    add_squares(from[at]);
  const float scale = rsqrtf(block_sum(squares, scratch) / static_cast<float>(width) + epsilon);
  const auto write = [&](int at, const uint4& vector) {
    float values[vector_width<T>];
    float factors[vector_width<T>];
    unpack<T>(vector, values);
    unpack<T>(factors_from[at], factors);
#pragma unroll
    for (int i = 0; i < vector_width<T>; ++i) values[i] *= scale * factors[i];
    to[at] = pack<T>(values);
  };
#pragma unroll
  for (int i = 0; i < kept; ++i) {
    const int at = i * block_threads + static_cast<int>(threadIdx.x);
    if (at < vectors) write(at, row[i]);
  }
  for (int at = kept * block_threads + static_cast<int>(threadIdx.x); at < vectors; at += block_threads)
    write(at, from[at]);
}

/// Grid: (tokens, parts of a row).
template <typename T>
__global__ __launch_bounds__(block_threads) void swiglu_kernel(const T* gate_up, int row_vectors, T* out) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t token = blockIdx.x;
  const int at = static_cast<int>(blockIdx.y * block_threads + threadIdx.x);
  if (at >= row_vectors) return;
  const auto* from = reinterpret_cast<const uint4*>(gate_up) + token * 2 * row_vectors + at;
  float gate[vector_width<T>];
  float up[vector_width<T>];
  unpack<T>(from[0], gate);
  unpack<T>(from[row_vectors], up);
#pragma unroll
  for (int i = 0; i < vector_width<T>; ++i) gate[i] = silu_times(gate[i], up[i]);
  reinterpret_cast<uint4*>(out)[token * row_vectors + at] = pack<T>(gate);
}

/// Larger for a larger value, and for equal values for the smaller index.
__device__ inline unsigned long long order_key(float value, int index) {
  const unsigned bits = __float_as_uint(value);
  const unsigned ordered = (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
  return static_cast<unsigned long long>(ordered) << 32U | (0xFFFFFFFFU - static_cast<unsigned>(index));
}

/// Grid: (parts of the vocabulary, batch).
__global__ __launch_bounds__(block_threads) void choose_kernel(const float* logits, int vocab, int advance,
                                                               sequence_state state) {
  __shared__ unsigned long long of_warp[block_threads / warp_size];
  wait_for_previous_kernel();
  let_next_kernel_start();
  const int sequence = static_cast<int>(blockIdx.y);
  const float* row = logits + static_cast<std::int64_t>(sequence) * vocab;
  unsigned long long best = 0;
  for (int i = static_cast<int>(blockIdx.x * block_threads + threadIdx.x); i < vocab;
       i += static_cast<int>(gridDim.x) * block_threads) {
    const auto key = order_key(row[i], i);
    best = key > best ? key : best;
  }
  for (int offset = warp_size / 2; offset > 0; offset /= 2) {
    const auto other = __shfl_xor_sync(all_lanes, best, offset);
    best = other > best ? other : best;
  }
  if (threadIdx.x % warp_size == 0) of_warp[threadIdx.x / warp_size] = best;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (const auto key : of_warp) best = key > best ? key : best;
    atomicMax(state.best + sequence, best);
  }
  if (!last_block_here(state.blocks_done + sequence, gridDim.x) || threadIdx.x != 0) return;
  const auto winner = atomicExch(state.best + sequence, 0ULL);
  const int token = static_cast<int>(0xFFFFFFFFU - static_cast<unsigned>(winner & 0xFFFFFFFFU));
  state.choices[state.choice_count[sequence] * static_cast<int>(gridDim.y) + sequence] = token;
  state.choice_count[sequence] += 1;
  state.next_token[sequence] = token;
  state.position[sequence] += advance;
}

}  // namespace tokens

template <typename T>
void embed_tokens(const queue& to, const T* embedding, const int* tokens, int token_count, int width, T* out,
                  const step_angles& angles) {
  launch(to, embed_kernel<T>, dim3(static_cast<unsigned>(token_count)), dim3(block_threads), 0, embedding,
         tokens, width, out, angles);
}

template <typename T>
void rms_norm(const queue& to, const T* x, const T* weight, float epsilon, int token_count, int width,
              T* out) {
  launch(to, rms_norm_kernel<T>, dim3(static_cast<unsigned>(token_count)), dim3(block_threads), 0, x, weight,
         epsilon, width, out);
}

template <typename T>
void swiglu(const queue& to, const T* gate_up, int token_count, int width, T* out) {
  const int row_vectors = width / vector_width<T>;
  const dim3 grid(static_cast<unsigned>(token_count), ceil_div(row_vectors, block_threads));
  launch(to, swiglu_kernel<T>, grid, dim3(block_threads), 0, gate_up, row_vectors, out);
}

void choose_tokens(const queue& to, const float* logits, int vocab, int batch, int advance,
                   const sequence_state& state) {
  const unsigned parts = std::min(ceil_div(vocab, 4 * block_threads), 64U);
  launch(to, choose_kernel, dim3(parts, static_cast<unsigned>(batch)), dim3(block_threads), 0, logits, vocab,
         advance, state);
}

#define PROFGATE_INSTANTIATE(T)                                                                     \
  template void embed_tokens(const queue&, const T*, const int*, int, int, T*, const step_angles&); \
  template void rms_norm(const queue&, const T*, const T*, float, int, int, T*);                    \
  template void swiglu(const queue&, const T*, int, int, T*)
PROFGATE_INSTANTIATE(float);
PROFGATE_INSTANTIATE(bf16);

}  // namespace profgate::llm::cuda
