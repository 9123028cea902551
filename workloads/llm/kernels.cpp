#include "llm/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

// One binary serves every machine of its architecture: on x86-64 the compiler makes one clone a vector
// extension and the loader picks. (Its ifunc resolvers run before the sanitizer's runtime is up, so not
// there.)
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define PROFGATE_VECTOR_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PROFGATE_VECTOR_CLONES
#endif

namespace profgate::llm::kernels {
namespace {

#if defined(__x86_64__)
constexpr std::size_t lane_count = 8;  // AVX: 16 registers hold 4 x 2 accumulators and their operands
constexpr std::size_t tile_tokens = 2;
#else
constexpr std::size_t lane_count = 4;  // NEON: 32 registers hold 4 x 4
constexpr std::size_t tile_tokens = 4;
#endif
constexpr std::size_t tile_rows = 4;

using lanes = float __attribute__((vector_size(lane_count * sizeof(float))));

// A block of x of this size stays in the L2 cache while the weights stream past it once.
constexpr std::size_t block_tokens = 128;
constexpr std::size_t block_depth = 1024;

[[gnu::always_inline]] inline void load(const float* from, lanes& to) {
  std::memcpy(&to, from, sizeof to);
}

[[gnu::always_inline]] inline float horizontal_sum(const lanes& values) {
  float total = 0;
  for (std::size_t lane = 0; lane < lane_count; ++lane) total += values[lane];
  return total;
}

/// dot(a, b) along one stream of memory. Rows of a weight matrix are read one after the other, never several
/// at once: a hardware prefetcher follows one stream at full speed, and falls to two thirds with four.
[[gnu::always_inline]] inline float dot(const float* a, const float* b, std::size_t count) {
  constexpr std::size_t chain_count = 8;  // independent sums, to hide the latency of a multiply-add
  lanes chains[chain_count] = {};
  std::size_t i = 0;
  for (; i + chain_count * lane_count <= count; i += chain_count * lane_count) {
#pragma GCC unroll 8
    for (std::size_t chain = 0; chain < chain_count; ++chain) {
      lanes a_lanes;
      lanes b_lanes;
      load(a + i + chain * lane_count, a_lanes);
      load(b + i + chain * lane_count, b_lanes);
      chains[chain] += a_lanes * b_lanes;
    }
  }
#pragma GCC unroll 8
  for (std::size_t chain = 1; chain < chain_count; ++chain) chains[0] += chains[chain];
  for (; i + lane_count <= count; i += lane_count) {
    lanes a_lanes;
    lanes b_lanes;
    load(a + i, a_lanes);
    load(b + i, b_lanes);
    chains[0] += a_lanes * b_lanes;
  }
  float total = horizontal_sum(chains[0]);
  for (; i < count; ++i) total += a[i] * b[i];
  return total;
}

/// sums[r][t] = dot(weight[r, :depth], x[t, :depth]): each loaded vector serves a whole row or column of the
/// tile.
template <std::size_t Rows, std::size_t Tokens>
[[gnu::always_inline]] inline void dot_tile(const float* weight, std::size_t weight_stride, const float* x,
                                            std::size_t x_stride, std::size_t depth,
                                            float (&sums)[Rows][Tokens]) {
  lanes partial[Rows][Tokens] = {};
  const std::size_t vector_depth = depth / lane_count * lane_count;
  for (std::size_t k = 0; k < vector_depth; k += lane_count) {
    lanes x_lanes[Tokens];
#pragma GCC unroll 4
    for (std::size_t t = 0; t < Tokens; ++t) load(x + t * x_stride + k, x_lanes[t]);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < Rows; ++r) {
      lanes row_lanes;
      load(weight + r * weight_stride + k, row_lanes);
#pragma GCC unroll 4
      for (std::size_t t = 0; t < Tokens; ++t) partial[r][t] += row_lanes * x_lanes[t];
    }
  }
#pragma GCC unroll 4
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (std::size_t t = 0; t < Tokens; ++t) {
      sums[r][t] = horizontal_sum(partial[r][t]);
      for (std::size_t k = vector_depth; k < depth; ++k)
        sums[r][t] += weight[r * weight_stride + k] * x[t * x_stride + k];
    }
  }
}

/// One tile's share of the depth goes to out; the first share also brings the bias or replaces what out held.
template <std::size_t Rows, std::size_t Tokens>
[[gnu::always_inline]] inline void tile(const float* x, std::size_t x_stride, std::size_t depth,
                                        std::size_t weight_stride, const float* weight,
                                        const row_block& block, std::size_t row, std::size_t token,
                                        bool first_share) {
  float sums[Rows][Tokens];
  dot_tile<Rows, Tokens>(weight, weight_stride, x, x_stride, depth, sums);
  for (std::size_t r = 0; r < Rows; ++r) {
    const float bias = first_share && block.bias != nullptr ? block.bias[row + r] : 0.0F;
    for (std::size_t t = 0; t < Tokens; ++t) {
      float& out = block.out[(token + t) * block.out_stride + row + r];
      const float before = first_share && !block.accumulate ? 0.0F : out;
      out = before + bias + sums[r][t];
    }
  }
}

