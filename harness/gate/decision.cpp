#include "gate/decision.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "gate/rank_statistics.h"

namespace profgate::gate {
namespace {

std::optional<double> as_ratio(const std::optional<double>& log_ratio) {
  if (!log_ratio) return std::nullopt;
  return to_ratio(*log_ratio);
}

/// Runs first … first+count of each arm, as far as there are any.
arm_pair block_of(const arm_pair& runs, std::size_t first, std::size_t count) {
  const auto part = [&](const std::vector<double>& arm) {
    const auto at = [&](std::size_t i) {
      return arm.begin() + static_cast<std::ptrdiff_t>(std::min(i, arm.size()));
    };
    return std::vector<double>(at(first), at(first + count));
  };
  return {part(runs.baseline_ns), part(runs.candidate_ns)};
}

/// The margin as a log ratio; never less than the difference that is ignored anyway.
double margin_log(double ratio, double ignored_difference_ns, double baseline_median_ns) {
  return to_log(std::max(ratio, ignored_difference_ns / baseline_median_ns));
}

/// The smallest slowdown that this much noise would have let through: one at which the lower bound is above
/// `least_log`, or the margin if that is larger. Noise of a few slow processes lies on one side of the shift,
/// and need not lie on the same side next time: the wider one counts. Nothing where there are too few runs
/// for a bound.
std::optional<double> detectable(const log_ratios& ratios, double alpha, double margin,
                                 double least_log = 0) {
  const std::optional<double> lower = ratios.lower_bound(alpha);
  const std::optional<double> upper = ratios.upper_bound(alpha);
  if (!lower || !upper) return std::nullopt;
  const double shift = ratios.hodges_lehmann();
  return to_ratio(std::max(margin, least_log + std::max(shift - *lower, *upper - shift)));
}

/// "p = 0.0123", "p < 0.0001".
std::string p_text(double p) {
  return p < 0.0001 ? "p < 0.0001" : fmt::format("p = {:.4f}", p);
}

/// "2.3 % slower", "0.4 % faster".
std::string slowdown_text(double log_ratio) {
  const double percent = 100 * to_ratio(log_ratio);
  return percent < 0 ? fmt::format("{:.2f} % faster", -percent) : fmt::format("{:.2f} % slower", percent);
}

/// What is true of a slowdown that is at most this: "0.80 % slower at most", "2.45 % faster at least".
std::string upper_bound_text(double log_ratio) {
  return slowdown_text(log_ratio) + (to_ratio(log_ratio) < 0 ? " at least" : " at most");
}

struct margins {
  double screen_log, confirm_log, improved_log, unchanged_log;
};

class stage_decision {
 public:
  stage_decision(const arm_pair& runs, const decision_rules& rules, bool no_more_runs)
      : m_runs(runs), m_rules(rules), m_no_more_runs(no_more_runs) {}

  stage_step decide() {
    if (const auto step = unless_complete(phase::screen, 0, m_rules.screen_runs)) return *step;
    if (const auto step = judge_first(phase::screen, m_rules.screen_runs)) return *step;
    if (const auto step = unless_complete(phase::extension, 0, m_rules.extended_runs)) return *step;
    return *judge_first(phase::extension, m_rules.extended_runs);
  }

 private:
  /// The step that gets the runs of a block; nothing where they are there, or are all there will be.
  std::optional<stage_step> unless_complete(phase in_phase, std::size_t first, std::size_t count) {
    const auto lacking = [&](const std::vector<double>& arm) {
      return first + count - std::min(first + count, arm.size());
    };
    stage_step step;
    step.in_phase = in_phase;
    step.judged = m_last;
    step.more_baseline_runs = lacking(m_runs.baseline_ns);
    step.more_candidate_runs = lacking(m_runs.candidate_ns);
    const std::size_t more = std::max(step.more_baseline_runs, step.more_candidate_runs);
    if (more == 0) return std::nullopt;
    if (m_no_more_runs) return without_them(std::move(step), first, count);
    step.most_runs_left = more;
    if (in_phase == phase::screen) step.most_runs_left += m_rules.extended_runs - m_rules.screen_runs;
    if (in_phase != phase::confirm) step.most_runs_left += m_rules.confirm_runs;
    step.reason =
        m_why_more.empty() ? fmt::format("the screen takes {} runs of each arm", count) : m_why_more;
    return step;
  }

