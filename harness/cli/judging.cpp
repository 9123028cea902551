#include "judging.h"

#include <fmt/format.h>

#include "ab/gate_config.h"
#include "ad_hoc_pair.h"
#include "artifacts/files.h"
#include "baselines/run_set_file.h"
#include "gate/judge.h"
#include "gate/process_runs.h"
#include "installation.h"
#include "read_waivers.h"
#include "render/gate_views.h"
#include "terminal.h"

namespace profgate::cli {
namespace fs = std::filesystem;

gate::judge_rules judge_rules_of(const config::resolved& config) {
  gate::judge_rules rules;
  rules.interleaved = ab::decision_rules_of(config);
  rules.stored = ab::stored_rules_of(config);
  rules.exact = ab::exact_rules_of(config);
  rules.stages = config.list("gate.stages");
  rules.inconclusive_fails = config.text("gate.inconclusive") == "fail";
  return rules;
}

gate::judgement judge_comparison(const ab::comparison_result& result, const config::resolved& config,
                                 const std::vector<gate::waiver>& waivers) {
  gate::judge_rules rules = judge_rules_of(config);
  rules.reduction = gate::reduction_for(result.candidate);
  gate::judgement judged =
      gate::judge_interleaved(result.baseline, result.candidate, rules, waivers, today_utc(),
                              {result.baseline_name, result.candidate_name});
  judged.warnings.insert(judged.warnings.end(), result.warnings.begin(), result.warnings.end());
  judged.seconds = result.seconds;
  judged.look_deeper = result.look_deeper;
  return judged;
}

void write_arms(const ab::comparison_result& result, const std::filesystem::path& folder) {
  const auto write = [&](const char* name, const gate::run_set& runs) {
    baselines::stored_run_set stored;
    stored.runs = runs;
    baselines::write_run_set(folder / name, stored);
  };
  write(baselines::baseline_runs_name, result.baseline);
  write(baselines::candidate_runs_name, result.candidate);
}

void record_comparison(const ab::comparison_result& result, const gate::judgement& judged) {
  write_arms(result, result.folder);
  write_judgement(judged, result.folder);
}

fs::path baselines_dir_of(const pair_manifest& manifest, const config::resolved& config) {
  return (manifest.project_dir / config.text("gate.baselines_dir")).lexically_normal();
}

std::optional<baselines::anchor_place> anchor_place_of(const config::resolved& config,
                                                       const fs::path& project_dir,
                                                       const fs::path& baselines_dir) {
  if (config.is_null("gate.anchor")) return std::nullopt;
  return baselines::anchor_place{baselines_dir, config.text("gate.anchor"),
                                 (project_dir / config.text("gate.history_file")).lexically_normal()};
}

namespace {

/// What makes a baseline; nothing where the command becomes a pair anyway, as whoever typed it asked for.
std::string accept_hint_for(const pair_manifest& manifest) {
  if (manifest.is_being_saved) return "";
  if (manifest.config != ad_hoc_config) return fmt::format("profgate baseline record {}", manifest.pair);
  return "profgate run --save <name>, which makes a pair of the command; to compare two commands: profgate "
         "ab -- <one> -- <the other>";
}

}  // namespace

gate::judgement judge_against_stored(step_context& context, const gate::build_identity& identity,
                                     const baselines::run_more& more) {
  baselines::stored_request request;
  request.baselines_dir = baselines_dir_of(context.manifest, context.config);
  request.candidate.identity = identity;
  request.rules = judge_rules_of(context.config);
  request.rules.reduction = ab::reduction_rules_of(context.manifest.command_has_placeholders);
  request.waivers = read_waivers(request.baselines_dir);
  request.today = today_utc();
  request.anchor = anchor_place_of(context.config, context.manifest.project_dir, request.baselines_dir);
  request.accept_hint = accept_hint_for(context.manifest);
  baselines::stored_outcome outcome = baselines::judge_against_stored(std::move(request), more);
  if (!outcome.candidate.processes.empty()) {
    baselines::stored_run_set stored;
    stored.run_id = context.run_dir.filename().string();
    stored.runs = outcome.candidate;
    baselines::write_run_set(context.run_dir / "gate" / baselines::candidate_runs_name, stored);
  }
  if (!outcome.judged.stages.empty()) {
    // Not the run itself: the gate decodes fewer tokens than the run's profile.
    outcome.judged.look_deeper =
        fmt::format("profgate compare {} {}", outcome.judged.baseline_name,
                    (context.run_dir / "gate" / baselines::candidate_runs_name).string());
  }
  return outcome.judged;
}

bool lacks_baseline(const gate::judgement& judged) {
  return judged.code == core::exit_code::not_possible &&
         (judged.overall == gate::verdict::no_baseline || judged.overall == gate::verdict::not_comparable);
}

void write_judgement(const gate::judgement& judged, const std::filesystem::path& folder) {
  render::render_gate(judged, find_installation().templates_dir, folder, artifacts::write_file_atomically);
}

void print_judgement(const gate::judgement& judged) {
  for (const std::string& line : render::gate_lines(judged)) print("{}\n", line);
}

}  // namespace profgate::cli
