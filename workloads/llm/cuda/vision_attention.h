#pragma once

#include <cuda_bf16.h>

#include "launch.h"

namespace profgate::llm::cuda {

/// Attention without a mask, within windows. W is heads * head_dim.
template <typename T>
struct vision_attention_inputs {
  const T* qkv = nullptr;       ///< [tokens, 3 W]: queries of all heads, keys, values
  const T* qkv_bias = nullptr;  ///< [3 W]: what the padding's zeros become
  const T *relative_h = nullptr, *relative_w = nullptr;  ///< [2 side - 1, head_dim]; not read where side is 0
  T* out = nullptr;                                      ///< [tokens, W]
  int tokens = 0;
  int heads = 0;
  int head_dim = 0;  ///< a multiple of 8, at most 128
  int grid = 0;      ///< the tokens are a square of this side, row by row; not read where side is 0
  int side = 0;      ///< of the squares that the grid is cut into; 0: all tokens see each other, wherever
};

/// Windows that hang over the grid's right and lower border are filled up with padding, which is seen and
/// sees nothing. Where side is not 0, a query's products with the relative positions of rows and of columns
/// are added to its scaled scores. On tensor cores for bfloat16 with heads of 64 and an even side, on
/// compute capability 9.0 by warpgroups; else by a plain kernel, for checking.
template <typename T>
void vision_attention(const queue& to, const vision_attention_inputs<T>& in);

/// The same on a GPU of compute capability 9.0, for heads of 64 and an even side, where a block may have
/// warpgroup_attention_bytes(side) of shared memory.
void vision_attention_by_warpgroups(const queue& to, const vision_attention_inputs<__nv_bfloat16>& in);
std::size_t warpgroup_attention_bytes(int side);

}  // namespace profgate::llm::cuda
