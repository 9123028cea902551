#pragma once

#include <cstddef>

// The arithmetic, on one thread, over memory the caller owns. Vectorised for the machine it runs on.
namespace profgate::llm::kernels {

/// Rows of a weight matrix [rows, depth] and where their products go: out[t * out_stride + r].
struct row_block {
  const float* weight = nullptr;
  std::size_t rows = 0;
  const float* bias = nullptr;  ///< [rows] or null
  float* out = nullptr;
  std::size_t out_stride = 0;
  bool accumulate = false;  ///< add to what out holds (a residual) instead of replacing it
};

/// out[t, r] = dot(x[t, :], weight[r, :]) (+ bias[r]) (+ out[t, r]); x is [tokens, depth].
void multiply_rows(const float* x, std::size_t tokens, std::size_t depth, const row_block& block);

/// out[t, :] = x[t, :] / rms(x[t, :]) * weight; x and out are [rows, width] and may be the same.
void rms_norm(const float* x, const float* weight, std::size_t rows, std::size_t width, float epsilon,
              float* out);

/// Rotates each head's pair (d, d + head_dim / 2) by one position's angles; cosines and sines are [head_dim /
/// 2].
void rotate_heads(float* heads, std::size_t head_count, std::size_t head_dim, const float* cosines,
                  const float* sines);

/// One head's attention of one token over `context` cached positions; keys and values are [context,
/// head_dim], scores is scratch for `context` floats, out is [head_dim].
void attend(const float* query, const float* keys, const float* values, std::size_t context,
            std::size_t head_dim, float* scores, float* out);

/// gate[i] = silu(gate[i]) * up[i]
void swiglu(float* gate, const float* up, std::size_t count);

/// Sum of count floats, as fast as memory gives them.
float sum(const float* values, std::size_t count);

/// Multiply-adds on registers only, `rounds` times; returns how many floating-point operations that were.
/// The result goes to *sink so that none of it can be left out.
double spend_flops(std::size_t rounds, float* sink);

}  // namespace profgate::llm::kernels
