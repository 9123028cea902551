#include <fmt/format.h>

#include "artifacts/files.h"
#include "artifacts/retention.h"
#include "artifacts/run_list.h"
#include "baselines/baseline_store.h"
#include "core/units.h"
#include "judging.h"
#include "make_reports.h"
#include "steps/step.h"
#include "terminal.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

/// A failed step keeps the report step from running; what was measured until then is still worth reading.
void report_what_is_there(step_context& context) {
  if (!fs::exists(context.run_dir / "config.yaml")) return;  // refused before anything was measured
  try {
    runs::run_reader run(context.run_dir);
    if (run.status("report") && run.status("report")->state == core::step_state::ok) return;
    make_profile(run);
    make_reports(context.run_dir, context.parts.templates_dir);
  } catch (const core::error& impossible) {
    context.status.notes.push_back(fmt::format("no report of what is there: {}", impossible.what()));
  }
}

bool was_skipped_at_once(const fs::path& run_dir) {
  const std::optional<artifacts::step_status> prepare = artifacts::read_status(run_dir, "prepare");
  return prepare && prepare->state == core::step_state::skipped;
}

/// Runs that measured nothing because the machine lacks a GPU would pile up with every ctest.
void remove_earlier_skipped_runs(const step_context& context) {
  artifacts::clean_plan plan;
  for (const artifacts::run_info& run : artifacts::list_runs(context.stage2_dir, context.manifest.pair)) {
    if (run.path.filename() != context.run_dir.filename() && was_skipped_at_once(run.path)) {
      plan.remove.push_back({run.path, run.pair, 0});
    }
  }
  artifacts::apply_clean(context.stage2_dir, plan);
}

}  // namespace

void run_prune(step_context& context) {
  if (!was_skipped_at_once(context.run_dir)) report_what_is_there(context);
  remove_earlier_skipped_runs(context);
  const auto keep_runs = static_cast<std::size_t>(context.config.integer("artifacts.keep_runs"));
  const auto plan = artifacts::plan_retention(
      context.stage2_dir, context.manifest.pair, keep_runs,
      baselines::run_ids_of_baselines(baselines_dir_of(context.manifest, context.config)));
  if (!plan.empty()) {
    const artifacts::retention_result result = artifacts::apply_retention(context.stage2_dir, plan);
    context.status.notes.push_back(fmt::format("compressed {} older runs: {} became {}", plan.size(),
                                               core::format_bytes(static_cast<double>(result.bytes_before)),
                                               core::format_bytes(static_cast<double>(result.bytes_after))));
  }
  if (context.told == outcome_told::by_step)
    context.closing_lines.push_back(fmt::format("run directory: {}", context.run_dir.string()));
}

}  // namespace profgate::cli
