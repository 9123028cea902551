#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "llm/float_arena.h"
#include "llm/model_shape.h"

namespace profgate::llm {

class thread_pool;

/// Where tensors come from. A tensor stays valid as long as its source.
class tensor_source {
 public:
  tensor_source() = default;
  tensor_source(const tensor_source&) = delete;
  tensor_source& operator=(const tensor_source&) = delete;
  virtual ~tensor_source() = default;
  virtual std::span<const float> tensor(const tensor_spec& spec) = 0;
};

/// Tensors made by the formula of fill_synthetic.
class synthetic_source : public tensor_source {
 public:
  explicit synthetic_source(thread_pool& pool) : m_pool(pool) {}
  std::span<const float> tensor(const tensor_spec& spec) override;

 private:
  thread_pool& m_pool;
  float_arena m_arena;
};

/// One SwiGLU: an MLP, an expert, or the shared experts fused; I is its width.
struct swiglu_weights {
  const float *gate, *up;  ///< [I, H]
  const float* down;       ///< [H, I]
};

/// One layer's tensors; H hidden, Q and KV the widths of all query and key/value heads, D one head, E
/// experts.
struct layer_weights {
  const float* attn_norm;                 ///< [H]
  const float* q;                         ///< [Q, H]
  const float* k;                         ///< [KV, H]
  const float* v;                         ///< [KV, H]
  const float *q_bias, *k_bias, *v_bias;  ///< [Q], [KV], [KV] or null
  const float *q_norm, *k_norm;           ///< [D] or null
  const float* o;                         ///< [H, Q]
  const float* mlp_norm;                  ///< [H]
  swiglu_weights mlp;                     ///< of a dense layer
  const float* router;                    ///< [E, H] or null in a dense layer
  std::vector<swiglu_weights> experts;    ///< E, or none in a dense layer
  swiglu_weights shared;                  ///< null where no expert is shared
};

struct decoder_weights {
  std::unique_ptr<tensor_source> source;  ///< owns what the pointers below point to
  const float* embedding;                 ///< [vocab, H]
  std::vector<layer_weights> layers;
  const float* final_norm;  ///< [H]
  const float* lm_head;     ///< [vocab, H], the embedding when tied
};

decoder_weights load_weights(const model_shape& shape, std::unique_ptr<tensor_source> source);

}  // namespace profgate::llm
