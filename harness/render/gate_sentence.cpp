#include "gate_sentence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/escape.h"
#include "core/units.h"
#include "difference_words.h"
#include "gate/figure_units.h"
#include "render/gate_views.h"

namespace profgate::render {
namespace {

constexpr std::size_t packages_in_sentence = 3;
constexpr double nothing_ratio = 0.0005;  ///< a smaller change is none

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

/// "(90 % CI 4.8 to 5.4 %; 10 + 10 runs)": two bounds that each hold with 95 %, in the direction of the word
/// before it, so that both are above zero where the change is sure.
std::string bounds_of(const gate::comparison& numbers, bool is_rate) {
  const auto shown_ratio = [&](double ratio) { return is_rate ? gate::rate_loss_ratio(ratio) : ratio; };
  const std::string runs = fmt::format("{} + {} runs", numbers.baseline_runs, numbers.candidate_runs);
  if (!numbers.lower_95_ratio || !numbers.upper_95_ratio)
    return fmt::format("({}: too few for bounds)", runs);
  const bool is_faster = shown_ratio(numbers.slowdown_ratio) <= -nothing_ratio;
  const double from = shown_ratio(is_faster ? *numbers.upper_95_ratio : *numbers.lower_95_ratio);
  const double to = shown_ratio(is_faster ? *numbers.lower_95_ratio : *numbers.upper_95_ratio);
  std::string nearer = percent(is_faster ? -from : from);
  nearer.resize(nearer.size() - 2);  // one unit for both
  return fmt::format("(90 % CI {} to {}; {})", nearer, percent(is_faster ? -to : to), runs);
}

std::string speed_of(const gate::comparison& numbers, bool is_rate) {
  if (is_rate) return gate::rate_change_text(numbers.slowdown_ratio);
  const double ratio = numbers.slowdown_ratio;
  if (std::abs(ratio) < nothing_ratio) return "as fast as before";
  return percent(std::abs(ratio)) + (ratio > 0 ? " slower" : " faster");
}

/// Of an unchanged stage: what the rule makes of its interval, which alone may say something else.
std::string why_unchanged(const gate::stage_judgement& stage) {
  if (stage.which != gate::verdict::unchanged || !stage.unchanged_below_ratio) return "";
  const gate::comparison& numbers = *stage.numbers;
  if (numbers.upper_95_ratio && *numbers.upper_95_ratio <= -nothing_ratio)
    return "; faster, but not shown well enough to count as improved";
  const double below = *stage.unchanged_below_ratio;
  const std::string margin = percent(stage.rate_unit ? gate::rate_loss_ratio(below) : below);
  if (numbers.lower_95_ratio && *numbers.lower_95_ratio >= nothing_ratio)
    return fmt::format("; slower, but surely by less than {}, which passes", margin);
  return fmt::format("; a {} is surely below {}, which counts as unchanged",
                     stage.rate_unit ? "loss" : "slowdown", margin);
}

/// The reason, where it does not begin with the verdict's own words already.
std::string after_verdict(const gate::judgement& whole) {
  const std::string repeated = gate::to_text(whole.overall) + ": ";
  return whole.reason.starts_with(repeated) ? whole.reason.substr(repeated.size()) : whole.reason;
}

/// Whether the stage that decides would fail the whole, were it not waived.
bool passes_by_waiver(const gate::judgement& whole) {
  const gate::stage_judgement* const deciding = gate::deciding_stage(whole);
  return deciding != nullptr && deciding->waived_by && whole.code == core::exit_code::good;
}

/// What else than the code can have made it slower: "; not the code, …", "; the code is not all that differs:
/// …", "; packages differ: …".
std::string circumstances_text(const gate::judgement& whole) {
  if (whole.overall != gate::verdict::regressed || whole.circumstances.empty()) return "";
  if (whole.is_not_the_code) {
    const std::size_t more = whole.circumstances.size() - 1;
    return fmt::format("; not the code, of which the traces show no change: {}{}",
                       whole.circumstances.front(), more == 0 ? "" : fmt::format(" and {} more", more));
  }
  std::vector<std::string> others;
  for (const std::string& circumstance : whole.circumstances) {
    const bool is_of_a_package = std::any_of(
        whole.packages.begin(), whole.packages.end(),
        [&](const gate::package_change& change) { return circumstance == packages_text({change}, 1); });
    if (!is_of_a_package) others.push_back(circumstance);
  }
  std::string text;
  if (!others.empty()) text += fmt::format("; the code is not all that differs: {}", fmt::join(others, ", "));
  if (!whole.packages.empty())
    text += "; packages differ: " + packages_text(whole.packages, packages_in_sentence);
  return text;
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

}  // namespace

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
  text += why_unchanged(stage);
  if (stage.which == gate::verdict::regressed && stage.fails_from_ratio) {
    const double from = *stage.fails_from_ratio;
    text += fmt::format("; a slowdown that was confirmed fails from {} on",
                        percent(stage.rate_unit ? gate::rate_loss_ratio(from) : from));
  }
  if (stage.waived_by) text += fmt::format("; {}, but waived", gate::to_text(stage.which));
  return text;
}

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

std::string exact_text(const gate::exact_change& change, const gate::exact_comparison& all) {
  return (change.fails ? "not allowed: " : "") + gate::to_text(change, gate::short_names_of(all));
}

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

std::optional<double> unexplained_ratio_of(const gate::stage_judgement& stage) {
  if (!stage.attributed || stage.attributed->explained_difference_ns() == 0) return std::nullopt;
  return stage.attributed->unexplained_ns / stage.attributed->explained_difference_ns();
}

bool is_cause_unknown(const gate::stage_judgement& stage) {
  const std::optional<double> ratio = unexplained_ratio_of(stage);
  return ratio && std::abs(*ratio) > gate::most_unexplained_ratio;
}

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

bool is_look_deeper_said(const gate::judgement& whole) {
  return verdict_sentence(whole).find(whole.look_deeper) != std::string::npos;
}

}  // namespace profgate::render
