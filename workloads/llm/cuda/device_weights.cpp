#include "device_weights.h"

#include <cuda_bf16.h>

#include <algorithm>
#include <cstring>

#include "fill.h"
#include "llm/checkpoint.h"
#include "llm/fnv1a.h"
#include "llm/synthetic_formula.h"

namespace profgate::llm::cuda {
namespace {

/// Places the tensors of one layer and notes each under its checkpoint name.
template <typename T>
class layer_placer {
 public:
  layer_placer(std::int64_t layer, memory_layout& memory, std::map<std::string, T*>& place_of)
      : m_layer(layer), m_memory(memory), m_place_of(place_of) {}

  T* take(std::int64_t elements) { return m_memory.take<T>(elements); }
  void note(const std::string& suffix, T* at) { m_place_of[layer_tensor_name(m_layer, suffix)] = at; }
  T* take(const std::string& suffix, std::int64_t elements) {
    T* at = take(elements);
    note(suffix, at);
    return at;
  }
  /// Gate above up: one product makes both.
  void note_gate_up(const std::string& prefix, T* at, std::int64_t elements_of_each) {
    note(prefix + "gate_proj.weight", at);
    note(prefix + "up_proj.weight", at + elements_of_each);
  }

 private:
  std::int64_t m_layer;
  memory_layout& m_memory;
  std::map<std::string, T*>& m_place_of;
};

template <typename T>
void place_attention(const model_shape& shape, layer_placer<T>& placer, device_layer<T>& layer) {
  const auto hidden = shape.hidden_size;
  const auto query = shape.query_width();
  const auto key_value = shape.key_value_width();
  layer.attn_norm = placer.take("input_layernorm.weight", hidden);
  layer.qkv = placer.take("self_attn.q_proj.weight", (query + 2 * key_value) * hidden);
  placer.note("self_attn.k_proj.weight", layer.qkv + query * hidden);
  placer.note("self_attn.v_proj.weight", layer.qkv + (query + key_value) * hidden);
  if (shape.attention_bias) {
    layer.qkv_bias = placer.take("self_attn.q_proj.bias", query + 2 * key_value);
    placer.note("self_attn.k_proj.bias", layer.qkv_bias + query);
    placer.note("self_attn.v_proj.bias", layer.qkv_bias + query + key_value);
  }
  if (shape.qk_norm) {
    layer.q_norm = placer.take("self_attn.q_norm.weight", shape.head_dim);
    layer.k_norm = placer.take("self_attn.k_norm.weight", shape.head_dim);
  }
  layer.out = placer.take("self_attn.o_proj.weight", hidden * query);
}

template <typename T>
void place_experts(const model_shape& shape, layer_placer<T>& placer, device_layer<T>& layer) {
  const auto hidden = shape.hidden_size;
  const auto matrix = shape.moe_intermediate_size * hidden;
  layer.router = placer.take("mlp.gate.weight", shape.num_experts * hidden);
  layer.expert_gate_up = placer.take(shape.num_experts * 2 * matrix);
  layer.expert_down = placer.take(shape.num_experts * matrix);
  for (std::int64_t expert = 0; expert < shape.num_experts; ++expert) {
    placer.note_gate_up(expert_prefix(expert), layer.expert_gate_up + expert * 2 * matrix, matrix);
    placer.note(expert_prefix(expert) + "down_proj.weight", layer.expert_down + expert * matrix);
  }
  if (shape.shared_intermediate_size > 0) {
    const auto shared = shape.shared_intermediate_size * hidden;
    layer.shared_gate_up = placer.take(2 * shared);
    placer.note_gate_up("mlp.shared_experts.", layer.shared_gate_up, shared);
    layer.shared_down = placer.take("mlp.shared_experts.down_proj.weight", shared);
  }
}

/// Two buffers of pinned memory and of the device, each with the event after which it may be filled again.
class staging {
 public:
  static constexpr std::size_t buffer_bytes = std::size_t{64} << 20U;

  explicit staging(const queue& to) : m_queue(to), m_device(2 * buffer_bytes) {
    PROFGATE_CUDA(cudaMallocHost(&m_host, 2 * buffer_bytes));
    for (auto& event : m_free) PROFGATE_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  }
  staging(const staging&) = delete;
  staging& operator=(const staging&) = delete;
  ~staging() {
    cudaStreamSynchronize(m_queue.stream);
    for (auto& event : m_free) cudaEventDestroy(event);
    cudaFreeHost(m_host);
  }

