#pragma once

#include <cstdint>
#include <vector>

#include "llm/decoder.h"
#include "llm/stage_ranges.h"

namespace profgate::llm {

/// Greedy generation in its two stages, each under its range and timed by the host's clock. The decoder
/// returns complete logits, so the device is idle at both ends of a stage.
class generator {
 public:
  struct options {
    std::int64_t decode_tokens = 0;
    bool decode_step_ranges = true;
  };

  generator(decoder& engine, const stage_ranges& ranges, std::vector<token_id> prompt, options choice)
      : m_engine(engine), m_ranges(ranges), m_prompt(std::move(prompt)), m_options(choice) {}

  /// Forgets the last round, runs the prompt and samples the first token. Returns nanoseconds.
  std::int64_t prefill();

  /// decode_tokens steps after a prefill. Returns nanoseconds; decode_step_ns() has one value a step.
  std::int64_t decode_all();

  /// The token of the prefill, then one a decode step.
  const std::vector<token_id>& greedy() const { return m_greedy; }
  const std::vector<std::int64_t>& decode_step_ns() const { return m_decode_step_ns; }
  /// FNV-1a of the bits of the prefill's logits.
  std::uint64_t logits_hash() const { return m_logits_hash; }
  const std::vector<float>& prefill_logits() const { return m_prefill_logits; }

 private:
  token_id sample(std::span<const float> logits) const;

  decoder& m_engine;
  const stage_ranges& m_ranges;
  std::vector<token_id> m_prompt;
  options m_options;
  std::vector<token_id> m_greedy;
  std::vector<std::int64_t> m_decode_step_ns;
  std::vector<float> m_prefill_logits;
  std::uint64_t m_logits_hash = 0;
};

}  // namespace profgate::llm
