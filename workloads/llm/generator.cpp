#include "llm/generator.h"

#include <optional>

#include "llm/fnv1a.h"
#include "llm/stopwatch.h"

namespace profgate::llm {

token_id generator::sample(std::span<const float> logits) const {
  const auto range = m_ranges.open(range_name::sample);
  return argmax(logits);
}

std::int64_t generator::prefill() {
  m_engine.reset();
  std::span<const float> logits;
  token_id first = 0;
  std::int64_t elapsed_ns = 0;
  {
    const stopwatch watch;
    const auto range = m_ranges.open(range_name::prefill);
    logits = m_engine.prefill(m_prompt);
    first = sample(logits);
    elapsed_ns = watch.elapsed_ns();
  }
  m_greedy.assign(1, first);
  m_prefill_logits.assign(logits.begin(), logits.end());
  m_logits_hash = fnv1a_64(std::as_bytes(logits));
  return elapsed_ns;
}

std::int64_t generator::decode_all() {
  m_greedy.reserve(static_cast<std::size_t>(m_options.decode_tokens) + 1);
  m_decode_step_ns.clear();
  m_decode_step_ns.reserve(static_cast<std::size_t>(m_options.decode_tokens));
  const stopwatch watch;
  const auto range = m_ranges.open(range_name::decode_all);
  for (std::int64_t step = 0; step < m_options.decode_tokens; ++step) {
    const stopwatch step_watch;
    std::optional<nvtx::scoped_range> step_range;
    if (m_options.decode_step_ranges) m_ranges.open_in(step_range, range_name::decode_step);
    m_greedy.push_back(sample(m_engine.decode_step(m_greedy.back())));
    step_range.reset();
    m_decode_step_ns.push_back(step_watch.elapsed_ns());
  }
  return watch.elapsed_ns();
}

}  // namespace profgate::llm
