#include "summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/stage_names.h"
#include "core/units.h"
#include "findings_parts.h"
#include "summary_program.h"

namespace profgate::analysis {
namespace {

void add_failed_steps(const run_facts& facts, std::vector<std::string>& summary) {
  for (const step_facts& step : facts.steps) {
    if (step.state != core::step_state::failed) continue;
    summary.push_back(fmt::format("This run is incomplete: step {} failed: {}.", step.name, step.reason));
  }
}

/// "36.9 ms", or of a stage that decodes tokens "577 µs a token, 36.9 ms for 64".
std::string stage_time(const run_facts& facts, const stage_figures& stage) {
  const double median_ns = stage.bare.time_ns->median;
  const std::map<std::string, std::int64_t>& counts = token_counts(facts.bare);
  const auto tokens = counts.find("decode");
  if (stage.bare.name != core::decode_all_stage || tokens == counts.end() || tokens->second <= 1)
    return core::format_duration(median_ns);
  return fmt::format("{} a token, {} for {}",
                     core::format_duration(median_ns / static_cast<double>(tokens->second)),
                     core::format_duration(median_ns), tokens->second);
}

std::string name_dominating_stage(const run_facts& facts, const run_figures& figures) {
  const stage_figures* stage = dominating_stage(figures);
  if (stage == nullptr) {
    const std::string reason =
        figures.stages.empty() ? "the workload has no stages" : figures.stages.front().bare.time_ns.reason();
    return fmt::format("No stage was timed: {}.", reason);
  }
  const std::string time = stage_time(facts, *stage);
  if (!stage->bare.share_ratio) {
    return fmt::format("{} takes {}; its share is unknown: {}.", stage->bare.name, time,
                       stage->bare.share_ratio.reason());
  }
  if (figures.bare.stages.size() == 1)
    return fmt::format("{} takes {} and is the only stage that was timed.", stage->bare.name, time);
  return fmt::format("{} dominates: {} of the time ({}).", stage->bare.name,
                     core::format_percent(*stage->bare.share_ratio), time);
}

/// " of batch 2"; nothing of a batch of one, or where nobody tells.
std::string of_batch(const bare_facts& facts) {
  const std::map<std::string, std::int64_t>& counts = token_counts(facts);
  const auto batch = counts.find("batch");
  return batch != counts.end() && batch->second > 1 ? fmt::format(" of batch {}", batch->second) : "";
}

void add_speed(const bare_facts& facts, const bare_figures& bare, std::vector<std::string>& summary) {
  std::vector<std::string> parts;
  if (bare.ttft_ns) parts.push_back("TTFT " + core::format_duration(bare.ttft_ns->median));
  if (bare.tpot_ns)
    parts.push_back(fmt::format(
        "TPOT {}{}", core::format_duration(bare.tpot_ns->p50),
        bare.tpot_ns->p99 ? fmt::format(" (p99 {})", core::format_duration(*bare.tpot_ns->p99)) : ""));
  if (bare.tokens_per_s)
    parts.push_back(core::format_number(bare.tokens_per_s->median) + " tokens/s decoded" + of_batch(facts));
  if (parts.empty()) return;
  const bool is_one =
      (!bare.ttft_ns || bare.ttft_ns->samples.size() == 1) && (!bare.tpot_ns || bare.tpot_ns->count == 1);
  summary.push_back(fmt::format("{}; {}.", fmt::join(parts, ", "),
                                is_one ? "one unprofiled run" : "p50 of unprofiled runs"));
  if (bare.ttft_ns && !facts.ttft_leaves_out.empty())
    summary.push_back(fmt::format("TTFT leaves out {}.", facts.ttft_leaves_out));
}

void add_energy(const bare_figures& bare, std::vector<std::string>& summary) {
  if (!bare.energy_per_decoded_token_j) return;
  const double joules = *bare.energy_per_decoded_token_j;
  summary.push_back(
      fmt::format("{} per decoded token.", bare.energy_uncertainty_ratio
                                               ? core::format_energy(joules, *bare.energy_uncertainty_ratio)
                                               : core::format_energy(joules)));
}

void add_throttling(const run_figures& figures, std::vector<std::string>& summary) {
  std::vector<std::string> held;
  std::vector<std::string> moved;
  std::set<std::string> held_reasons;
  std::set<std::string> moved_reasons;
  double widest_ratio = 0;
  for (const stage_figures& stage : figures.stages) {
    if (!stage.bare.telemetry || !stage.bare.telemetry->throttle_reasons) continue;
    const std::vector<std::string> throttling = throttling_among(*stage.bare.telemetry->throttle_reasons);
    if (throttling.empty()) continue;
    const measured<double>& spread_ratio = stage.bare.telemetry->sm_clock_spread_ratio;
    const bool have_clocks_held = spread_ratio && *spread_ratio <= unsteady_clock_ratio;
    (have_clocks_held ? held : moved).push_back(stage.bare.name);
    (have_clocks_held ? held_reasons : moved_reasons).insert(throttling.begin(), throttling.end());
    if (!have_clocks_held) widest_ratio = std::max(widest_ratio, spread_ratio ? *spread_ratio : 0.0);
  }
  const auto when = [](const std::set<std::string>& reasons, const std::vector<std::string>& stages) {
    return fmt::format("({}) while {} {} timed", fmt::join(reasons, ", "), fmt::join(stages, " and "),
                       stages.size() == 1 ? "was" : "were");
  };
  // A limit that the clocks did not feel is worth a sentence only where it is all that there is to tell.
  if (moved.empty() && !held.empty())
    summary.push_back(fmt::format("The GPU was at a limit {}, but its clocks held: the times stand.",
                                  when(held_reasons, held)));
  if (moved.empty()) return;
  summary.push_back(fmt::format("The GPU was throttled {}{}.", when(moved_reasons, moved),
                                widest_ratio > 0 ? fmt::format("; its SM clock moved by {} at times",
                                                               core::format_percent(widest_ratio))
                                                 : ""));
}

void add_confidence(const run_facts& facts, const run_figures& figures, std::vector<std::string>& summary) {
  const bare_stage* widest = nullptr;
  std::size_t fewest = 0;
  std::vector<std::string> timed_once;
  for (const stage_figures& stage : figures.stages) {
    if (!stage.bare.time_ns) continue;
    const std::size_t count = stage.bare.time_ns->samples.size();
    fewest = fewest == 0 ? count : std::min(fewest, count);
    if (count == 1) timed_once.push_back(stage.bare.name);
    if (!stage.bare.time_ns->cv) continue;
    if (widest == nullptr || *stage.bare.time_ns->cv > *widest->time_ns->cv) widest = &stage.bare;
  }
  if (fewest == 0) return;
  if (!facts.bare.decoding_in_turns.empty()) {
    summary.push_back(fmt::format("Times are of all models: {}.", facts.bare.decoding_in_turns));
    return;
  }
  if (!facts.bare.lengths_that_differ.empty()) {
    summary.push_back(
        fmt::format("{}: times are of all of them, and spread as they do.", facts.bare.lengths_that_differ));
    return;
  }
  if (widest == nullptr) {
    summary.emplace_back("Each stage was timed once, so nothing is known of the spread.");
    return;
  }
  const double cv_ratio = *widest->time_ns->cv;
  const std::string cold = figures.is_timed_by_itself ? "" : cold_samples_words(*widest->time_ns);
  if (cv_ratio > unreliable_cv_ratio && !cold.empty()) {
    summary.push_back(fmt::format("Of {}, {}, as those do that warm up.", widest->name, cold));
    return;
  }
  const std::string verdict = cv_ratio > unreliable_cv_ratio ? "unreliable" : "steady";
  if (!timed_once.empty()) {
    summary.push_back(fmt::format(
        "Timed once, so that nothing is known of the spread: {}. The widest of the others is {} ({}): {}.",
        fmt::join(timed_once, ", "), core::format_percent(cv_ratio), widest->name, verdict));
    return;
  }
  summary.push_back(fmt::format("{} repetitions; the widest spread is {} ({}): the times are {}.", fewest,
                                core::format_percent(cv_ratio), widest->name, verdict));
}

void add_correctness(const run_facts& facts, const run_figures& figures, std::vector<std::string>& summary) {
  if (facts.bare.bench && facts.bare.bench->reference_distance) {
    summary.push_back(fmt::format("The logits lie {:.2e} (relative) from the reference {}.",
                                  *facts.bare.bench->reference_distance,
                                  facts.bare.bench->reference_name.value_or("without a name")));
  } else if (facts.bare.bench) {
    summary.emplace_back("The output was not compared with a reference.");
  }
  if (figures.traced_logits_agree && !*figures.traced_logits_agree) {
    summary.emplace_back(
        "The traced run computed other logits than the unprofiled run: its trace is not of the same work.");
  }
}

void add_skipped_steps(const run_facts& facts, std::vector<std::string>& summary) {
  for (const step_facts& step : facts.steps) {
    if (step.state == core::step_state::skipped) {
      summary.push_back(fmt::format("The {} step was skipped: {}.", step.name, step.reason));
    }
  }
}

}  // namespace

std::string plain_number(double value) {
  const double magnitude = std::abs(value);
  const bool is_whole = std::abs(value - std::round(value)) < 1e-9 * std::max(1.0, magnitude);
  return fmt::format("{:.{}f}", value, is_whole || magnitude >= 100 ? 0 : magnitude >= 10 ? 1 : 2);
}

const stage_figures* dominating_stage(const run_figures& figures) {
  const stage_figures* largest = nullptr;
  for (const stage_figures& stage : figures.stages) {
    if (!stage.bare.time_ns) continue;
    if (largest == nullptr || stage.bare.time_ns->median > largest->bare.time_ns->median) largest = &stage;
  }
  return largest;
}

std::vector<std::string> summarize_run(const run_facts& facts, const run_figures& figures) {
  std::vector<std::string> summary;
  add_failed_steps(facts, summary);
  const bool has_steps = std::any_of(figures.stages.begin(), figures.stages.end(),
                                     [](const stage_figures& stage) { return stage.step.has_value(); });
  if (figures.is_timed_by_itself || !has_steps) {
    summary.push_back(name_dominating_stage(facts, figures));
  } else {
    add_program_summary(facts, figures, summary);
  }
  add_speed(facts.bare, figures.bare, summary);
  add_energy(figures.bare, summary);
  if (std::optional<std::string> recomputing = cache_sentence(facts))
    summary.push_back(std::move(*recomputing));
  if (std::optional<std::string> unknown = unknown_bounds(facts, figures))
    summary.push_back(std::move(*unknown));
  add_confidence(facts, figures, summary);
  add_throttling(figures, summary);
  add_correctness(facts, figures, summary);
  add_skipped_steps(facts, summary);
  return summary;
}

}  // namespace profgate::analysis
