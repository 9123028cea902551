#include "gate_stored.h"

#include <fmt/format.h>

#include "ab/gate_config.h"
#include "baselines/run_set_file.h"
#include "gate_rules.h"
#include "read_waivers.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

fs::path in_project(const pair_manifest& manifest, const config::resolved& config, const char* key) {
  return (manifest.project_dir / config.text(key)).lexically_normal();
}

}  // namespace

fs::path baselines_dir_of(const pair_manifest& manifest, const config::resolved& config) {
  return in_project(manifest, config, "gate.baselines_dir");
}

fs::path history_file_of(const pair_manifest& manifest, const config::resolved& config) {
  return in_project(manifest, config, "gate.history_file");
}

gate::judgement judge_against_stored(step_context& context, const gate::build_identity& identity,
                                     const baselines::run_more& more) {
  baselines::stored_request request;
  request.baselines_dir = baselines_dir_of(context.manifest, context.config);
  request.candidate.identity = identity;
  request.rules = judge_rules_of(context.config);
  request.rules.reduction = ab::reduction_rules_of(context.manifest.command_has_placeholders);
  request.waivers = read_waivers(request.baselines_dir);
  request.today = today_utc();
  request.accept_hint = fmt::format("profgate baseline record {}", context.manifest.pair);
  baselines::stored_outcome outcome = baselines::judge_against_stored(std::move(request), more);
  if (!outcome.candidate.processes.empty()) {
    baselines::stored_run_set stored;
    stored.run_id = context.run_dir.filename().string();
    stored.runs = outcome.candidate;
    baselines::write_run_set(context.run_dir / "gate" / baselines::candidate_runs_name, stored);
  }
  if (!outcome.judged.stages.empty()) {
    outcome.judged.look_deeper =
        fmt::format("profgate compare {} {}", outcome.judged.baseline_name, context.run_dir.string());
  }
  return outcome.judged;
}

}  // namespace profgate::cli
