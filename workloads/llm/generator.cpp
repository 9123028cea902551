#include "llm/generator.h"

#include <optional>

#include "llm/fnv1a.h"

namespace profgate::llm {

std::int64_t generator::prefill() {
  m_engine.reset();
  m_engine.finish();
  {
    const auto range = m_ranges.open(range_name::prefill);
    m_engine.mark(0);
    m_engine.prefill(m_prompts);
    m_engine.mark(1);
    m_engine.finish();
  }
  m_greedy = m_engine.choices();
  m_prefill_rows = m_engine.take_expert_rows();
  return m_engine.elapsed_ns(0, 1);
}

std::uint64_t generator::hash_logits() {
  return fnv1a_64(std::as_bytes(m_engine.logits()));
}

std::int64_t generator::decode_all() {
  const auto steps = static_cast<std::size_t>(m_options.decode_tokens);
  {
    const auto range = m_ranges.open(range_name::decode_all);
    m_engine.mark(0);
    for (std::size_t step = 1; step <= steps; ++step) {
      std::optional<nvtx::scoped_range> step_range;
      if (m_options.decode_step_ranges) m_ranges.open_in(step_range, range_name::decode_step);
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
  if (!m_options.has_experts || !m_prefill_rows.empty()) return;
  const std::vector<std::int64_t> timed_step_ns = m_decode_step_ns;
  m_engine.count_expert_rows(true);
  prefill();
  decode_all();
  m_engine.count_expert_rows(false);
  m_decode_step_ns = timed_step_ns;
}

}  // namespace profgate::llm
