#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "captured_graph.h"
#include "decoder_buffers.h"
#include "device_weights.h"
#include "gemm.h"
#include "llm/decoder.h"
#include "llm/stage_ranges.h"
#include "pinned_stage.h"
#include "products.h"

namespace profgate::llm::cuda {

/// The decoder on a GPU, in T = float or bfloat16 with float32 sums. Decode steps are replayed from a CUDA
/// graph where `graphs` is set; each has a kernel of planted_delay_ns where that is not 0. The weights and
/// ranges must outlive it.
template <typename T>
class cuda_decoder : public decoder {
 public:
  cuda_decoder(const model_shape& shape, const device_weights<T>& weights, const decoder_plan& plan,
               const kv_cache<T>& cache, const decoder_buffers<T>& buffers, const queue& to,
               const stage_ranges& ranges, bool graphs, std::int64_t planted_delay_ns = 0);
  ~cuda_decoder() override;

  std::int64_t batch() const override { return m_plan.batch; }
  void reset() override;
  void prefill(std::span<const token_id> prompts) override { prefill_with_rows(prompts, {}); }
  void prefill_with_rows(std::span<const token_id> prompts, std::span<const prompt_rows> rows) override;
  void decode_step() override;
  void capture_again() override;
  void choose(std::span<const token_id> tokens) override;
  void mark(std::size_t index) override;
  void finish() override;
  std::int64_t elapsed_ns(std::size_t from_mark, std::size_t to_mark) const override;
  std::span<const float> logits() override;
  std::vector<token_id> choices() override;
  void count_expert_rows(bool are_counted) override { m_counts_rows = are_counted; }
  std::vector<layer_rows> take_expert_rows() override { return std::exchange(m_expert_rows, {}); }

 private:
  /// Tokens that pass the layers together.
  struct chunk {
    int tokens = 0;
    int sequence = 0;        ///< prefill: whose tokens they are
    int first_position = 0;  ///< prefill
    bool decoding = false;   ///< one token of each sequence
  };
  struct matrix {
    const T* weight;  ///< [rows, depth]
    std::int64_t rows, depth;
    const T* bias = nullptr;
  };
  /// x, normed first where norm_weight is given: in the product itself for one token, else as norm_name.
  struct input {
    const T* x;
    const T* norm_weight = nullptr;
    range_name norm_name{};
  };

  /// Queues an operator under its range.
  template <typename Body>
  void as(range_name name, Body&& body) {
    const auto range = m_ranges.open(name);
    body();
  }
  void multiply(range_name name, int tokens, input from, const matrix& by, product_end end, T* out,
                range_name act_name = range_name::mlp_act);
  void multiply_wide(range_name name, int tokens, const T* x, const matrix& by, product_end end, T* out,
                     range_name act_name);
  const T* normed(int tokens, const input& from);
  void check_room(std::size_t tokens) const;
  void require_vocabulary(std::span<const token_id> tokens) const;
  void check_rows(std::span<const prompt_rows> rows, std::size_t length) const;
  /// A part of a prompt, from its position first_token on.
  struct prompt_part {
    std::span<const token_id> tokens;  ///< pinned
    std::size_t first_token = 0;
    std::span<const prompt_rows> rows;  ///< of the whole prompt
  };
  void embed_part(const prompt_part& part);
  void prefill_chunk(const prompt_part& part, int sequence);
  void step();
  void count_step();
  void capture_step();
  kv_cache<T> cache_of(std::size_t layer) const;
  void layers(const chunk& work);
  void attention(std::size_t index, const chunk& work);
  void mlp(const device_layer<T>& layer, int tokens);
  void experts(std::size_t index, int tokens);
  void experts_of_one_token(std::size_t index);
  void multiply_router(const device_layer<T>& layer, const T* x, int tokens);
  void experts_of_many(const device_layer<T>& layer, int tokens);
  void add_expert_rows(std::size_t layer, int tokens);
  void lm_head_and_choice(const T* hidden, int advance);

  model_shape m_shape;
  const device_weights<T>& m_weights;
  decoder_plan m_plan;
  kv_cache<T> m_cache;
  decoder_buffers<T> m_at;
  queue m_queue;
  const stage_ranges& m_ranges;
  bool m_graphs;
  std::int64_t m_planted_delay_ns;
  expert_shape m_experts;
  gemm_library m_gemm;

  std::int64_t m_position = 0;  ///< first free position of every sequence's cache
  std::size_t m_calls = 0;      ///< choices so far
  std::optional<captured_graph> m_decode_graph;
  std::vector<cudaEvent_t> m_marks;
  std::vector<float> m_host_logits;
  pinned_stage m_prompt_stage;  ///< [batch, prefill tokens]
  bool m_counts_rows = false;
  std::vector<layer_rows> m_expert_rows;  ///< in the order of their layers
};

}  // namespace profgate::llm::cuda