  template <typename T>
  void upload(const stored_tensor& tensor, T* to) {
    const auto element_bytes = static_cast<std::size_t>(tensor.element_bytes());
    for (std::size_t first = 0; first < tensor.bytes.size(); first += buffer_bytes) {
      const std::size_t bytes = std::min(buffer_bytes, tensor.bytes.size() - first);
      auto* host = static_cast<std::byte*>(m_host) + m_turn * buffer_bytes;
      std::byte* device = m_device.bytes() + m_turn * buffer_bytes;
      PROFGATE_CUDA(cudaEventSynchronize(m_free[m_turn]));
      std::memcpy(host, tensor.bytes.data() + first, bytes);
      PROFGATE_CUDA(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, m_queue.stream));
      convert(m_queue, tensor.dtype, device, static_cast<std::int64_t>(bytes / element_bytes),
              to + first / element_bytes);
      PROFGATE_CUDA(cudaEventRecord(m_free[m_turn], m_queue.stream));
      m_turn = 1 - m_turn;
    }
  }

 private:
  queue m_queue;
  void* m_host = nullptr;
  device_memory m_device;
  cudaEvent_t m_free[2] = {};
  std::size_t m_turn = 0;
};

}  // namespace

template <typename T>
device_weights<T> place_weights(const model_shape& shape, memory_layout& memory) {
  device_weights<T> weights;
  const auto hidden = shape.hidden_size;
  weights.embedding = memory.take<T>(shape.vocab_size * hidden);
  weights.place_of["model.embed_tokens.weight"] = weights.embedding;
  for (std::int64_t index = 0; index < shape.num_hidden_layers; ++index) {
    layer_placer<T> placer(index, memory, weights.place_of);
    device_layer<T> layer;
    place_attention(shape, placer, layer);
    layer.mlp_norm = placer.take("post_attention_layernorm.weight", hidden);
    if (shape.has_experts(index)) {
      place_experts(shape, placer, layer);
    } else {
      const auto matrix = shape.intermediate_size * hidden;
      layer.gate_up = placer.take(2 * matrix);
      placer.note_gate_up("mlp.", layer.gate_up, matrix);
      layer.down = placer.take("mlp.down_proj.weight", matrix);
    }
    weights.layers.push_back(layer);
  }
  weights.final_norm = memory.take<T>(hidden);
  weights.place_of["model.norm.weight"] = weights.final_norm;
  weights.lm_head = weights.embedding;
  if (!shape.tie_word_embeddings) {
    weights.lm_head = memory.take<T>(shape.vocab_size * hidden);
    weights.place_of["lm_head.weight"] = weights.lm_head;
  }
  return weights;
}

template <typename T>
void fill_weights(const queue& to, std::span<const tensor_spec> tensors,
                  const std::map<std::string, T*>& place_of) {
  for (const auto& spec : tensors) {
    const affine distribution = distribution_of(spec);
    fill_synthetic(to, fnv1a_64(spec.name), distribution.offset, distribution.scale, spec.elements(),
                   place_of.at(spec.name));
  }
}

template <typename T>
void load_weights(const queue& to, std::span<const tensor_spec> tensors,
                  const std::string& checkpoint_directory, const std::map<std::string, T*>& place_of) {
  const checkpoint files(checkpoint_directory);
  staging buffers(to);
  for (const auto& spec : tensors) buffers.upload(files.find(spec), place_of.at(spec.name));
}

#define PROFGATE_INSTANTIATE(T)                                                                             \
  template device_weights<T> place_weights(const model_shape&, memory_layout&);                             \
  template void fill_weights(const queue&, std::span<const tensor_spec>, const std::map<std::string, T*>&); \
  template void load_weights(const queue&, std::span<const tensor_spec>, const std::string&,                \
                             const std::map<std::string, T*>&)
PROFGATE_INSTANTIATE(float);
PROFGATE_INSTANTIATE(__nv_bfloat16);
#undef PROFGATE_INSTANTIATE

}  // namespace profgate::llm::cuda