template <std::size_t Rows>
[[gnu::always_inline]] inline void tile_row(const float* x, std::size_t token_begin, std::size_t token_end,
                                            std::size_t depth_begin, std::size_t depth_end, std::size_t depth,
                                            const row_block& block, std::size_t row) {
  const float* weight = block.weight + row * depth + depth_begin;
  const std::size_t share = depth_end - depth_begin;
  std::size_t token = token_begin;
  for (; token + tile_tokens <= token_end; token += tile_tokens)
    tile<Rows, tile_tokens>(x + token * depth + depth_begin, depth, share, depth, weight, block, row, token,
                            depth_begin == 0);
  for (; token < token_end; ++token)
    tile<Rows, 1>(x + token * depth + depth_begin, depth, share, depth, weight, block, row, token,
                  depth_begin == 0);
}

}  // namespace

PROFGATE_VECTOR_CLONES
void multiply_rows(const float* x, std::size_t tokens, std::size_t depth, const row_block& block) {
  if (tokens == 1) {
    for (std::size_t row = 0; row < block.rows; ++row) {
      const float before =
          (block.accumulate ? block.out[row] : 0.0F) + (block.bias != nullptr ? block.bias[row] : 0.0F);
      block.out[row] = before + dot(x, block.weight + row * depth, depth);
    }
    return;
  }
  for (std::size_t token = 0; token < tokens; token += block_tokens) {
    const std::size_t token_end = std::min(token + block_tokens, tokens);
    for (std::size_t k = 0; k < depth; k += block_depth) {
      const std::size_t k_end = std::min(k + block_depth, depth);
      std::size_t row = 0;
      for (; row + tile_rows <= block.rows; row += tile_rows)
        tile_row<tile_rows>(x, token, token_end, k, k_end, depth, block, row);
      for (; row < block.rows; ++row) tile_row<1>(x, token, token_end, k, k_end, depth, block, row);
    }
  }
}

PROFGATE_VECTOR_CLONES
void rms_norm(const float* x, const float* weight, std::size_t rows, std::size_t width, float epsilon,
              float* out) {
  for (std::size_t row = 0; row < rows; ++row, x += width, out += width) {
    const float scale = 1.0F / std::sqrt(dot(x, x, width) / static_cast<float>(width) + epsilon);
    for (std::size_t i = 0; i < width; ++i) out[i] = x[i] * scale * weight[i];
  }
}

PROFGATE_VECTOR_CLONES
void rotate_heads(float* heads, std::size_t head_count, std::size_t head_dim, const float* cosines,
                  const float* sines) {
  const std::size_t half = head_dim / 2;
  for (std::size_t head = 0; head < head_count; ++head) {
    float* low = heads + head * head_dim;
    float* high = low + half;
    for (std::size_t d = 0; d < half; ++d) {
      const float a = low[d];
      const float b = high[d];
      low[d] = a * cosines[d] - b * sines[d];
      high[d] = b * cosines[d] + a * sines[d];
    }
  }
}

PROFGATE_VECTOR_CLONES
void attend(const float* query, const float* keys, const float* values, std::size_t context,
            std::size_t head_dim, float* scores, float* out) {
  multiply_rows(query, 1, head_dim, {keys, context, nullptr, scores, context, false});
  const float largest = *std::max_element(scores, scores + context);
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_dim));
  float total = 0;
  for (std::size_t c = 0; c < context; ++c) {
    scores[c] = std::exp((scores[c] - largest) * scale);
    total += scores[c];
  }
  std::fill(out, out + head_dim, 0.0F);
  for (std::size_t c = 0; c < context; ++c) {
    const float share = scores[c] / total;
    const float* value = values + c * head_dim;
    for (std::size_t d = 0; d < head_dim; ++d) out[d] += share * value[d];
  }
}

void swiglu(float* gate, const float* up, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) gate[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
}

PROFGATE_VECTOR_CLONES
float sum(const float* values, std::size_t count) {
  // Eight independent chains hide the latency of the additions.
  lanes partial[8] = {};
  constexpr std::size_t step = 8 * lane_count;
  std::size_t i = 0;
  for (; i + step <= count; i += step) {
#pragma GCC unroll 8
    for (std::size_t chain = 0; chain < 8; ++chain) {
      lanes next;
      load(values + i + chain * lane_count, next);
      partial[chain] += next;
    }
  }
  float total = 0;
  for (const lanes& chain : partial) total += horizontal_sum(chain);
  for (; i < count; ++i) total += values[i];
  return total;
}

PROFGATE_VECTOR_CLONES
double spend_flops(std::size_t rounds, float* sink) {
  constexpr std::size_t chain_count = 16;
  lanes chains[chain_count] = {};
  lanes factor = {};
  lanes addend = {};
  for (std::size_t lane = 0; lane < lane_count; ++lane) {
    factor[lane] = 0.5F + *sink;  // read at run time, so that the loop cannot be computed ahead
    addend[lane] = 1.0F;
  }
  for (std::size_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 16
    for (auto& chain : chains) chain = chain * factor + addend;
  }
  for (const lanes& chain : chains) *sink += horizontal_sum(chain);
  return 2.0 * static_cast<double>(chain_count) * static_cast<double>(lane_count) *
         static_cast<double>(rounds);
}

}  // namespace profgate::llm::kernels
