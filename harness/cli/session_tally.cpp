#include "session_tally.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace profgate::cli {
namespace {

/// "no GPU: libnvidia-ml.so.1 cannot be loaded" is one kind with every other machine's "no GPU: …".
std::string kind_of(const std::string& reason) {
  return reason.substr(0, reason.find(": "));
}

bool is_judged_bad(const artifacts::step_status& step) {
  return step.exit_code == static_cast<int>(core::exit_code::judged_bad);
}

}  // namespace

std::string words_without_verdict(const std::vector<artifacts::step_status>& steps) {
  for (const artifacts::step_status& step : steps) {
    if (step.step != "gate" || !step.state) continue;
    if (*step.state == core::step_state::ok) return "passed";
    return step.reason.empty() ? "no verdict" : fmt::format("not judged: {}", step.reason);
  }
  return "not run: its test was not among those asked for";
}

pair_outcome outcome_of(const std::vector<artifacts::step_status>& steps,
                        const std::optional<gate::judgement>& verdict) {
  std::string why = "gate not run";
  bool has_gate_passed = false;
  for (const artifacts::step_status& step : steps) {
    if (!step.state) continue;
    if (*step.state == core::step_state::failed)
      return {is_judged_bad(step) ? pair_ending::worse : pair_ending::failed};
    const bool nothing_measured = step.step == "prepare" || step.step == "stage1";
    if (*step.state == core::step_state::skipped && nothing_measured)
      return {pair_ending::not_judged, kind_of(step.reason)};
    if (step.step != "gate") continue;
    has_gate_passed = *step.state == core::step_state::ok;
    why = step.reason.empty() ? "no verdict" : kind_of(step.reason);
  }
  if (!verdict) return has_gate_passed ? pair_outcome{pair_ending::judged} : pair_outcome{.why = why};
  if (verdict->code == core::exit_code::good) return {pair_ending::judged};
  if (verdict->code == core::exit_code::judged_bad) return {pair_ending::worse};
  return {pair_ending::not_judged, gate::to_text(verdict->overall)};
}

std::string closing_line(const std::vector<pair_outcome>& pairs) {
  const auto count = [&](pair_ending ending) {
    return std::count_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.ending == ending; });
  };
  const auto worse = count(pair_ending::worse);
  const auto judged = count(pair_ending::judged) + worse;
  std::string line = fmt::format("{} {} judged", judged, judged == 1 ? "pair" : "pairs");
  if (worse > 0) line += fmt::format(" ({} worse)", worse);
  const auto failed = count(pair_ending::failed) + count(pair_ending::damaged);
  if (failed > 0) line += fmt::format(", {} failed", failed);
  std::map<std::string, int> by_reason;
  for (const pair_outcome& pair : pairs) {
    if (pair.ending == pair_ending::not_judged) ++by_reason[pair.why];
  }
  if (by_reason.empty()) return line;
  std::vector<std::pair<std::string, int>> reasons(by_reason.begin(), by_reason.end());
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> words;
  for (const auto& [reason, times] : reasons) words.push_back(fmt::format("{} {}", times, reason));
  return fmt::format("{}, {} not judged: {}", line, count(pair_ending::not_judged), fmt::join(words, ", "));
}

std::vector<std::string> skipped_step_lines(const std::vector<std::vector<artifacts::step_status>>& pairs) {
  std::vector<std::pair<artifacts::step_status, int>> skipped;  // and of how many pairs
  for (const std::vector<artifacts::step_status>& steps : pairs) {
    if (outcome_of(steps, std::nullopt).ending == pair_ending::failed) continue;
    for (const artifacts::step_status& step : steps) {
      if (step.state != core::step_state::skipped) continue;
      // Without these nothing was measured, which the pair's own line tells, as it does the verdict.
      if (step.step == "prepare" || step.step == "stage1") break;
      if (step.step == "gate") continue;
      const auto same = std::find_if(skipped.begin(), skipped.end(), [&](const auto& known) {
        return known.first.step == step.step && known.first.reason == step.reason;
      });
      if (same == skipped.end()) {
        skipped.emplace_back(step, 1);
      } else {
        ++same->second;
      }
    }
  }
  std::vector<std::string> lines;
  for (const auto& [step, count] : skipped) {
    lines.push_back(fmt::format("{} skipped of {} pair{}: {}", step.step, count, count == 1 ? "" : "s",
                                core::with_remedy(step.reason, step.remedy)));
  }
  return lines;
}

core::exit_code exit_code_of(const std::vector<pair_outcome>& pairs, bool has_ctest_passed) {
  const auto any = [&](pair_ending ending) {
    return std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.ending == ending; });
  };
  if (any(pair_ending::worse)) return core::exit_code::judged_bad;
  if (any(pair_ending::damaged)) return core::exit_code::bad_input;
  if (any(pair_ending::failed) || !has_ctest_passed) return core::exit_code::failed;
  return core::exit_code::good;
}

}  // namespace profgate::cli
