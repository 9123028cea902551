#include "requirements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "core/slips.h"

namespace profgate::cli {
namespace {

constexpr const char* require_variable = "PROFGATE_REQUIRE";

}  // namespace

std::set<std::string> parse_requirements(std::string_view words, const std::string& source,
                                         const std::vector<std::string>& known) {
  std::set<std::string> parsed;
  while (!words.empty()) {
    const std::size_t comma = words.find(',');
    std::string word(words.substr(0, comma));
    words.remove_prefix(comma == std::string_view::npos ? words.size() : comma + 1);
    std::erase(word, ' ');
    if (word.empty()) continue;
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      const std::optional<std::string> meant = core::nearest(word, known);
      throw core::bad_input(fmt::format("{}: nothing called '{}' can be required", source, word),
                            meant ? fmt::format("did you mean '{}'?", *meant)
                                  : fmt::format("name any of {}", fmt::join(known, ", ")));
    }
    parsed.insert(std::move(word));
  }
  return parsed;
}

std::set<std::string> required_here() {
  const char* const words = std::getenv(require_variable);
  return parse_requirements(words == nullptr ? "" : words, require_variable,
                            {require_gpu_word, require_nsys_word, require_ncu_word, require_baseline_word});
}

void skip_unless_required(const std::string& word, const std::string& what_is_missing,
                          const std::string& remedy) {
  if (!required_here().contains(word)) throw core::not_possible(what_is_missing, remedy);
  const std::string without = fmt::format("take '{}' out of {} to have it skipped", word, require_variable);
  throw core::step_failure(fmt::format("{} requires '{}': {}", require_variable, word, what_is_missing),
                           remedy.empty() ? without : fmt::format("{}; or {}", remedy, without));
}

std::vector<std::string> unmet(const std::set<std::string>& words, const std::vector<check>& checks) {
  std::vector<std::string> sentences;
  for (const std::string& word : words) {
    const auto found =
        std::find_if(checks.begin(), checks.end(), [&](const check& one) { return one.id == word; });
    if (found == checks.end()) {
      sentences.push_back(fmt::format("{}: not checked", word));
    } else if (found->state == profilers::health::missing || found->state == profilers::health::broken) {
      sentences.push_back(fmt::format("{}: {}", word, found->finding));
    }
  }
  return sentences;
}

}  // namespace profgate::cli
