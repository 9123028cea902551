#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "device_memory.h"
#include "launch.h"
#include "llm/model_shape.h"

namespace profgate::llm::cuda {

/// One layer's tensors on the device; H hidden, Q and KV the widths of all query and key/value heads, D one
/// head, I the MLP, E experts of width M, S the shared experts. What is multiplied together lies together.
template <typename T>
struct device_layer {
  T* attn_norm = nullptr;                  ///< [H]
  T* qkv = nullptr;                        ///< [Q + 2 KV, H]
  T* qkv_bias = nullptr;                   ///< [Q + 2 KV] or null
  T *q_norm = nullptr, *k_norm = nullptr;  ///< [D] or null
  T* out = nullptr;                        ///< [H, Q]
  T* mlp_norm = nullptr;                   ///< [H]
  T* gate_up = nullptr;                    ///< [2 I, H], null in a layer with experts
  T* down = nullptr;                       ///< [H, I], null in a layer with experts
  T* router = nullptr;                     ///< [E, H] or null
  T* expert_gate_up = nullptr;             ///< [E, 2 M, H] or null
  T* expert_down = nullptr;                ///< [E, H, M] or null
  T* shared_gate_up = nullptr;             ///< [2 S, H] or null
  T* shared_down = nullptr;                ///< [H, S] or null
};

template <typename T>
struct device_weights {
  T* embedding = nullptr;  ///< [vocab, H]
  std::vector<device_layer<T>> layers;
  T* final_norm = nullptr;  ///< [H]
  T* lm_head = nullptr;     ///< [vocab, H], the embedding when tied
  /// Where each tensor of the checkpoint goes.
  std::map<std::string, T*> place_of;
};

template <typename T>
device_weights<T> place_weights(const model_shape& shape, memory_layout& memory);

/// Makes every tensor by the formula of synthetic_weights.h, at its place.
template <typename T>
void fill_weights(const queue& to, std::span<const tensor_spec> tensors,
                  const std::map<std::string, T*>& place_of);

/// Reads every tensor from a Hugging Face directory, through two pinned buffers: one is filled from the file
/// while the other is under way.
template <typename T>
void load_weights(const queue& to, std::span<const tensor_spec> tensors,
                  const std::string& checkpoint_directory, const std::map<std::string, T*>& place_of);

}  // namespace profgate::llm::cuda