  std::optional<stage_step> without_them(stage_step step, std::size_t first, std::size_t count) {
    step.more_baseline_runs = step.more_candidate_runs = 0;
    const arm_pair there = block_of(m_runs, first, count);
    const std::size_t survived = std::min(there.baseline_ns.size(), there.candidate_ns.size());
    const bool has_new_runs =
        step.in_phase != phase::extension ||
        std::max(m_runs.baseline_ns.size(), m_runs.candidate_ns.size()) > m_rules.screen_runs;
    if (survived >= m_rules.min_runs && has_new_runs) return std::nullopt;
    if (step.in_phase == phase::screen) {
      step.final_verdict = verdict::missing;
      step.reason =
          fmt::format("{} runs of an arm survived, at least {} are needed", survived, m_rules.min_runs);
      return step;
    }
    return inconclusive(std::move(step), m_why_more + ", and there were no more runs");
  }

  /// Screen or extension: nothing where the screen has to be extended.
  std::optional<stage_step> judge_first(phase in_phase, std::size_t count) {
    const arm_pair block = block_of(m_runs, 0, count);
    const log_ratios ratios = look_at(block);
    const double shift = ratios.hodges_lehmann();
    stage_step step;
    step.in_phase = in_phase;
    step.judged = m_last;
    if (ratios.p_slower() <= m_rules.screen_alpha && shift >= m_margins.screen_log) {
      m_why_more = fmt::format("the {} shows {} ({})", to_text(in_phase), slowdown_text(shift),
                               p_text(ratios.p_slower()));
      return confirm(std::max(block.baseline_ns.size(), block.candidate_ns.size()));
    }
    if (ratios.p_faster() <= m_rules.improved_alpha && shift <= -m_margins.improved_log) {
      step.final_verdict = verdict::improved;
      step.reason = fmt::format("{} ({})", slowdown_text(shift), p_text(ratios.p_faster()));
      return step;
    }
    if (in_phase == phase::screen && leaves_gain_open(shift)) {
      m_why_more = fmt::format("a gain of {:.1f} % is neither shown nor ruled out",
                               100 * to_ratio(m_margins.improved_log));
      return std::nullopt;
    }
    if (auto unchanged = if_unchanged(step, ratios)) return unchanged;
    m_why_more =
        fmt::format("a slowdown of {:.1f} % is neither shown nor ruled out", 100 * unchanged_ratio());
    if (in_phase == phase::screen) return std::nullopt;
    return inconclusive(std::move(step),
                        fmt::format("{} by {} + {} runs, the most that a screen takes", m_why_more,
                                    block.baseline_ns.size(), block.candidate_ns.size()));
  }

  stage_step confirm(std::size_t first) {
    if (auto step = early(first)) return *step;
    if (auto step = unless_complete(phase::confirm, first, m_rules.confirm_runs)) return *step;
    const log_ratios ratios = look_at(block_of(m_runs, first, m_rules.confirm_runs));
    const double shift = ratios.hodges_lehmann();
    if (auto regressed = if_regressed(ratios, m_rules.confirm_alpha)) return *regressed;
    stage_step step;
    step.in_phase = phase::confirm;
    step.judged = m_last;
    if (auto unchanged = if_unchanged(step, ratios)) {
      unchanged->reason += "; what the screen showed was not confirmed";
      return *unchanged;
    }
    return inconclusive(
        std::move(step),
        fmt::format("what the screen showed was neither confirmed nor ruled out ({}, {}), and a slowdown is "
                    "confirmed once only, or chance would have a second try",
                    slowdown_text(shift), p_text(ratios.p_slower())));
  }

  /// A slowdown that nobody could miss is not measured any longer: a program that takes ten seconds to start
  /// would be, for minutes. The step that gets the first runs of the confirming block, or the verdict by
  /// them; nothing where they leave it open. All of the block, where it is there, says more than its
  /// beginning.
  std::optional<stage_step> early(std::size_t first) {
    const auto survived = [&](const std::vector<double>& arm) {
      return arm.size() - std::min(first, arm.size());
    };
    const std::size_t there = std::min(survived(m_runs.baseline_ns), survived(m_runs.candidate_ns));
    if (there >= m_rules.confirm_runs || m_no_more_runs) return std::nullopt;
    if (auto step = unless_complete(phase::confirm, first, m_rules.early_runs)) {
      step->most_runs_left += m_rules.confirm_runs - m_rules.early_runs;
      return step;
    }
    return if_regressed(look_at(block_of(m_runs, first, m_rules.early_runs)), m_rules.early_alpha);
  }

