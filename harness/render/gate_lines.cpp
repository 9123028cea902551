#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/escape.h"
#include "core/units.h"
#include "difference_words.h"
#include "gate/figure_units.h"
#include "gate/judge.h"
#include "gate/since_anchor.h"
#include "gate_sentence.h"
#include "render/gate_views.h"

namespace profgate::render {
namespace {

constexpr std::size_t causes_shown = 3;
constexpr std::size_t exact_changes_shown = 3;
constexpr std::size_t packages_shown = 5;

/// "elsewhere −35.0 ms, most of it −30.10 ms: …" ("of it" where that is less than half): what points the
/// other way, without which the causes would be more than the difference. Nothing where it is next to
/// nothing.
std::optional<std::string> opposite_text(const gate::attribution& attributed) {
  constexpr double least_ratio = 0.05;
  const double whole_ns = attributed.explained_difference_ns();
  const gate::cause* largest = nullptr;
  double opposite_ns = 0;
  for (const gate::cause& cause : attributed.causes) {
    if ((cause.delta_ns > 0) == (whole_ns > 0)) continue;
    opposite_ns += cause.delta_ns;
    if (largest == nullptr || std::abs(cause.delta_ns) > std::abs(largest->delta_ns)) largest = &cause;
  }
  if (largest == nullptr || std::abs(opposite_ns) <= least_ratio * std::abs(whole_ns)) return std::nullopt;
  const bool is_the_largest_alone = signed_duration(opposite_ns) == signed_duration(largest->delta_ns);
  if (is_the_largest_alone) return "elsewhere " + gate::to_text(*largest);
  const bool is_most = std::abs(largest->delta_ns) > 0.5 * std::abs(opposite_ns);
  return fmt::format("elsewhere {}, {} {}", signed_duration(opposite_ns), is_most ? "most of it" : "of it",
                     gate::to_text(*largest));
}

/// "and 5 more, +784 µs": those that point where the difference does and have no line. Nothing where they are
/// next to nothing.
std::optional<std::string> further_text(const gate::attribution& attributed,
                                        const std::vector<gate::cause>& shown) {
  constexpr double least_ratio = 0.05;
  const double whole_ns = attributed.explained_difference_ns();
  double further_ns = 0;
  std::ptrdiff_t count = -static_cast<std::ptrdiff_t>(shown.size());
  for (const gate::cause& cause : attributed.causes) {
    if ((cause.delta_ns > 0) != (whole_ns > 0)) continue;
    further_ns += cause.delta_ns;
    ++count;
  }
  for (const gate::cause& cause : shown) further_ns -= cause.delta_ns;
  if (count <= 0 || std::abs(further_ns) <= least_ratio * std::abs(whole_ns)) return std::nullopt;
  return fmt::format("and {} more, {}", count, signed_duration(further_ns));
}

void add_causes(const gate::stage_judgement& stage, std::vector<std::string>& lines) {
  if (stage.which != gate::verdict::regressed && stage.which != gate::verdict::improved) return;
  if (!stage.attributed) {
    if (!stage.attribution_reason.empty()) lines.push_back("  no causes: " + stage.attribution_reason);
    return;
  }
  const gate::attribution& attributed = *stage.attributed;
  const double unexplained_ratio = unexplained_ratio_of(stage).value_or(0);
  const std::string scale = gate::scale_text(attributed);
  if (is_cause_unknown(stage))
    lines.push_back("  the cause is not known: " +
                    (scale.empty() ? fmt::format("traces explain {:.0f} % of the difference",
                                                 100 * (1 - unexplained_ratio))
                                   : scale));
  std::size_t number = 0;
  const std::vector<gate::cause> leading = gate::leading_causes(attributed, causes_shown);
  for (const gate::cause& cause : leading)
    lines.push_back(fmt::format("  {}. {}", ++number, gate::to_text(cause)));
  if (const auto further = further_text(attributed, leading)) lines.push_back("  " + *further);
  if (const auto opposite = opposite_text(attributed)) lines.push_back("  " + *opposite);
  if (!scale.empty() && !is_cause_unknown(stage)) lines.push_back("  " + scale);
  if (!stage.uncounted_because.empty()) lines.push_back("  no counters: " + stage.uncounted_because);
  if (std::abs(unexplained_ratio) > 0.05)
    lines.push_back(fmt::format("  not explained: {}, {} % of the difference",
                                signed_duration(attributed.unexplained_ns),
                                core::with_minus_sign(fmt::format("{:.0f}", 100 * unexplained_ratio))));
}

/// The rule that ended it, and what to do about it.
void add_way_out(const gate::stage_judgement& stage, bool is_interleaved, std::vector<std::string>& lines) {
  if (stage.which != gate::verdict::inconclusive) return;
  lines.push_back("  why it stopped: " + stage.reason);
  lines.push_back(
      is_interleaved ? "  to settle it: run it again when the machine is quiet"
                     : "  to settle it: run it again when the machine is quiet, or run both builds in turns: "
                       "profgate ab <pair> --baseline <commit>");
}

std::vector<std::string> detail_lines(const gate::stage_judgement& stage, bool is_interleaved) {
  std::vector<std::string> lines;
  add_way_out(stage, is_interleaved, lines);
  if (stage.waived_by) lines.push_back("  waived: " + *stage.waived_by);
  add_causes(stage, lines);
  std::size_t shown = 0;
  for (const gate::exact_change& change : stage.exact.changes) {
    if (shown++ == exact_changes_shown) break;
    lines.push_back("  " + exact_text(change, stage.exact));
  }
  if (stage.exact.changes.size() > exact_changes_shown)
    lines.push_back(
        fmt::format("  and {} more exact changes", stage.exact.changes.size() - exact_changes_shown));
  return lines;
}

/// "decode_all: unchanged: …", with the verdict that the whole does not repeat.
std::string stage_line(const gate::stage_judgement& stage) {
  return fmt::format("  {}: {}: {}", stage_title(stage), gate::to_text(stage.which), size_of(stage));
}

/// Who was compared with whom, and how.
std::string arms_line(const gate::judgement& whole) {
  return fmt::format("  compared: {} against {}, {} on {}", whole.candidate_name, whole.baseline_name,
                     whole.is_interleaved ? "run in turns" : "stored numbers", whole.device_name);
}

std::string numeric(const std::string& name, double value) {
  return fmt::format(R"(<CTestMeasurement type="numeric/double" name="{}">{:.6g}</CTestMeasurement>)",
                     core::escape_html(harmless(name)), value);
}

/// "  other packages: pip torch 2.10.0 → 2.11.0, pip triton none → 3.5.0"
std::vector<std::string> package_lines(const gate::judgement& whole) {
  std::vector<std::string> lines;
  const std::string packages = packages_text(whole.packages, packages_shown);
  if (!packages.empty()) lines.push_back("  other packages: " + packages);
  for (const std::string& unknown : whole.unknown_packages) lines.push_back("  not known: " + unknown);
  return lines;
}

/// A line a stage, without what the verdict says already, then the commits that took a part of a loss.
std::vector<std::string> anchor_lines(const gate::judgement& whole) {
  if (!whole.since_anchor) return {};
  const gate::anchor_judgement& since = *whole.since_anchor;
  std::vector<std::string> lines;
  if (!since.not_judged_because.empty())
    lines.push_back(fmt::format("  since {}: not judged: {}", since.name, since.not_judged_because));
  bool has_failed = false;
  for (const gate::anchor_stage& stage : since.stages) {
    const std::string text = gate::since_text(since, stage);
    const std::string with_verdict = gate::since_verdict_text(since, stage);
    const bool is_said =
        whole.failed_by == text ||
        std::any_of(whole.notices.begin(), whole.notices.end(),
                    [&](const std::string& notice) { return notice == text || notice == with_verdict; });
    if (!is_said) lines.push_back("  " + with_verdict);
    if (stage.waived_by) lines.push_back("    waived: " + *stage.waived_by);
    if (stage.which != gate::verdict::regressed) continue;
    has_failed = true;
    const std::string parts = gate::parts_text(stage);
    lines.push_back(fmt::format("  {} since {}: {}", stage.stage, since.name,
                                parts.empty() ? "no parts: " + stage.unknown_parts_because : parts));
  }
  for (const std::string& warning : since.warnings) {
    if (has_failed) lines.push_back(fmt::format("  warning, since {}: {}", since.name, warning));
  }
  return lines;
}

}  // namespace

std::vector<std::string> gate_lines(const gate::judgement& whole) {
  const std::string verdict =
      harmless(fmt::format("{}: {}: {}", whole.pair, verdict_word(whole), verdict_sentence(whole)));
  std::vector<std::string> lines = gate_detail_lines(whole);
  lines.insert(lines.begin(), verdict);
  return lines;
}

std::vector<std::string> gate_detail_lines(const gate::judgement& whole) {
  const gate::stage_judgement* deciding = gate::deciding_stage(whole);
  std::vector<std::string> lines;
  const auto append = [&](const std::vector<std::string>& more) {
    lines.insert(lines.end(), more.begin(), more.end());
  };
  if (deciding != nullptr) append(detail_lines(*deciding, whole.is_interleaved));
  for (const gate::stage_judgement& stage : whole.stages) {
    if (&stage == deciding) continue;
    lines.push_back(stage_line(stage));
    for (const std::string& line : detail_lines(stage, whole.is_interleaved)) lines.push_back("  " + line);
  }
  append(anchor_lines(whole));
  if (!whole.stages.empty()) lines.push_back(arms_line(whole));
  for (const std::string& warning : whole.warnings) lines.push_back("  warning: " + warning);
  for (const std::string& notice : whole.notices) lines.push_back("  " + notice);
  append(package_lines(whole));
  if (!is_look_deeper_said(whole)) lines.push_back("  look deeper: " + whole.look_deeper);
  for (std::string& line : lines) line = harmless(line);
  return lines;
}

std::string ctest_measurements(const gate::judgement& whole) {
  std::string line =
      fmt::format(R"(<CTestMeasurement type="text/string" name="gate_verdict">{}</CTestMeasurement>)",
                  gate::to_text(whole.overall));
  for (const gate::stage_judgement& stage : whole.stages) {
    const auto put = [&](const char* what, double value) {
      line += numeric(stage.stage + "_" + what, value);
    };
    const auto put_percent = [&](const char* what, const std::optional<double>& ratio) {
      if (ratio) put(what, *ratio * 100);
    };
    if (stage.numbers) {
      put_percent("slowdown_percent", stage.numbers->slowdown_ratio);
      put_percent("slowdown_lower_95_percent", stage.numbers->lower_95_ratio);
      put_percent("slowdown_upper_95_percent", stage.numbers->upper_95_ratio);
      put("baseline_median_ms", stage.numbers->baseline_median_ns / core::ns_per_ms);
      put("candidate_median_ms", stage.numbers->candidate_median_ns / core::ns_per_ms);
    }
    put_percent("detectable_slowdown_percent", stage.detectable_ratio);
  }
  if (whole.since_anchor) {
    for (const gate::anchor_stage& stage : whole.since_anchor->stages) {
      if (stage.numbers)
        line += numeric(stage.stage + "_slowdown_since_anchor_percent", stage.numbers->slowdown_ratio * 100);
    }
  }
  return line;
}

}  // namespace profgate::render
