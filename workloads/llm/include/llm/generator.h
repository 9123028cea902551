#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "llm/decoder.h"
#include "llm/inputs.h"
#include "llm/stage_ranges.h"
#include "vision/vision_encoder.h"

namespace profgate::llm {

/// Greedy generation from one input in its two stages, each under its range and timed by the device's clock.
/// The device is idle at both ends of a stage.
class generator {
 public:
  /// prompts is [batch, length], of input. All but these must outlive it; encoder may be null where the input
  /// has no image.
  generator(decoder& engine, vision::vision_encoder* encoder, const stage_ranges& ranges,
            const loaded_input& input, std::vector<token_id> prompts, bool decode_step_ranges,
            bool has_experts = false)
      : m_engine(engine),
        m_encoder(encoder),
        m_ranges(ranges),
        m_input(input),
        m_prompts(std::move(prompts)),
        m_decode_step_ranges(decode_step_ranges),
        m_has_experts(has_experts) {}

  /// Forgets the last round, runs the prompts and chooses the first tokens. Returns nanoseconds, of which
  /// vision_ns() went to the image.
  std::int64_t prefill();
  std::optional<std::int64_t> vision_ns() const { return m_vision_ns; }

  /// Of the last stage's last step.
  std::span<const float> logits() { return m_engine.logits(); }

  /// The input's decode_tokens steps after a prefill. Returns nanoseconds; decode_step_ns() has one value a
  /// step.
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
  void read_image_and_prompt();

  decoder& m_engine;
  vision::vision_encoder* m_encoder;
  const stage_ranges& m_ranges;
  const loaded_input& m_input;
  std::vector<token_id> m_prompts;
  bool m_decode_step_ranges;
  bool m_has_experts;
  std::optional<std::int64_t> m_vision_ns;
  std::vector<token_id> m_greedy;
  std::vector<std::int64_t> m_decode_step_ns;
  std::vector<layer_rows> m_prefill_rows, m_decode_rows;
};

}  // namespace profgate::llm