  std::optional<stage_step> if_regressed(const log_ratios& ratios, double alpha) const {
    const double shift = ratios.hodges_lehmann();
    if (ratios.p_slower() > alpha || shift < m_margins.confirm_log) return std::nullopt;
    stage_step step;
    step.in_phase = phase::confirm;
    step.judged = m_last;
    step.final_verdict = verdict::regressed;
    step.reason =
        fmt::format("{} ({}), confirmed on runs of its own", slowdown_text(shift), p_text(ratios.p_slower()));
    if (m_last->lower_95_ratio.value_or(0) < unchanged_ratio())
      step.fails_from_ratio = to_ratio(m_margins.confirm_log);
    return step;
  }

  /// A gain of the size of an improvement that the screen's runs do not show surely: one slow process of six
  /// is enough for that, and not of ten. Where no more runs can be had it stays unchanged rather than open:
  /// that nothing got slower is known.
  bool leaves_gain_open(double shift) const {
    const auto has_more = [&](const std::vector<double>& arm) { return arm.size() > m_rules.screen_runs; };
    const bool can_be_extended =
        m_rules.extended_runs > m_rules.screen_runs &&
        (!m_no_more_runs || has_more(m_runs.baseline_ns) || has_more(m_runs.candidate_ns));
    return can_be_extended && shift <= -m_margins.improved_log;
  }

  std::optional<stage_step> if_unchanged(stage_step step, const log_ratios& ratios) const {
    const std::optional<double> upper = ratios.upper_bound(m_rules.unchanged_alpha);
    if (!upper || *upper >= m_margins.unchanged_log) return std::nullopt;
    step.final_verdict = verdict::unchanged;
    step.unchanged_below_ratio = unchanged_ratio();
    step.reason = upper_bound_text(*upper);
    return step;
  }

  stage_step inconclusive(stage_step step, std::string reason) const {
    step.final_verdict = verdict::inconclusive;
    step.reason = std::move(reason);
    step.detectable_ratio = m_detectable_ratio;
    return step;
  }

  log_ratios look_at(const arm_pair& block) {
    m_last = compare(block);
    const auto margin = [&](double ratio) {
      return margin_log(ratio, m_rules.ignored_difference_ns, m_last->baseline_median_ns);
    };
    m_margins = {margin(m_rules.screen_ratio), margin(m_rules.confirm_ratio), margin(m_rules.improved_ratio),
                 margin(m_rules.unchanged_ratio)};
    log_ratios ratios(block.baseline_ns, block.candidate_ns);
    // An inconclusive comparison has not ruled out a slowdown of unchanged_log, and so could not see it.
    m_detectable_ratio =
        detectable(ratios, m_rules.confirm_alpha, std::max(m_margins.confirm_log, m_margins.unchanged_log));
    return ratios;
  }

  double unchanged_ratio() const { return to_ratio(m_margins.unchanged_log); }

