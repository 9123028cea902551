#include "llm/generator.h"

#include <optional>

namespace profgate::llm {

namespace {

// Numbers of marks; those of decode steps follow each other from 0 too, after the prefill's were read.
constexpr std::size_t prefill_begins = 0;
constexpr std::size_t prefill_ends = 1;
constexpr std::size_t vision_ends = 2;

}  // namespace

void generator::read_image_and_prompt() {
  const auto& picture = *m_input.picture;
  const prompt_rows rows{loaded_input::first_image_row,
                         m_encoder->encode_image(picture.pixels, picture.mode)};
  m_engine.mark(vision_ends);
  m_engine.prefill_with_rows(m_prompts, {&rows, 1});
}

std::int64_t generator::prefill() {
  m_engine.reset();
  m_engine.finish();
  {
    const auto range = m_ranges.open(range_name::prefill);
    m_engine.mark(prefill_begins);
    if (m_input.picture)
      read_image_and_prompt();
    else
      m_engine.prefill(m_prompts);
    m_engine.mark(prefill_ends);
    m_engine.finish();
  }
  m_greedy = m_engine.choices();
  m_prefill_rows = m_engine.take_expert_rows();
  if (m_input.picture) m_vision_ns = m_engine.elapsed_ns(prefill_begins, vision_ends);
  return m_engine.elapsed_ns(prefill_begins, prefill_ends);
}

std::int64_t generator::decode_all() {
  const auto steps = static_cast<std::size_t>(m_input.request.decode_tokens);
  {
    const auto range = m_ranges.open(range_name::decode_all);
    m_engine.mark(0);
    for (std::size_t step = 1; step <= steps; ++step) {
      std::optional<nvtx::scoped_range> step_range;
      if (m_decode_step_ranges) m_ranges.open_in(step_range, range_name::decode_step);
      m_engine.decode_step();
      m_engine.mark(step);
    }
    m_engine.finish();
  }
  m_greedy = m_engine.choices();
  m_decode_rows = m_engine.take_expert_rows();
  m_decode_step_ns.clear();
  for (std::size_t step = 1; step <= steps; ++step)
    m_decode_step_ns.push_back(m_engine.elapsed_ns(step - 1, step));
  return m_engine.elapsed_ns(0, steps);
}

void generator::count_expert_rows() {
  if (!m_has_experts || !m_prefill_rows.empty()) return;
  const std::vector<std::int64_t> timed_step_ns = m_decode_step_ns;
  m_engine.count_expert_rows(true);
  prefill();
  decode_all();
  m_engine.count_expert_rows(false);
  m_decode_step_ns = timed_step_ns;
}

}  // namespace profgate::llm
