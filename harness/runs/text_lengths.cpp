#include "text_lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/stage_names.h"

namespace profgate::runs {
namespace {

/// How many texts have each length.
class counted_lengths {
 public:
  void add(std::int64_t length, std::int64_t texts) {
    m_texts[length] += texts;
    m_all += texts;
  }
  std::int64_t texts() const { return m_all; }
  bool differ() const {
    return m_all > 0 && std::none_of(m_texts.begin(), m_texts.end(),
                                     [&](const auto& each) { return 2 * each.second > m_all; });
  }
  std::string range() const {
    const std::int64_t shortest = m_texts.begin()->first;
    const std::int64_t longest = m_texts.rbegin()->first;
    return shortest == longest ? fmt::format("{}", shortest) : fmt::format("{} to {}", shortest, longest);
  }

 private:
  std::map<std::int64_t, std::int64_t> m_texts;
  std::int64_t m_all = 0;
};

}  // namespace

std::string lengths_that_differ(const std::vector<parsers::adapter_report>& reports,
                                const std::vector<std::int64_t>& decode_steps) {
  counted_lengths prompts;
  const bool are_told = !decode_steps.empty() && std::any_of(reports.begin(), reports.end(), [](const auto& each) {
    return !each.prompts.empty();
  });
  for (const parsers::adapter_report& report : reports)
    for (const parsers::adapter_report::fed_prompts& each : report.prompts)
      if (are_told) prompts.add(each.tokens, each.prompts);
  for (const parsers::adapter_report& report : reports)
    for (const parsers::adapter_report::stage_calls& each : report.stages)
      if (!are_told && each.stage == core::prefill_stage && each.tokens) prompts.add(*each.tokens, each.calls);
  counted_lengths decodes;
  for (const std::int64_t steps : decode_steps) decodes.add(steps, 1);
  if (!prompts.differ() && !decodes.differ()) return "";
  std::string words = fmt::format("{} texts", std::max(prompts.texts(), decodes.texts()));
  if (prompts.texts() > 0) words += fmt::format(" of {} prompt tokens", prompts.range());
  if (decodes.texts() > 0)
    words += fmt::format(" {} {} decode steps", prompts.texts() > 0 ? "and" : "of", decodes.range());
  return words;
}

}  // namespace profgate::runs
