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
#include "render/gate_views.h"

namespace profgate::render {
namespace {

constexpr std::size_t causes_shown = 3;
constexpr std::size_t exact_changes_shown = 3;
constexpr std::size_t packages_shown = 5;
constexpr std::size_t packages_in_sentence = 3;

/// "5.1 %", and never "-0.0 %".
std::string percent(double ratio) {
  const std::string text = fmt::format("{:.1f} %", ratio * 100);
  return text == "-0.0 %" ? "0.0 %" : text;
}

/// "65.0 → 68.3 ms": both in the unit that suits the larger.
std::string from_to(double from_ns, double to_ns) {
  struct unit {
    double size_ns;
    const char* name;
  };
  const double largest_ns = std::max(from_ns, to_ns);
  unit shown{1e3, "µs"};
  for (const unit& candidate : {unit{1e9, "s"}, unit{1e6, "ms"}}) {
    if (largest_ns >= candidate.size_ns) {
      shown = candidate;
      break;
    }
  }
  const double scaled = largest_ns / shown.size_ns;
  const int decimals = scaled >= 100 ? 1 : scaled >= 10 ? 2 : 3;
  return fmt::format("{:.{}f} → {:.{}f} {}", from_ns / shown.size_ns, decimals, to_ns / shown.size_ns,
                     decimals, shown.name);
}

/// "(90 % CI 4.8 to 5.4 %; 10 + 10 runs)": two bounds that each hold with 95 %.
std::string bounds_of(const gate::comparison& numbers, bool is_rate) {
  const auto shown = [&](double ratio) { return percent(is_rate ? gate::rate_loss_ratio(ratio) : ratio); };
  const std::string runs = fmt::format("{} + {} runs", numbers.baseline_runs, numbers.candidate_runs);
  if (!numbers.lower_95_ratio || !numbers.upper_95_ratio)
    return fmt::format("({}: too few for bounds)", runs);
  std::string lower = shown(*numbers.lower_95_ratio);
  lower.resize(lower.size() - 2);  // one unit for both
  return fmt::format("(90 % CI {} to {}; {})", lower, shown(*numbers.upper_95_ratio), runs);
}

std::string speed_of(const gate::comparison& numbers, bool is_rate) {
  if (is_rate) return gate::rate_change_text(numbers.slowdown_ratio);
  const double ratio = numbers.slowdown_ratio;
  constexpr double nothing_ratio = 0.0005;
  if (std::abs(ratio) < nothing_ratio) return "as fast as before";
  return percent(std::abs(ratio)) + (ratio > 0 ? " slower" : " faster");
}

/// "5.1 % slower (…): 65.0 → 68.3 ms", and what else is to be said of it; the reason where there is no
/// number.
std::string size_of(const gate::stage_judgement& stage) {
  if (!stage.numbers) return stage.reason;
  const gate::comparison& numbers = *stage.numbers;
  const double from_ns = numbers.baseline_median_ns;
  const double to_ns = numbers.candidate_ns();
  std::string text = fmt::format("{} {}: ", speed_of(numbers, stage.rate_unit.has_value()),
                                 bounds_of(numbers, stage.rate_unit.has_value()));
  if (stage.tokens && *stage.tokens > 1) {
    const auto tokens = static_cast<double>(*stage.tokens);
    text += from_to(from_ns / tokens, to_ns / tokens) + " a token, " + from_to(from_ns, to_ns) + " in all";
  } else if (stage.rate_unit) {
    text += gate::rates_text(from_ns, to_ns, *stage.rate_unit);
  } else {
    text += from_to(from_ns, to_ns);
  }
  if (stage.detectable_ratio) {
    text += fmt::format("; too noisy to say: the smallest slowdown it could have seen is {}",
                        percent(*stage.detectable_ratio));
  }
  if (stage.which == gate::verdict::unchanged && stage.unchanged_below_ratio) {
    const double below = *stage.unchanged_below_ratio;
    text += fmt::format("; surely below {}, which counts as unchanged",
                        percent(stage.rate_unit ? gate::rate_loss_ratio(below) : below));
  }
  if (stage.waived_by) text += fmt::format("; {}, but waived", gate::to_text(stage.which));
  return text;
}

/// The reason, where it does not begin with the verdict's own words already.
std::string after_verdict(const gate::judgement& whole) {
  const std::string repeated = gate::to_text(whole.overall) + ": ";
  return whole.reason.starts_with(repeated) ? whole.reason.substr(repeated.size()) : whole.reason;
}

/// Names of kernels and files are hostile: no control characters, and nothing that CTest takes for markup.
std::string harmless(std::string_view text) {
  std::string valid = core::to_valid_utf8(text);
  for (const std::string_view tag : {"<CTest", "</CTest", "<Dart", "</Dart"}) {
    for (std::size_t at = valid.find(tag); at != std::string::npos; at = valid.find(tag, at + 1))
      valid.replace(at, 1, "‹");
  }
  std::string out;
  for (const char c : valid) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7F ? std::string("\xEF\xBF\xBD") : std::string(1, c);
  }
  return out;
}

/// Whether the stage that decides would fail the whole, were it not waived.
bool passes_by_waiver(const gate::judgement& whole) {
  const gate::stage_judgement* const deciding = gate::deciding_stage(whole);
  return deciding != nullptr && deciding->waived_by && whole.code == core::exit_code::good;
}

/// With "not allowed: " before what the configuration forbids.
std::string exact_text(const gate::exact_change& change, const gate::exact_comparison& all) {
  return (change.fails ? "not allowed: " : "") + gate::to_text(change, gate::short_names_of(all));
}

/// "pip torch 2.10.0 → 2.11.0, pip triton none → 3.5.0 and 3 more"; nothing where none differ.
std::string packages_text(const std::vector<gate::package_change>& packages, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, packages.size()); ++i) {
    const gate::package_change& change = packages[i];
    const auto version = [](const std::string& known) { return known.empty() ? std::string("none") : known; };
    text += fmt::format("{}{} {} → {}", text.empty() ? "" : ", ", change.name, version(change.baseline),
                        version(change.candidate));
  }
  if (packages.size() > most) text += fmt::format(" and {} more", packages.size() - most);
  return text;
}

