#include "gate/waivers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "gate/figure_units.h"

namespace profgate::gate {
namespace {

/// Dates of this form order as texts do.
bool is_expired(const waiver& waived, const std::string& today) {
  return waived.expires < today;
}

bool needs_waiver(const stage_judgement& stage) {
  return stage.which == verdict::regressed || stage.exact.fails();
}

void apply(const waiver& waived, stage_judgement& stage, judgement& judged) {
  const double loss_ratio =
      stage.numbers ? told_loss_ratio(stage.numbers->slowdown_ratio, stage.rate_unit.has_value()) : 0;
  if (loss_ratio > waived.max_ratio) {
    judged.notices.push_back(fmt::format("the waiver of {} for {} allows {:.1f} %, this is {:.1f} % ({})",
                                         waived.owner, stage.stage, 100 * waived.max_ratio, 100 * loss_ratio,
                                         waived.defined_at));
    return;
  }
  stage.waived_by = fmt::format("{}, until {}: {}", waived.owner, waived.expires, waived.reason);
}

}  // namespace

bool is_date(const std::string& text) {
  constexpr std::string_view shape = "dddd-dd-dd";
  if (text.size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (shape[i] == 'd' ? !is_digit : text[i] != '-') return false;
  }
  const std::chrono::year_month_day date{
      std::chrono::year(std::stoi(text.substr(0, 4))),
      std::chrono::month(static_cast<unsigned>(std::stoi(text.substr(5, 2)))),
      std::chrono::day(static_cast<unsigned>(std::stoi(text.substr(8, 2))))};
  return date.ok();
}

void apply_waivers(const std::vector<waiver>& waivers, const std::string& today, judgement& judged) {
  for (stage_judgement& stage : judged.stages) {
    if (!needs_waiver(stage)) continue;
    for (const waiver& waived : waivers) {
      if (waived.pair != judged.pair || waived.stage != stage.stage || is_expired(waived, today)) continue;
      apply(waived, stage, judged);
    }
  }
  for (const waiver& waived : waivers) {
    const bool has_stage = std::any_of(judged.stages.begin(), judged.stages.end(),
                                       [&](const auto& stage) { return stage.stage == waived.stage; });
    if (waived.pair != judged.pair || has_stage) continue;
    judged.warnings.push_back(
        fmt::format("the waiver of {} for {} waives nothing: no such stage is gated ({})", waived.owner,
                    waived.stage, waived.defined_at));
  }
}

void fail_expired(const std::vector<waiver>& waivers, const std::string& today, judgement& judged) {
  for (const waiver& waived : waivers) {
    if (waived.pair != judged.pair || !is_expired(waived, today)) continue;
    const std::string sentence = fmt::format("the waiver of {} for {} expired on {} ({}): {}", waived.owner,
                                             waived.stage, waived.expires, waived.defined_at, waived.reason);
    const bool fails_already =
        judged.code == core::exit_code::judged_bad || judged.code == core::exit_code::bad_input;
    if (fails_already) {
      judged.notices.push_back(sentence);
    } else {
      judged.reason = sentence;
      judged.failed_by = sentence;
      judged.code = core::exit_code::judged_bad;
    }
  }
}

}  // namespace profgate::gate
