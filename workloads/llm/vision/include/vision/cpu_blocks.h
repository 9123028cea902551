#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "llm/float_arena.h"
#include "llm/stage_ranges.h"
#include "llm/thread_pool.h"
#include "vision/position_tables.h"
#include "vision/vision_weights.h"

namespace profgate::llm::vision {

/// Which tokens attend to each other.
struct attention_windows {
  std::size_t positions = 0;         ///< of one window
  std::size_t side = 0;              ///< of a square one; 0 in CLIP
  std::vector<std::int32_t> tokens;  ///< [windows, positions], -1 is padding
  std::size_t count() const { return tokens.size() / positions; }
};

/// A grid of side x side tokens in squares, filled up at its right and lower border.
attention_windows square_windows(std::size_t grid_side, std::size_t window_side);
/// All tokens together, without positions of their own.
attention_windows one_window(std::size_t tokens);

enum class activation { gelu, quick_gelu };

/// What the layers of one transformer share.
struct block_shape {
  std::size_t width = 0;
  std::size_t heads = 0;
  std::size_t mlp_width = 0;
  float norm_eps = 0;
  activation act = activation::gelu;
  image_encoder encoder = image_encoder::sam;  ///< in the names of its operators
};

/// out[r, :] = LayerNorm(x[r, :]), on all threads.
void layer_norm(thread_pool& pool, const float* x, norm_weights weights, std::size_t rows, std::size_t width,
                float epsilon, float* out);

/// Pre-norm transformer layers on the CPU: SAM's and CLIP's differ in activation, windows and positions.
class cpu_blocks {
 public:
  /// Room for passes of up to `tokens` tokens and windows of up to `positions`.
  cpu_blocks(const block_shape& shape, std::size_t tokens, std::size_t positions, thread_pool& pool,
             const stage_ranges& ranges);

  /// Replaces hidden, [tokens, width], by the layer's output. relative is null in CLIP.
  void run(const block_weights& weights, const relative_table* relative, const attention_windows& windows,
           std::size_t tokens, float* hidden);

 private:
  void attend(const block_weights& weights, const relative_table* relative, const attention_windows& windows);

  block_shape m_shape;
  thread_pool& m_pool;
  const stage_ranges& m_ranges;
  float_arena m_arena;
  std::span<float> m_normed, m_attended;  ///< [tokens, width]
  std::span<float> m_qkv;                 ///< [tokens, 3 · width]
  std::span<float> m_inner;               ///< [tokens, mlp_width]
  std::size_t m_scratch_floats;           ///< of one thread
  std::span<float> m_scratch;
};

}  // namespace profgate::llm::vision
