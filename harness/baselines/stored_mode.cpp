#include "baselines/stored_mode.h"

#include <fmt/format.h>

#include <algorithm>

#include "baselines/baseline_store.h"
#include "core/error.h"
#include "gate/comparability.h"
#include "gate/process_runs.h"

namespace profgate::baselines {
namespace fs = std::filesystem;
namespace {

/// Processes are repeated where something spoiled them, but not for ever.
constexpr int most_rounds = 3;

std::string no_baseline_text(const stored_request& request) {
  const gate::build_identity& identity = request.candidate.identity;
  std::string text =
      fmt::format("there is none for {} (settings {}) on {}", identity.pair,
                  identity.config_sha256.substr(0, 12), gate::device_words(gate::device_text(identity)));
  const fs::path folder = baseline_name(identity).parent_path();
  std::size_t others = 0;
  for (const fs::path& name : list_baselines(request.baselines_dir)) others += name.parent_path() == folder;
  if (others > 0) text += fmt::format("; {} of the pair with other settings, commands or devices", others);
  return text;
}

std::vector<std::string> gated_stages(const stored_run_set& baseline, const gate::judge_rules& rules) {
  if (!rules.stages.empty()) return rules.stages;
  return baseline.runs.gated_stages.empty() ? gate::stages_of(baseline.runs) : baseline.runs.gated_stages;
}

/// How many processes the stage with the fewest lacks.
std::size_t lacking(const stored_request& request, const std::vector<std::string>& stages) {
  std::size_t fewest = request.rules.stored.min_runs;
  const std::vector<std::string> there = gate::stages_of(request.candidate);
  for (const std::string& stage : stages) {
    const bool will_never_come =
        !there.empty() && std::find(there.begin(), there.end(), stage) == there.end();
    if (will_never_come) continue;
    fewest =
        std::min(fewest, gate::stage_medians_ns(request.candidate, stage, request.rules.reduction).size());
  }
  return request.rules.stored.min_runs - fewest;
}

/// Where its baseline asks for none: the anchor judges it nevertheless, or creep would pass for want of
/// another file.
void run_for_anchor(stored_request& request, const run_more& more) {
  if (!request.anchor || !more || !request.candidate.processes.empty()) return;
  if (can_be_judged_since(*request.anchor, request.candidate))
    append_runs(more(request.rules.stored.min_runs), request.candidate);
}

void judge_by_anchor(const stored_request& request, stored_outcome& outcome) {
  if (!request.anchor) return;
  judge_since_anchor(*request.anchor, outcome.candidate, request.rules, request.waivers, request.today,
                     outcome.judged);
}

}  // namespace

void append_runs(const gate::run_set& later, gate::run_set& runs) {
  std::size_t next_slot = 0;
  for (const gate::process_record& process : runs.processes)
    next_slot = std::max(next_slot, process.slot + 1);
  bool is_warm_up = !runs.processes.empty();
  for (gate::process_record process : later.processes) {
    process.slot += next_slot;
    if (is_warm_up && !process.spoiled_by) {
      process.spoiled_by = gate::warmed_up_again;
      is_warm_up = false;
    }
    runs.processes.push_back(std::move(process));
  }
  for (const auto& [stage, structure] : later.structure) runs.structure.emplace(stage, structure);
  runs.traces.insert(runs.traces.end(), later.traces.begin(), later.traces.end());
  if (runs.experts.empty()) runs.experts = later.experts;
  // Of the libraries that a program loads only its runs tell.
  runs.identity.versions.insert(later.identity.versions.begin(), later.identity.versions.end());
  if (runs.created_utc.empty()) runs.created_utc = later.created_utc;
  if (runs.gated_stages.empty()) runs.gated_stages = later.gated_stages;
  if (runs.units_of_figures.empty()) runs.units_of_figures = later.units_of_figures;
  if (!runs.decode_tokens) runs.decode_tokens = later.decode_tokens;
  if (runs.traces.empty()) runs.untraced_because = later.untraced_because;
}

stored_outcome judge_against_stored(stored_request request, const run_more& more) {
  if (request.anchor) require_anchor(*request.anchor);  // before the runs
  if (request.candidate.identity.device_name.empty() && more) {
    request.candidate = more(request.rules.stored.min_runs);
  }
  const gate::build_identity identity = request.candidate.identity;
  const fs::path file = request.baselines_dir / baseline_name(identity);
  stored_outcome outcome;
  const auto without_runs = [&](gate::verdict which, const std::string& reason) {
    outcome.judged = gate::judged_without_runs(identity.pair, which, reason, request.waivers, request.today);
    outcome.judged.baseline_name = file.string();
    outcome.judged.candidate_name = gate::commit_text(identity);
    outcome.judged.device_name = identity.device_name;
    outcome.judged.look_deeper = request.accept_hint;
    run_for_anchor(request, more);
    outcome.candidate = request.candidate;
    judge_by_anchor(request, outcome);
    return outcome;
  };
  std::optional<stored_run_set> baseline;
  try {
    baseline = find_baseline(request.baselines_dir, identity);
  } catch (const core::not_possible& other_schema) {
    return without_runs(gate::verdict::not_comparable, other_schema.what());
  }
  if (!baseline) {
    std::string reason = no_baseline_text(request);
    if (!request.accept_hint.empty()) reason += "; to make one: " + request.accept_hint;
    return without_runs(gate::verdict::no_baseline, reason);
  }
  // What can never be compared is not worth a process.
  const gate::comparability before_runs = gate::compare_identities(baseline->runs, request.candidate);
  if (before_runs.obstacles.empty()) {
    const std::vector<std::string> stages = gated_stages(*baseline, request.rules);
    for (int round = 0; round < most_rounds; ++round) {
      const std::size_t count = lacking(request, stages);
      if (count == 0 || !more) break;
      append_runs(more(count), request.candidate);
    }
  }
  run_for_anchor(request, more);
  outcome.judged = gate::judge_stored(baseline->runs, request.candidate, request.rules, request.waivers,
                                      request.today, {file.string(), ""});
  outcome.candidate = request.candidate;
  judge_by_anchor(request, outcome);
  return outcome;
}

}  // namespace profgate::baselines