  const arm_pair& m_runs;
  const decision_rules& m_rules;
  bool m_no_more_runs;
  margins m_margins{};
  std::string m_why_more;
  std::optional<comparison> m_last;
  std::optional<double> m_detectable_ratio;
};

void check(const decision_rules& rules) {
  const bool sound = rules.min_runs >= 2 && rules.screen_runs >= rules.min_runs &&
                     rules.extended_runs >= rules.screen_runs && rules.early_runs >= rules.min_runs &&
                     rules.confirm_runs >= rules.early_runs;
  if (sound) return;
  throw core::bad_input(
      fmt::format("the gate's runs do not fit together: min {}, screen {}, extended {}, early {}, confirm {}",
                  rules.min_runs, rules.screen_runs, rules.extended_runs, rules.early_runs,
                  rules.confirm_runs),
      "choose 2 ≤ min ≤ screen ≤ extended, and min ≤ early ≤ confirm");
}

}  // namespace

comparison compare(const arm_pair& runs) {
  const log_ratios ratios(runs.baseline_ns, runs.candidate_ns);
  comparison result;
  result.baseline_runs = runs.baseline_ns.size();
  result.candidate_runs = runs.candidate_ns.size();
  result.baseline_median_ns = median_of(runs.baseline_ns);
  result.candidate_median_ns = median_of(runs.candidate_ns);
  result.slowdown_ratio = to_ratio(ratios.hodges_lehmann());
  result.difference_ns = result.slowdown_ratio * result.baseline_median_ns;
  result.lower_95_ratio = as_ratio(ratios.lower_bound(0.05));
  result.upper_95_ratio = as_ratio(ratios.upper_bound(0.05));
  result.lower_99_ratio = as_ratio(ratios.lower_bound(0.01));
  result.upper_99_ratio = as_ratio(ratios.upper_bound(0.01));
  result.u_slower = ratios.u_slower();
  result.p_slower = ratios.p_slower();
  result.p_faster = ratios.p_faster();
  return result;
}

std::string to_text(phase which) {
  switch (which) {
    case phase::screen:
      return "screen";
    case phase::extension:
      return "extended screen";
    case phase::confirm:
      return "confirming block";
    case phase::stored:
      return "comparison with stored runs";
  }
  return "screen";
}

runs_needed needed_by_all(const std::vector<stage_step>& stages) {
  runs_needed needed;
  for (const stage_step& stage : stages) {
    needed.baseline = std::max(needed.baseline, stage.more_baseline_runs);
    needed.candidate = std::max(needed.candidate, stage.more_candidate_runs);
  }
  return needed;
}

stage_step decide(const arm_pair& runs, const decision_rules& rules, bool no_more_runs) {
  check(rules);
  return stage_decision(runs, rules, no_more_runs).decide();
}

stage_step decide_stored(const arm_pair& runs, const stored_rules& rules, bool no_more_runs) {
  stage_step step;
  step.in_phase = phase::stored;
  if (runs.baseline_ns.size() < rules.min_runs) {
    step.final_verdict = verdict::not_comparable;
    step.reason = fmt::format("the stored baseline has {} runs of this stage, at least {} are needed",
                              runs.baseline_ns.size(), rules.min_runs);
    return step;
  }
  if (runs.candidate_ns.size() < rules.min_runs) {
    if (no_more_runs) {
      step.final_verdict = verdict::missing;
      step.reason =
          fmt::format("{} runs survived, at least {} are needed", runs.candidate_ns.size(), rules.min_runs);
      return step;
    }
    step.more_candidate_runs = rules.min_runs - runs.candidate_ns.size();
    step.most_runs_left = step.more_candidate_runs;
    step.reason = fmt::format("a comparison with stored numbers takes {} runs", rules.min_runs);
    return step;
  }
  const log_ratios ratios(runs.baseline_ns, runs.candidate_ns);
  step.judged = compare(runs);
  const double margin = margin_log(rules.ratio, rules.ignored_difference_ns, step.judged->baseline_median_ns);
  const std::string shift = slowdown_text(ratios.hodges_lehmann());
  const auto lower = ratios.lower_bound(rules.alpha);
  const auto upper = ratios.upper_bound(rules.alpha);
  const auto unchanged_upper = ratios.upper_bound(rules.unchanged_alpha);
  if (lower && *lower > margin) {
    step.final_verdict = verdict::regressed;
    step.reason = fmt::format("{}, at least {}", shift, slowdown_text(*lower));
  } else if (upper && *upper < -margin) {
    step.final_verdict = verdict::improved;
    step.reason = fmt::format("{}, at least {}", shift, slowdown_text(*upper));
  } else if (unchanged_upper && *unchanged_upper < margin) {
    step.final_verdict = verdict::unchanged;
    step.unchanged_below_ratio = to_ratio(margin);
    step.reason = fmt::format("{}; stored numbers are judged with a margin of {:.1f} %",
                              upper_bound_text(*unchanged_upper), 100 * to_ratio(margin));
  } else {
    step.final_verdict = verdict::inconclusive;
    step.reason = fmt::format(
        "{}, which is neither surely above the margin of {:.1f} % for stored numbers nor below it{}", shift,
        100 * to_ratio(margin),
        lower && unchanged_upper
            ? fmt::format(": it lies above {} with {:g} %, and below {} with {:g} %", slowdown_text(*lower),
                          100 * (1 - rules.alpha), slowdown_text(*unchanged_upper),
                          100 * (1 - rules.unchanged_alpha))
            : "");
    step.detectable_ratio = detectable(ratios, rules.alpha, margin, margin);
  }
  return step;
}

}  // namespace profgate::gate
