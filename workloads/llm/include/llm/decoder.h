#pragma once

#include <cstdint>
#include <span>

namespace profgate::llm {

using token_id = std::int32_t;

/// A decoder with its weights and KV cache on some device. Returned logits ([vocab], of the last position)
/// are in host memory, complete, and valid until the next call.
class decoder {
 public:
  decoder() = default;
  decoder(const decoder&) = delete;
  decoder& operator=(const decoder&) = delete;
  virtual ~decoder() = default;

  /// Runs the tokens at the next positions.
  virtual std::span<const float> prefill(std::span<const token_id> tokens) = 0;
  virtual std::span<const float> decode_step(token_id token) = 0;
  /// Forgets every position.
  virtual void reset() = 0;
};

/// The greedy choice; the first of equals.
token_id argmax(std::span<const float> logits);

}  // namespace profgate::llm
