#include "record_comparison.h"

#include "baselines/run_set_file.h"
#include "show_judgement.h"

namespace profgate::cli {

void record_comparison(const ab::comparison_result& result) {
  const auto write = [&](const char* name, const gate::run_set& runs) {
    baselines::stored_run_set stored;
    stored.runs = runs;
    baselines::write_run_set(result.folder / name, stored);
  };
  write(baselines::baseline_runs_name, result.baseline);
  write(baselines::candidate_runs_name, result.candidate);
  write_judgement(result.judged, result.folder);
}

}  // namespace profgate::cli
