#include "vision/vision_kernels.h"

#include <algorithm>
#include <cmath>

#include "llm/kernels.h"

namespace profgate::llm::vision::kernels {
namespace {

/// Queries that share one pass over the keys: their scores over 4096 positions fit into the L2 cache.
constexpr std::size_t query_block = 32;

/// The memory that attend_window works in.
struct window_scratch {
  window_scratch(float* memory, std::size_t positions, std::size_t side, std::size_t head_dim)
      : keys(memory),
        values(keys + positions * head_dim),
        queries(values + positions * head_dim),
        out(queries + query_block * head_dim),
        scores(out + query_block * head_dim),
        bias_h(scores + query_block * positions),
        bias_w(bias_h + side) {}

  float* keys;             ///< [positions, head_dim]
  float* values;           ///< [head_dim, positions]: transposed, so that both products are of rows
  float* queries;          ///< [query_block, head_dim]
  float* out;              ///< [query_block, head_dim]
  float* scores;           ///< [query_block, positions]
  float *bias_h, *bias_w;  ///< [side], the last row or column first
};

void gather_keys_and_values(const attention_layer& layer, const window& view, std::size_t head,
                            const window_scratch& scratch) {
  const std::size_t width = layer.heads * layer.head_dim;
  for (std::size_t p = 0; p < view.positions; ++p) {
    const float* row = view.tokens[p] < 0 ? layer.qkv_bias
                                          : layer.qkv + static_cast<std::size_t>(view.tokens[p]) * 3 * width;
    const float* key = row + width + head * layer.head_dim;
    const float* value = key + width;
    std::copy_n(key, layer.head_dim, scratch.keys + p * layer.head_dim);
    for (std::size_t d = 0; d < layer.head_dim; ++d) scratch.values[d * view.positions + p] = value[d];
  }
}

/// Turns the products of a query and all keys into shares that sum to 1.
void softmax(float* scores, std::size_t count) {
  const float largest = *std::max_element(scores, scores + count);
  float total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    scores[i] = std::exp(scores[i] - largest);
    total += scores[i];
  }
  const float scale = 1.0F / total;
  for (std::size_t i = 0; i < count; ++i) scores[i] *= scale;
}

/// Row q sees row k at the relative position q - k + side - 1: those of one query are `side` neighbouring
/// rows of the table, in reverse.
void add_relative(const attention_layer& layer, const window& view, const float* query, std::size_t position,
                  const window_scratch& scratch, float* scores) {
  const std::size_t dim = layer.head_dim;
  const std::size_t side = view.side;
  llm::kernels::multiply_rows(
      query, 1, dim, {layer.rel_h + position / side * dim, side, nullptr, scratch.bias_h, side, false});
  llm::kernels::multiply_rows(
      query, 1, dim, {layer.rel_w + position % side * dim, side, nullptr, scratch.bias_w, side, false});
  for (std::size_t h = 0; h < side; ++h)
    for (std::size_t w = 0; w < side; ++w)
      scores[h * side + w] += scratch.bias_h[side - 1 - h] + scratch.bias_w[side - 1 - w];
}

}  // namespace

void layer_norm(const float* x, const float* weight, const float* bias, std::size_t rows, std::size_t width,
                float epsilon, float* out) {
  for (std::size_t row = 0; row < rows; ++row, x += width, out += width) {
    float total = 0;
    for (std::size_t i = 0; i < width; ++i) total += x[i];
    const float mean = total / static_cast<float>(width);
    float squares = 0;
    for (std::size_t i = 0; i < width; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const float scale = 1.0F / std::sqrt(squares / static_cast<float>(width) + epsilon);
    for (std::size_t i = 0; i < width; ++i) out[i] = (x[i] - mean) * scale * weight[i] + bias[i];
  }
}

void gelu(float* values, std::size_t count) {
  constexpr float root_half = 0.70710678118654752440F;
  for (std::size_t i = 0; i < count; ++i)
    values[i] = 0.5F * values[i] * (1.0F + std::erf(values[i] * root_half));
}

void quick_gelu(float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = values[i] / (1.0F + std::exp(-1.702F * values[i]));
}

std::size_t attention_scratch(std::size_t positions, std::size_t side, std::size_t head_dim) {
  return 2 * positions * head_dim + query_block * (2 * head_dim + positions) + 2 * side;
}

void attend_window(const attention_layer& layer, const window& view, std::size_t head, float* memory) {
  const std::size_t dim = layer.head_dim;
  const std::size_t width = layer.heads * dim;
  const window_scratch scratch(memory, view.positions, view.side, dim);
  gather_keys_and_values(layer, view, head, scratch);
  const float scale = 1.0F / std::sqrt(static_cast<float>(dim));

  for (std::size_t next = 0; next < view.positions;) {
    std::size_t asked[query_block];  // positions of the block's queries; padding asks nothing
    std::size_t count = 0;
    for (; next < view.positions && count < query_block; ++next) {
      if (view.tokens[next] < 0) continue;
      const auto token = static_cast<std::size_t>(view.tokens[next]);
      std::copy_n(layer.qkv + token * 3 * width + head * dim, dim, scratch.queries + count * dim);
      asked[count++] = next;
    }
    if (count == 0) return;
    llm::kernels::multiply_rows(
        scratch.queries, count, dim,
        {scratch.keys, view.positions, nullptr, scratch.scores, view.positions, false});
    for (std::size_t q = 0; q < count; ++q) {
      float* scores = scratch.scores + q * view.positions;
      for (std::size_t p = 0; p < view.positions; ++p) scores[p] *= scale;
      if (view.side > 0) add_relative(layer, view, scratch.queries + q * dim, asked[q], scratch, scores);
      softmax(scores, view.positions);
    }
    llm::kernels::multiply_rows(scratch.scores, count, view.positions,
                                {scratch.values, dim, nullptr, scratch.out, dim, false});
    for (std::size_t q = 0; q < count; ++q) {
      const auto token = static_cast<std::size_t>(view.tokens[asked[q]]);
      std::copy_n(scratch.out + q * dim, dim, layer.out + token * width + head * dim);
    }
  }
}

}  // namespace profgate::llm::vision::kernels
