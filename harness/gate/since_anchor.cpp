#include "gate/since_anchor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "gate/figure_units.h"
#include "gate/rank_statistics.h"

namespace profgate::gate {
namespace {

/// A part of the whole loss (or a gain of that size) that is worth a line of its own. Ten equal parts are.
constexpr double least_shown_share = 0.05;

void share_out(const std::vector<accepted_median>& accepted, anchor_stage& stage) {
  const comparison& numbers = *stage.numbers;
  const double whole_log = std::log(numbers.candidate_median_ns / numbers.baseline_median_ns);
  double before_ns = numbers.baseline_median_ns;
  double rest_log = 0;
  const auto add = [&](const std::string& commit, const std::string& measured_utc, double median_ns) {
    const double part_log = std::log(median_ns / before_ns);
    before_ns = median_ns;
    if (std::abs(part_log) >= least_shown_share * std::abs(whole_log)) {
      stage.parts.push_back({commit, measured_utc, to_ratio(part_log)});
    } else {
      rest_log += part_log;
      ++stage.other_parts;
    }
  };
  for (const accepted_median& one : accepted) add(one.commit, one.measured_utc, one.median_ns);
  add("", "", numbers.candidate_median_ns);
  stage.other_parts_ratio = to_ratio(rest_log);
}

/// A loss is more of a time and less of a rate, so that a sign alone would not say which of the two it is.
std::string change_text(const anchor_stage& stage, double slowdown_ratio) {
  return stage.rate_unit ? rate_change_text(slowdown_ratio) : core::format_signed_percent(slowdown_ratio);
}

std::string day_of(const std::string& utc) {
  return utc.substr(0, std::string_view("2026-11-15").size());
}

std::optional<std::string> waived_by(const std::vector<waiver>& waivers, const std::string& today,
                                     const std::string& pair, const anchor_stage& stage) {
  for (const waiver& waived : waivers) {
    const bool holds = waived.pair == pair && waived.stage == stage.stage && waived.expires >= today;
    if (!holds || !stage.numbers) continue;
    if (told_loss_ratio(stage.numbers->slowdown_ratio, stage.rate_unit.has_value()) <= waived.max_ratio)
      return fmt::format("{}, until {}: {}", waived.owner, waived.expires, waived.reason);
  }
  return std::nullopt;
}

const anchor_stage* worst_failing(const anchor_judgement& since) {
  const anchor_stage* worst = nullptr;
  for (const anchor_stage& stage : since.stages) {
    if (stage.which != verdict::regressed || stage.waived_by) continue;
    if (worst == nullptr || stage.numbers->slowdown_ratio > worst->numbers->slowdown_ratio) worst = &stage;
  }
  return worst;
}

}  // namespace

anchor_judgement judge_since(const std::string& name, const run_set& anchor, const run_set& candidate,
                             const judge_rules& rules, const accepted_history& history) {
  judge_rules lenient = rules;
  lenient.stored.min_runs = std::min(rules.stored.min_runs, rules.interleaved.min_runs);
  lenient.exact = {};  // what is new since a release is no news
  const judgement against = judge_stored(anchor, candidate, lenient, {}, {});
  anchor_judgement since;
  since.name = name;
  since.commit = anchor.identity.commit;
  since.measured_utc = anchor.created_utc;
  since.warnings = against.warnings;
  if (against.stages.empty()) since.not_judged_because = against.reason;
  for (const stage_judgement& judged : against.stages) {
    anchor_stage& stage = since.stages.emplace_back();
    stage.stage = judged.stage;
    stage.which = judged.which;
    stage.reason = judged.reason;
    stage.numbers = judged.numbers;
    stage.rate_unit = judged.rate_unit;
    const auto known = history.find(stage.stage);
    if (stage.numbers && known != history.end() && !known->second.empty())
      share_out(known->second, stage);
    else if (stage.numbers)
      stage.unknown_parts_because = "the history has no baseline of it that was accepted after the anchor";
  }
  return since;
}

void apply_anchor(anchor_judgement since, const std::vector<waiver>& waivers, const std::string& today,
                  judgement& whole) {
  for (anchor_stage& stage : since.stages) {
    if (stage.which == verdict::regressed) stage.waived_by = waived_by(waivers, today, whole.pair, stage);
  }
  if (const anchor_stage* const worst = worst_failing(since)) {
    const std::string sentence = since_text(since, *worst);
    const bool fails_already =
        whole.code == core::exit_code::judged_bad || whole.code == core::exit_code::bad_input;
    if (fails_already) {
      whole.notices.push_back(sentence);
    } else {
      whole.reason = sentence;
      whole.failed_by = sentence;
      whole.code = core::exit_code::judged_bad;
    }
  } else {
    for (const anchor_stage& stage : since.stages) {
      if (stage.which == verdict::inconclusive) whole.notices.push_back(since_verdict_text(since, stage));
    }
  }
  whole.since_anchor = std::move(since);
}

std::string since_verdict_text(const anchor_judgement& since, const anchor_stage& stage) {
  const bool is_reason_unsaid = stage.which == verdict::inconclusive && stage.numbers;
  return fmt::format("{}: {}{}", since_text(since, stage), to_text(stage.which),
                     is_reason_unsaid ? ": " + stage.reason : "");
}

std::string since_text(const anchor_judgement& since, const anchor_stage& stage) {
  const std::string commit = since.commit.empty() ? "no commit" : since.commit.substr(0, 7);
  const std::string head =
      fmt::format("since {} ({}, {}): {}", since.name, day_of(since.measured_utc), commit, stage.stage);
  if (!stage.numbers) return fmt::format("{}: {}", head, stage.reason);
  const comparison& numbers = *stage.numbers;
  const auto bound_percent = [&](double ratio) {
    return 100 * told_loss_ratio(ratio, stage.rate_unit.has_value());
  };
  std::string bounds;
  if (numbers.lower_95_ratio && numbers.upper_95_ratio)
    bounds = fmt::format(" (90 % CI {:.1f} to {:.1f} %)", bound_percent(*numbers.lower_95_ratio),
                         bound_percent(*numbers.upper_95_ratio));
  const double from_ns = numbers.baseline_median_ns;
  const double to_ns = numbers.candidate_ns();
  return fmt::format(
      "{} {}{}, {}", head, change_text(stage, numbers.slowdown_ratio), bounds,
      stage.rate_unit ? rates_text(from_ns, to_ns, *stage.rate_unit)
                      : fmt::format("{} → {}", core::format_duration(from_ns), core::format_duration(to_ns)));
}

std::string parts_text(const anchor_stage& stage) {
  std::string text;
  for (const anchor_part& part : stage.parts) {
    const std::string who = part.measured_utc.empty() && part.commit.empty()
                                ? "this build"
                                : fmt::format("{} ({})", part.commit.substr(0, 7), day_of(part.measured_utc));
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", who, change_text(stage, part.ratio));
  }
  if (stage.other_parts == 0) return text;
  return fmt::format("{}{}{} other{} together {}", text, text.empty() ? "" : "; ", stage.other_parts,
                     stage.other_parts == 1 ? "" : "s", change_text(stage, stage.other_parts_ratio));
}

}  // namespace profgate::gate
