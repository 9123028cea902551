#pragma once

#include <cstdint>

#include "launch.h"

// Layers with experts: each token goes to its top_k of `experts` SwiGLUs. A slot is one token's one choice.
namespace profgate::llm::cuda {

struct expert_shape {
  int experts = 0;
  int top_k = 0;
  int hidden = 0;
  int width = 0;             ///< of one expert
  bool renormalise = false;  ///< the chosen shares are scaled to sum to 1
};

constexpr int largest_expert_count = 1024;
constexpr int largest_top_k = 32;

struct routing {
  float* router_logits = nullptr;  ///< [tokens, experts]
  int* ids = nullptr;              ///< [tokens, top_k]
  float* shares = nullptr;         ///< [tokens, top_k]
};

/// Softmax over a token's router_logits, then the top_k, ties to the smaller index.
void route(const queue& to, const expert_shape& shape, int tokens, const routing& out);

/// Slots ordered by expert, in tiles of rows that one block of a product takes.
struct expert_order {
  int* slot_of_row = nullptr;  ///< [slots]
  int* row_of_slot = nullptr;  ///< [slots]
  int* tile_expert = nullptr;  ///< [largest_tile_count()]
  int* tile_begin = nullptr;   ///< first row of the tile
  int* tile_end = nullptr;
  int* tile_count = nullptr;  ///< [1]
  int tile_tokens = 0;        ///< rows that a tile has at most, as tile_tokens_on() says
};

constexpr int plain_tile_tokens = 64;
constexpr int warpgroup_tile_tokens = 192;

/// What multiply_grouped() takes at once.
template <typename T>
constexpr int tile_tokens_on(const queue& to) {
  return sizeof(T) == 2 && to.warpgroups ? warpgroup_tile_tokens : plain_tile_tokens;
}

constexpr int largest_tile_count(int slots, int experts, int tile_tokens = plain_tile_tokens) {
  return slots / tile_tokens + (experts < slots ? experts : slots);
}

void order_by_expert(const queue& to, const expert_shape& shape, const int* ids, int tokens,
                     const expert_order& out);

/// What becomes of a row's sums.
enum class grouped_end {
  store,  ///< out = sums
  swiglu  ///< out = silu(sum with gate's row) * (sum with up's row); weight is [experts, 2 * rows, depth]
};

/// out[row, r] = end(dot(x[source(row), :], weight[expert of row, r, :])), weight [experts, rows, depth].
/// source is the row's token where gather_divisor is top_k (x is [tokens, depth]), the row itself where it
/// is 0.
template <typename T>
struct grouped_product {
  const T* x = nullptr;
  const T* weight = nullptr;
  T* out = nullptr;  ///< [slots, rows]
  int rows = 0;
  int depth = 0;
  int gather_divisor = 0;
  int slots = 0;
  int experts = 0;
};

template <typename T>
void multiply_grouped(const queue& to, const grouped_product<T>& product, grouped_end end,
                      const expert_order& order);

/// hidden[t, :] += sum over the token's slots of share * from[row of slot, :]
template <typename T>
void combine_experts(const queue& to, const expert_shape& shape, const T* from, const float* shares,
                     const int* row_of_slot, int tokens, T* hidden);

}  // namespace profgate::llm::cuda
