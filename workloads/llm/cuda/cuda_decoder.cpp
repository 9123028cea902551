#include "cuda_decoder.h"

#include <cuda_bf16.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "llm/failure.h"
#include "llm/rope.h"

namespace profgate::llm::cuda {
namespace {

void upload_angles(const rope_angles& angles, float* cosines, float* sines) {
  const std::size_t bytes = angles.cosines.size() * sizeof(float);
  PROFGATE_CUDA(cudaMemcpy(cosines, angles.cosines.data(), bytes, cudaMemcpyHostToDevice));
  PROFGATE_CUDA(cudaMemcpy(sines, angles.sines.data(), bytes, cudaMemcpyHostToDevice));
  PROFGATE_CUDA(cudaDeviceSynchronize());  // the engine's stream does not wait for such copies
}

}  // namespace

template <typename T>
cuda_decoder<T>::cuda_decoder(const model_shape& shape, const device_weights<T>& weights,
                              const decoder_plan& plan, const kv_cache<T>& cache,
                              const decoder_buffers<T>& buffers, const queue& to, const stage_ranges& ranges,
                              bool graphs, std::int64_t planted_delay_ns)
    : m_shape(shape),
      m_weights(weights),
      m_plan(plan),
      m_cache(cache),
      m_at(buffers),
      m_queue(to),
      m_ranges(ranges),
      m_graphs(graphs),
      m_planted_delay_ns(planted_delay_ns),
      m_experts{.experts = static_cast<int>(shape.num_experts),
                .top_k = static_cast<int>(shape.num_experts_per_tok),
                .hidden = static_cast<int>(shape.hidden_size),
                .width = static_cast<int>(shape.moe_intermediate_size),
                .renormalise = shape.norm_topk_prob},
      m_gemm(buffers.workspace) {
  m_at.order.tile_tokens = tile_tokens_on<T>(m_queue);
  upload_angles(make_rope_angles(shape, plan.positions), buffers.cosines, buffers.sines);
}

template <typename T>
cuda_decoder<T>::~cuda_decoder() {
  cudaStreamSynchronize(m_queue.stream);
  for (auto& event : m_marks) cudaEventDestroy(event);
}

template <typename T>
void cuda_decoder<T>::reset() {
  m_position = 0;
  m_calls = 0;
  m_expert_rows.clear();
  const auto bytes = static_cast<std::size_t>(m_plan.batch) * sizeof(int);
  PROFGATE_CUDA(cudaMemsetAsync(m_at.state.position, 0, bytes, m_queue.stream));
  PROFGATE_CUDA(cudaMemsetAsync(m_at.state.choice_count, 0, bytes, m_queue.stream));
}

template <typename T>
void cuda_decoder<T>::check_room(std::size_t tokens) const {
  if (m_position + static_cast<std::int64_t>(tokens) > m_plan.positions)
    throw bad_input("position " + std::to_string(m_position + static_cast<std::int64_t>(tokens)) +
                        " is beyond the KV cache of " + std::to_string(m_plan.positions),
                    "make the decoder with a larger capacity");
}

template <typename T>
void cuda_decoder<T>::require_vocabulary(std::span<const token_id> tokens) const {
  for (const token_id token : tokens)
    if (token < 0 || token >= m_shape.vocab_size)
      throw bad_input("token " + std::to_string(token) + " is outside the vocabulary of " +
                          std::to_string(m_shape.vocab_size),
                      "give token ids of this model");
}

template <typename T>
void cuda_decoder<T>::check_rows(std::span<const prompt_rows> rows, std::size_t length) const {
  if (!rows.empty() && m_plan.batch != 1)
    throw bad_input("rows in the prompts of " + std::to_string(m_plan.batch) + " sequences",
                    "give them to a decoder of one sequence");
  const std::size_t row_bytes = static_cast<std::size_t>(m_shape.hidden_size) * sizeof(T);
  for (const auto& [first, bytes] : rows) {
    const std::size_t count = bytes.size() / row_bytes;
    if (count * row_bytes != bytes.size() || first > length || count > length - first)
      throw bad_input(std::to_string(bytes.size()) + " bytes of rows of " + std::to_string(row_bytes) +
                          " at position " + std::to_string(first) + " of a prompt of " +
                          std::to_string(length) + " tokens",
                      "give whole rows, and a placeholder token for each");
  }
}

template <typename T>
void cuda_decoder<T>::prefill_with_rows(std::span<const token_id> prompts,
                                        std::span<const prompt_rows> rows) {
  const auto batch = static_cast<std::size_t>(m_plan.batch);
  const std::size_t length = prompts.size() / batch;
  if (length == 0 || length * batch != prompts.size())
    throw bad_input("a prefill of " + std::to_string(prompts.size()) + " tokens for " +
                        std::to_string(batch) + " sequences",
                    "give each sequence the same number of tokens, at least one");
  check_room(length);
  check_rows(rows, length);
  require_vocabulary(prompts);
  auto* stage = reinterpret_cast<token_id*>(m_prompt_stage.open(prompts.size_bytes()));
  std::copy(prompts.begin(), prompts.end(), stage);
  const std::span<const token_id> pinned(stage, prompts.size());
  const auto chunk_tokens = static_cast<std::size_t>(m_plan.chunk_tokens);
  for (std::size_t sequence = 0; sequence < batch; ++sequence)
    for (std::size_t first = 0; first < length; first += chunk_tokens)
      prefill_chunk(
          {.tokens = pinned.subspan(sequence * length + first, std::min(chunk_tokens, length - first)),
           .first_token = first,
           .rows = rows},
          static_cast<int>(sequence));
  m_prompt_stage.close(m_queue.stream);
  lm_head_and_choice(m_at.last_hidden, static_cast<int>(length));
  m_position += static_cast<std::int64_t>(length);
  ++m_calls;
}

template <typename T>
void cuda_decoder<T>::decode_step() {
  if (m_counts_rows) return count_step();
  if (m_calls == 0) throw bad_input("a decode step without a token", "prefill first");
  check_room(1);
  if (m_decode_graph) {
    m_decode_graph->replay(m_queue.stream);
  } else {
    step();
    // Captured after a first real step: by then every kernel is loaded and every product planned.
    if (m_graphs) capture_step();
  }
  ++m_position;
  ++m_calls;
}

/// Launched one by one: a graph cannot be waited for in its middle.
template <typename T>
void cuda_decoder<T>::count_step() {
  if (m_calls == 0) throw bad_input("a decode step without a token", "prefill first");
  check_room(1);
  step();
  ++m_position;
  ++m_calls;
}

template <typename T>
void cuda_decoder<T>::capture_step() {
  const auto range = m_ranges.open(range_name::capture);
  m_decode_graph.emplace(m_queue.stream, [this] { step(); });
}

template <typename T>
void cuda_decoder<T>::capture_again() {
  if (!m_decode_graph) return;
  finish();  // its graph may still be under way
  capture_step();
}

template <typename T>
void cuda_decoder<T>::choose(std::span<const token_id> tokens) {
  const auto batch = static_cast<std::size_t>(m_plan.batch);
  if (tokens.size() != batch)
    throw bad_input(
        std::to_string(tokens.size()) + " tokens are chosen for " + std::to_string(batch) + " sequences",
        "choose one token a sequence");
  require_vocabulary(tokens);
  finish();
  const auto copy_to = [&](int* to) {
    PROFGATE_CUDA(
        cudaMemcpyAsync(to, tokens.data(), tokens.size_bytes(), cudaMemcpyHostToDevice, m_queue.stream));
  };
  copy_to(m_at.state.next_token);
  if (m_calls > 0) copy_to(m_at.state.choices + (m_calls - 1) * batch);
  finish();
}

template <typename T>
void cuda_decoder<T>::mark(std::size_t index) {
  while (m_marks.size() <= index) PROFGATE_CUDA(cudaEventCreate(&m_marks.emplace_back()));
  PROFGATE_CUDA(cudaEventRecord(m_marks[index], m_queue.stream));
}

template <typename T>
void cuda_decoder<T>::finish() {
  PROFGATE_CUDA(cudaStreamSynchronize(m_queue.stream));
}

template <typename T>
std::int64_t cuda_decoder<T>::elapsed_ns(std::size_t from_mark, std::size_t to_mark) const {
  float milliseconds = 0;
  PROFGATE_CUDA(cudaEventElapsedTime(&milliseconds, m_marks.at(from_mark), m_marks.at(to_mark)));
  return std::llround(static_cast<double>(milliseconds) * 1e6);
}

template <typename T>
std::span<const float> cuda_decoder<T>::logits() {
  m_host_logits.resize(static_cast<std::size_t>(m_plan.batch * m_shape.vocab_size));
  PROFGATE_CUDA(cudaMemcpy(m_host_logits.data(), m_at.logits, m_host_logits.size() * sizeof(float),
                           cudaMemcpyDeviceToHost));
  return m_host_logits;
}

template <typename T>
std::vector<token_id> cuda_decoder<T>::choices() {
  std::vector<token_id> tokens(m_calls * static_cast<std::size_t>(m_plan.batch));
  PROFGATE_CUDA(cudaMemcpy(tokens.data(), m_at.state.choices, tokens.size() * sizeof(token_id),
                           cudaMemcpyDeviceToHost));
  return tokens;
}

/// Waits for the layer: its choice is overwritten by the next one's.
template <typename T>
void cuda_decoder<T>::add_expert_rows(std::size_t layer, int tokens) {
  std::vector<int> ids(static_cast<std::size_t>(tokens) * static_cast<std::size_t>(m_experts.top_k));
  finish();
  PROFGATE_CUDA(cudaMemcpy(ids.data(), m_at.routed.ids, ids.size() * sizeof(int), cudaMemcpyDeviceToHost));
  auto known = std::find_if(m_expert_rows.begin(), m_expert_rows.end(),
                            [&](const layer_rows& one) { return one.layer == layer; });
  if (known == m_expert_rows.end())
    known = m_expert_rows.insert(
        known, {layer, std::vector<std::int64_t>(static_cast<std::size_t>(m_experts.experts))});
  for (const int id : ids) ++known->rows.at(static_cast<std::size_t>(id));
}

template class cuda_decoder<float>;
template class cuda_decoder<__nv_bfloat16>;

}  // namespace profgate::llm::cuda