/// What else than the code can have made it slower: "; not the code, …", "; packages differ: …".
std::string circumstances_text(const gate::judgement& whole) {
  if (whole.overall != gate::verdict::regressed || whole.circumstances.empty()) return "";
  if (whole.is_not_the_code) {
    const std::size_t more = whole.circumstances.size() - 1;
    return fmt::format("; not the code, of which nothing changed: {}{}", whole.circumstances.front(),
                       more == 0 ? "" : fmt::format(" and {} more", more));
  }
  std::vector<std::string> others;
  for (const std::string& circumstance : whole.circumstances) {
    const bool is_of_a_package = std::any_of(
        whole.packages.begin(), whole.packages.end(),
        [&](const gate::package_change& change) { return circumstance == packages_text({change}, 1); });
    if (!is_of_a_package) others.push_back(circumstance);
  }
  std::string text;
  if (!others.empty()) text += fmt::format("; not the code alone: {}", fmt::join(others, ", "));
  if (!whole.packages.empty())
    text += "; packages differ: " + packages_text(whole.packages, packages_in_sentence);
  return text;
}

/// Of the difference, below zero where causes are more than it; nothing where nobody looked for causes.
std::optional<double> unexplained_ratio_of(const gate::stage_judgement& stage) {
  if (!stage.attributed || stage.attributed->explained_difference_ns() == 0) return std::nullopt;
  return stage.attributed->unexplained_ns / stage.attributed->explained_difference_ns();
}

bool is_cause_unknown(const gate::stage_judgement& stage) {
  const std::optional<double> ratio = unexplained_ratio_of(stage);
  return ratio && std::abs(*ratio) > gate::most_unexplained_ratio;
}

/// What the runs say; a change that is not allowed comes before the size, which may well be nothing.
std::string sentence_of_runs(const gate::judgement& whole) {
  const gate::stage_judgement* deciding = gate::deciding_stage(whole);
  if (deciding == nullptr || !deciding->numbers) return after_verdict(whole);
  if (!deciding->exact.fails()) return size_sentence(*deciding);
  const auto& changes = deciding->exact.changes;
  const auto failing = std::find_if(changes.begin(), changes.end(),
                                    [](const gate::exact_change& change) { return change.fails; });
  return fmt::format("{}: {}; it is {}", stage_title(*deciding), exact_text(*failing, deciding->exact),
                     size_of(*deciding));
}

