#pragma once

#include <cstdint>
#include <vector>

#include "llm/decoder.h"
#include "llm/stage_ranges.h"

namespace profgate::llm {

/// Greedy generation in its two stages, each under its range and timed by the device's clock. The device is
/// idle at both ends of a stage.
class generator {
 public:
  struct options {
    std::int64_t decode_tokens = 0;
    bool decode_step_ranges = true;
    bool has_experts = false;
  };

  /// prompts is [batch, length].
  generator(decoder& engine, const stage_ranges& ranges, std::vector<token_id> prompts, options choice)
      : m_engine(engine), m_ranges(ranges), m_prompts(std::move(prompts)), m_options(choice) {}

  /// Forgets the last round, runs the prompts and chooses the first tokens. Returns nanoseconds.
  std::int64_t prefill();

  /// FNV-1a of the bits of the prefill's logits; to be asked for before decode_all().
  std::uint64_t hash_logits();

  /// decode_tokens steps after a prefill. Returns nanoseconds; decode_step_ns() has one value a step.
  std::int64_t decode_all();

  /// The tokens of the prefill, then of each decode step: [1 + steps, batch].
  const std::vector<token_id>& greedy() const { return m_greedy; }
  const std::vector<std::int64_t>& decode_step_ns() const { return m_decode_step_ns; }

  /// Sees to it that the rows of the experts are known: by another round where the engine does not count them
  /// in all. Not to be timed.
  void count_expert_rows();
  // Of the last round that was counted, by layer; none where the model has no experts.
  const std::vector<layer_rows>& prefill_rows() const { return m_prefill_rows; }
  const std::vector<layer_rows>& decode_rows() const { return m_decode_rows; }

 private:
  decoder& m_engine;
  const stage_ranges& m_ranges;
  std::vector<token_id> m_prompts;
  options m_options;
  std::vector<token_id> m_greedy;
  std::vector<std::int64_t> m_decode_step_ns;
  std::vector<layer_rows> m_prefill_rows, m_decode_rows;
};

}  // namespace profgate::llm
