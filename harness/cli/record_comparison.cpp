#include "record_comparison.h"

#include "baselines/run_set_file.h"
#include "gate/judge.h"
#include "gate/process_runs.h"
#include "gate_rules.h"
#include "read_waivers.h"
#include "show_judgement.h"

namespace profgate::cli {

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

}  // namespace profgate::cli