/// With what speaks against the code, or against the causes that follow it.
std::string sentence_with_doubts(const gate::judgement& whole) {
  const gate::stage_judgement* const deciding = gate::deciding_stage(whole);
  const bool is_unknown =
      deciding != nullptr && deciding->which == gate::verdict::regressed && is_cause_unknown(*deciding);
  return sentence_of_runs(whole) + (is_unknown ? "; the cause is not known" : "") + circumstances_text(whole);
}

/// "elsewhere −35.0 ms, most of it −30.10 ms: …": what points the other way, without which the causes would
/// be more than the difference. Nothing where it is next to nothing.
std::optional<std::string> opposite_text(const gate::attribution& attributed) {
  constexpr double least_ratio = 0.05;
  const double whole_ns = attributed.explained_difference_ns();
  const gate::cause* largest = nullptr;
  double opposite_ns = 0;
  std::size_t count = 0;
  for (const gate::cause& cause : attributed.causes) {
    if ((cause.delta_ns > 0) == (whole_ns > 0)) continue;
    opposite_ns += cause.delta_ns;
    ++count;
    if (largest == nullptr || std::abs(cause.delta_ns) > std::abs(largest->delta_ns)) largest = &cause;
  }
  if (largest == nullptr || std::abs(opposite_ns) <= least_ratio * std::abs(whole_ns)) return std::nullopt;
  if (count == 1) return "elsewhere " + gate::to_text(*largest);
  return fmt::format("elsewhere {}, most of it {}", signed_duration(opposite_ns), gate::to_text(*largest));
}

void add_causes(const gate::stage_judgement& stage, std::vector<std::string>& lines) {
  if (stage.which != gate::verdict::regressed && stage.which != gate::verdict::improved) return;
  if (!stage.attributed) {
    if (!stage.attribution_reason.empty()) lines.push_back("  no causes: " + stage.attribution_reason);
    return;
  }
  const gate::attribution& attributed = *stage.attributed;
  const double unexplained_ratio = unexplained_ratio_of(stage).value_or(0);
  if (is_cause_unknown(stage))
    lines.push_back(fmt::format("  the cause is not known: traces explain {:.0f} % of the difference",
                                100 * (1 - unexplained_ratio)));
  std::size_t number = 0;
  for (const gate::cause& cause : gate::leading_causes(attributed, causes_shown))
    lines.push_back(fmt::format("  {}. {}", ++number, gate::to_text(cause)));
  if (const auto opposite = opposite_text(attributed)) lines.push_back("  " + *opposite);
  if (!stage.uncounted_because.empty()) lines.push_back("  no counters: " + stage.uncounted_because);
  if (std::abs(unexplained_ratio) > 0.05)
    lines.push_back(fmt::format("  not explained: {}, {:.0f} % of the difference",
                                core::format_duration(std::abs(attributed.unexplained_ns)),
                                100 * std::abs(unexplained_ratio)));
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
    const bool is_said = whole.failed_by == text ||
                         std::find(whole.notices.begin(), whole.notices.end(), text) != whole.notices.end();
    if (!is_said) lines.push_back(fmt::format("  {}: {}", text, gate::to_text(stage.which)));
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

std::string size_sentence(const gate::stage_judgement& stage) {
  if (!stage.numbers) return stage.reason;
  return fmt::format("{} is {}", stage_title(stage), size_of(stage));
}

std::string stage_title(const gate::stage_judgement& stage) {
  if (!stage.tokens || *stage.tokens <= 1) return stage.stage;
  return fmt::format("{} ({} tokens)", stage.stage, *stage.tokens);
}

std::string verdict_word(const gate::judgement& whole) {
  if (whole.failed_by) return "failed";
  return passes_by_waiver(whole) ? "waived" : gate::to_text(whole.overall);
}

std::string verdict_sentence(const gate::judgement& whole) {
  if (!whole.failed_by) return sentence_with_doubts(whole);
  const bool has_runs = gate::deciding_stage(whole) != nullptr;
  return has_runs ? fmt::format("{} (its runs: {}: {})", *whole.failed_by, gate::to_text(whole.overall),
                                sentence_with_doubts(whole))
                  : *whole.failed_by;
}

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
  const bool is_said =
      verdict_sentence(whole).find(whole.look_deeper) != std::string::npos;  // also where there is none
  if (!is_said) lines.push_back("  look deeper: " + whole.look_deeper);
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
