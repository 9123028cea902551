#pragma once

#include "experts.h"

namespace profgate::llm::cuda {

/// What attention reads of one sequence's cache in a layer.
template <typename T>
struct cached_context {
  const T *keys = nullptr, *values = nullptr;  ///< [kv_heads, capacity, head_dim]; null: there is none
  const int* position = nullptr;               ///< [1]: so many positions are filled
  int kv_heads = 0;
  int head_dim = 0;
  std::int64_t capacity = 0;
};

/// One token in a layer with experts; H hidden, E experts of width M, S the shared ones as one SwiGLU.
template <typename T>
struct token_experts {
  expert_shape shape;
  int shared_width = 0;               ///< S; 0: there are none
  float epsilon = 0;                  ///< of the norm
  const T* norm_weight = nullptr;     ///< [H]
  const T* router = nullptr;          ///< [E, H]
  const T* gate_up = nullptr;         ///< [E, 2 M, H]
  const T* down = nullptr;            ///< [E, H, M]
  const T* shared_gate_up = nullptr;  ///< [2 S, H]
  const T* shared_down = nullptr;     ///< [H, S]
  T* hidden = nullptr;                ///< [H]: normed and multiplied; the sum of all is added to it
  T* activated = nullptr;             ///< [S + top_k M]: the shared experts', then those of each choice
  float* logits = nullptr;            ///< [E]: published; 0 between layers
  std::uint64_t* choices = nullptr;   ///< [top_k]: published; 0 between layers
  unsigned* readers = nullptr;        ///< [1], 0 between layers
  int* ids = nullptr;                 ///< [top_k], for those who ask later
  /// What the kernels after these read first: it comes to the L2 cache while this layer ends.
  const T* next_weight = nullptr;
  std::int64_t next_elements = 0;
  cached_context<T> next_context = {};
};

/// hidden += shared(norm(hidden)) + the chosen experts' sum, by their shares, in two kernels: one reads the
/// router, gate and up, the other down. Blocks of the first wait for logits that its first blocks make.
template <typename T>
void multiply_token_experts(const queue& to, const token_experts<T>& product);

}  // namespace profgate::llm::cuda
