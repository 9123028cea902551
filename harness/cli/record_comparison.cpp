#include "record_comparison.h"

#include "baselines/run_set_file.h"
#include "show_judgement.h"

namespace profgate::cli {

void write_arms(const ab::comparison_result& result, const std::filesystem::path& folder) {
  const auto write = [&](const char* name, const gate::run_set& runs) {
    baselines::stored_run_set stored;
    stored.runs = runs;
    baselines::write_run_set(folder / name, stored);
  };
  write(baselines::baseline_runs_name, result.baseline);
  write(baselines::candidate_runs_name, result.candidate);
}

void record_comparison(const ab::comparison_result& result) {
  write_arms(result, result.folder);
  write_judgement(result.judged, result.folder);
}

}  // namespace profgate::cli
