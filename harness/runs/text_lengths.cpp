#include "text_lengths.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/length_counts.h"
#include "core/stage_names.h"
#include "core/units.h"

namespace profgate::runs {
std::string lengths_that_differ(const std::vector<parsers::adapter_report>& reports,
                                const std::vector<std::int64_t>& decode_steps) {
  core::length_counts prompts;
  const bool are_told =
      !decode_steps.empty() &&
      std::any_of(reports.begin(), reports.end(), [](const auto& each) { return !each.prompts.empty(); });
  for (const parsers::adapter_report& report : reports)
    for (const parsers::adapter_report::fed_prompts& each : report.prompts)
      if (are_told) prompts.add(each.tokens, each.prompts);
  for (const parsers::adapter_report& report : reports)
    for (const parsers::adapter_report::stage_calls& each : report.stages)
      if (!are_told && each.stage == core::prefill_stage && each.tokens)
        prompts.add(*each.tokens, each.calls);
  core::length_counts decodes;
  for (const std::int64_t steps : decode_steps) decodes.add(steps);
  if (!prompts.differ() && !decodes.differ()) return "";
  std::string words = fmt::format("{} texts", std::max(prompts.texts(), decodes.texts()));
  if (prompts.texts() > 0) words += fmt::format(" of {} prompt tokens", prompts.range());
  if (decodes.texts() > 0)
    words += fmt::format(" {} {} decode steps", prompts.texts() > 0 ? "and" : "of", decodes.range());
  return words;
}

std::string models_in_turns(const std::vector<parsers::adapter_report>& reports) {
  for (const parsers::adapter_report& report : reports) {
    if (report.decode_in_turns.size() < 2) continue;
    std::vector<std::string> models;
    for (const std::string& model : report.decode_in_turns) {
      const bool is_new = std::find(models.begin(), models.end(), model) == models.end();
      models.push_back(is_new ? model : "another " + model);
    }
    const std::string count = models.size() == 2 ? "two" : fmt::format("{}", models.size());
    return fmt::format("{} models decode in turns: {}; which of their tokens count is not known", count,
                       fmt::join(models, " and "));
  }
  return "";
}

std::string forwards_before(const std::vector<parsers::adapter_report>& reports,
                            const std::vector<std::int64_t>& before_ns, bool is_time_known) {
  std::vector<std::int64_t> times_ns;
  std::copy_if(before_ns.begin(), before_ns.end(), std::back_inserter(times_ns),
               [](std::int64_t time_ns) { return time_ns > 0; });
  if (2 * times_ns.size() <= before_ns.size()) return "";
  std::map<std::vector<std::string>, std::int64_t> prompts;
  for (const parsers::adapter_report& report : reports)
    for (const parsers::adapter_report::models_before& each : report.before_prompts)
      prompts[each.models] += each.prompts;
  if (prompts.empty()) return "";
  const auto usual = std::max_element(prompts.begin(), prompts.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
  std::nth_element(times_ns.begin(), times_ns.begin() + static_cast<std::ptrdiff_t>(times_ns.size() / 2),
                   times_ns.end());
  std::string words = fmt::format("the forward of {} before each prefill", fmt::join(usual->first, " and "));
  if (is_time_known)
    words += ", " + core::format_duration(static_cast<double>(times_ns[times_ns.size() / 2]));
  return words;
}

}  // namespace profgate::runs
