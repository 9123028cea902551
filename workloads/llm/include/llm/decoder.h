#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace profgate::llm {

using token_id = std::int32_t;

/// Tokens that the experts of one layer got.
struct layer_rows {
  std::size_t layer = 0;
  std::vector<std::int64_t> rows{};  ///< by expert

  bool operator==(const layer_rows&) const = default;
};

/// Rows, [count, hidden size], at the positions first, first + 1, ... of a prompt: an image's, say. The
/// tokens there are placeholders.
struct prompt_rows {
  std::size_t first = 0;
  std::span<const std::byte> rows;  ///< in the device's memory, of the type in which the decoder computes
};

/// A decoder with its weights and KV cache on some device: `batch()` sequences side by side, greedy. Work is
/// queued; what it left is read after finish().
class decoder {
 public:
  decoder() = default;
  decoder(const decoder&) = delete;
  decoder& operator=(const decoder&) = delete;
  virtual ~decoder() = default;

  virtual std::int64_t batch() const = 0;

  /// Forgets every position and every choice.
  virtual void reset() = 0;
  /// Queues the prompts, [batch, length], at the next positions, and the choice of each sequence's next
  /// token.
  virtual void prefill(std::span<const token_id> prompts) = 0;
  /// The same, with rows in place of what some tokens of a single sequence embed to. Throws not_possible
  /// where the device cannot.
  virtual void prefill_with_rows(std::span<const token_id> prompt, std::span<const prompt_rows> rows);
  /// Queues one step: the tokens chosen last at the next position, and the choice of the ones after.
  virtual void decode_step() = 0;
  /// Makes anew what decode steps replay, where they do: a profiler that has begun to record since sees the
  /// operators' ranges around each part of it.
  virtual void capture_again() {}
  /// Whether the rows of experts are counted from here on: nothing is replayed meanwhile, and each layer is
  /// waited for. For rounds that nobody times; an engine that counts at no cost always does.
  virtual void count_expert_rows(bool /*are_counted*/) {}
  /// Those since the last call or reset(), of the layers with experts; none where they were not counted.
  virtual std::vector<layer_rows> take_expert_rows() { return {}; }
  /// Replaces the last choice, [batch].
  virtual void choose(std::span<const token_id> tokens) = 0;
  /// Notes the device's time at this point of the queue under a small number.
  virtual void mark(std::size_t index) = 0;
  /// Waits for all that is queued.
  virtual void finish() = 0;

  // Valid after finish(), until the next call that queues.
  virtual std::int64_t elapsed_ns(std::size_t from_mark, std::size_t to_mark) const = 0;
  /// Of the last position of each sequence, [batch, vocab].
  virtual std::span<const float> logits() = 0;
  /// Every choice since reset(), [calls, batch].
  virtual std::vector<token_id> choices() = 0;
};

/// The greedy choice; the first of equals.
token_id argmax(std::span<const float> logits);

/// How many positions a decoder has room for.
struct decoder_capacity {
  std::int64_t batch = 1;
  std::int64_t positions = 0;       ///< in the KV cache of each sequence
  std::int64_t prefill_tokens = 0;  ///< of each sequence in one prefill
};

}  // namespace profgate::llm
