#include "vision/cpu_blocks.h"

#include <cmath>
#include <numeric>

#include "llm/cpu_products.h"
#include "vision/vision_kernels.h"

namespace profgate::llm::vision {

attention_windows square_windows(std::size_t grid_side, std::size_t window_side) {
  const std::size_t across = (grid_side + window_side - 1) / window_side;
  attention_windows windows{window_side * window_side, window_side, {}};
  windows.tokens.reserve(across * across * windows.positions);
  for (std::size_t window = 0; window < across * across; ++window) {
    for (std::size_t position = 0; position < windows.positions; ++position) {
      const std::size_t row = window / across * window_side + position / window_side;
      const std::size_t column = window % across * window_side + position % window_side;
      const bool inside = row < grid_side && column < grid_side;
      windows.tokens.push_back(inside ? static_cast<std::int32_t>(row * grid_side + column) : -1);
    }
  }
  return windows;
}

attention_windows one_window(std::size_t tokens) {
  attention_windows windows{tokens, 0, std::vector<std::int32_t>(tokens)};
  std::iota(windows.tokens.begin(), windows.tokens.end(), 0);
  return windows;
}

void layer_norm(thread_pool& pool, const float* x, norm_weights weights, std::size_t rows, std::size_t width,
                float epsilon, float* out) {
  pool.for_chunks(rows, 4, [&](std::size_t begin, std::size_t end) {
    kernels::layer_norm(x + begin * width, weights.weight, weights.bias, end - begin, width, epsilon,
                        out + begin * width);
  });
}

cpu_blocks::cpu_blocks(const block_shape& shape, std::size_t tokens, std::size_t positions, thread_pool& pool,
                       const stage_ranges& ranges)
    : m_shape(shape),
      m_pool(pool),
      m_ranges(ranges),
      m_normed(m_arena.take(tokens * shape.width)),
      m_attended(m_arena.take(tokens * shape.width)),
      m_qkv(m_arena.take(tokens * 3 * shape.width)),
      m_inner(m_arena.take(tokens * shape.mlp_width)),
      // A square's side is never longer than all of its positions.
      m_scratch_floats(kernels::attention_scratch(positions, positions, shape.width / shape.heads)),
      m_scratch(m_arena.take(m_scratch_floats * pool.size())) {}

void cpu_blocks::run(const block_weights& weights, const relative_table* relative,
                     const attention_windows& windows, std::size_t tokens, float* hidden) {
  const std::size_t width = m_shape.width;
  const std::size_t inner = m_shape.mlp_width;
  {
    const auto range = m_ranges.open(range_name::attn_norm, m_shape.encoder);
    layer_norm(m_pool, hidden, weights.attn_norm, tokens, width, m_shape.norm_eps, m_normed.data());
  }
  {
    const auto range = m_ranges.open(range_name::attn_qkv, m_shape.encoder);
    multiply(m_pool, m_normed.data(), tokens, width,
             {{weights.qkv.weight, 3 * width, weights.qkv.bias, m_qkv.data(), 3 * width}});
  }
  {
    const auto range = m_ranges.open(range_name::attn_core, m_shape.encoder);
    attend(weights, relative, windows);
  }
  {
    const auto range = m_ranges.open(range_name::attn_out, m_shape.encoder);
    multiply(m_pool, m_attended.data(), tokens, width,
             {{weights.out.weight, width, weights.out.bias, hidden, width, true}});
  }
  {
    const auto range = m_ranges.open(range_name::mlp_norm, m_shape.encoder);
    layer_norm(m_pool, hidden, weights.mlp_norm, tokens, width, m_shape.norm_eps, m_normed.data());
  }
  {
    const auto range = m_ranges.open(range_name::mlp_gate_up, m_shape.encoder);
    multiply(m_pool, m_normed.data(), tokens, width,
             {{weights.up.weight, inner, weights.up.bias, m_inner.data(), inner}});
  }
  {
    const auto range = m_ranges.open(range_name::mlp_act, m_shape.encoder);
    m_pool.for_chunks(tokens * inner, 4096, [&](std::size_t begin, std::size_t end) {
      const auto act = m_shape.act == activation::gelu ? kernels::gelu : kernels::quick_gelu;
      act(m_inner.data() + begin, end - begin);
    });
  }
  const auto range = m_ranges.open(range_name::mlp_down, m_shape.encoder);
  multiply(m_pool, m_inner.data(), tokens, inner,
           {{weights.down.weight, width, weights.down.bias, hidden, width, true}});
}

void cpu_blocks::attend(const block_weights& weights, const relative_table* relative,
                        const attention_windows& windows) {
  const kernels::attention_layer layer = {
      .qkv = m_qkv.data(),
      .qkv_bias = weights.qkv.bias,
      .heads = m_shape.heads,
      .head_dim = m_shape.width / m_shape.heads,
      .rel_h = relative != nullptr ? relative->h.data() : nullptr,
      .rel_w = relative != nullptr ? relative->w.data() : nullptr,
      .out = m_attended.data(),
  };
  // Every thread has its own memory to work in and every so-manieth head: they are equally large.
  const std::size_t parts = m_pool.size();
  m_pool.for_chunks(parts, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t part = begin; part < end; ++part) {
      for (std::size_t task = part; task < windows.count() * m_shape.heads; task += parts) {
        const std::size_t window = task / m_shape.heads;
        kernels::attend_window(
            layer, {windows.tokens.data() + window * windows.positions, windows.positions, windows.side},
            task % m_shape.heads, m_scratch.data() + part * m_scratch_floats);
      }
    }
  });
}

}  // namespace profgate::llm::vision
