#include <fmt/format.h>
#include <fmt/ranges.h>

#include "artifacts/files.h"
#include "artifacts/provenance.h"
#include "make_reports.h"
#include "steps/step.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

/// The GPU's state after the last measurement, every command of the run and the workload's libraries join the
/// provenance.
void complete_provenance(runs::run_reader& run) {
  artifacts::late_facts late;
  late.gpu_at_end = artifacts::gather_gpu_facts();
  for (const step_definition& step : all_steps()) {
    const std::optional<artifacts::step_status>& status = run.status(step.name);
    if (!status) continue;
    for (const artifacts::command_status& command : status->commands) late.argv.push_back(command.argv);
  }
  if (run.bare().bench) late.library_versions = run.bare().bench->library_versions;
  const fs::path file = run.path() / "env.json";
  artifacts::write_file_atomically(file, artifacts::with_late_facts(artifacts::read_file(file), late));
}

}  // namespace

void run_report(step_context& context) {
  context.display.now_running("analysis and reports");
  runs::run_reader run(context.run_dir, context.config);
  complete_provenance(run);
  make_profile(run);
  make_reports(context.run_dir, context.parts.templates_dir);
  const std::vector<std::string> missing = run.missing_artifacts();
  if (!missing.empty()) {
    throw core::step_failure(fmt::format("the bundle is incomplete: {}", fmt::join(missing, ", ")),
                             "see the status.json and log.txt of the step that should have made it");
  }
}

}  // namespace profgate::cli
