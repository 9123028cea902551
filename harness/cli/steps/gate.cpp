#include <cstdlib>

#include "ab/comparison.h"
#include "artifacts/files.h"
#include "comparison_request.h"
#include "gate/process_runs.h"
#include "judging.h"
#include "make_reports.h"
#include "measuring_turn.h"
#include "parsers/workload_result.h"
#include "read_waivers.h"
#include "render/gate_views.h"
#include "requirements.h"
#include "steps/step.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

/// Strict: both builds now, in turns. PROFGATE_BASELINE names a commit to build or a build folder.
gate::judgement judge_against_build(step_context& context, const std::string& baseline) {
  // The run's own settings, which prepare wrote, not those of the moment. A planted delay stands for a slower
  // build, so the other one has none.
  const fs::path baselines_dir = baselines_dir_of(context.manifest, context.config);
  const std::vector<gate::waiver> waivers =
      read_waivers(baselines_dir);  // a faulty file is told before the runs
  const auto anchor = anchor_place_of(context.config, context.manifest.project_dir, baselines_dir);
  if (anchor) baselines::require_anchor(*anchor);
  const config::resolved sound =
      context.config.with("workload.planted_delay_ns", std::int64_t{0}, "the baseline's own");
  const ab::comparison_result result = ab::run_comparison(
      comparison_request(context.manifest, {baseline, sound, context.config, {}, {}}, context.display));
  gate::judgement judged = judge_comparison(result, context.config, waivers);
  if (anchor) {
    gate::judge_rules rules = judge_rules_of(context.config);
    rules.reduction = gate::reduction_for(result.candidate);
    baselines::judge_since_anchor(*anchor, result.candidate, rules, waivers, today_utc(), judged);
  }
  record_comparison(result, judged);
  write_arms(result, context.run_dir / "gate");  // they stay as long as the run
  context.status.notes.push_back("runs, logs and traces of the comparison: " + result.folder.string());
  return judged;
}

/// What the workload of this run called its device: a CPU's name comes from nowhere else.
std::string device_name_of(const fs::path& run_dir) {
  const fs::path result = run_dir / "stage1" / "result.json";
  return artifacts::file_exists(result) ? parsers::read_workload_result(result).device_name : "";
}

/// Stored mode: against the numbers of the accepted baseline. The gate runs the processes that are lacking.
gate::judgement judge_against_numbers(step_context& context) {
  const ab::surroundings where = surroundings_of(context.manifest, context.config, context.display);
  const ab::arm_build candidate = arm_of(context.manifest, context.config, "");
  return judge_against_stored(
      context, ab::identity_of_build(where, candidate, device_name_of(context.run_dir)),
      [&](std::size_t count) { return ab::run_one_arm(where, candidate, count, ab::traced_too::yes); });
}

}  // namespace

void run_gate(step_context& context) {
  const char* baseline = std::getenv("PROFGATE_BASELINE");
  const bool is_strict = baseline != nullptr && *baseline != '\0';
  const measuring_turn turn(context.display);
  context.waited = turn.waited();
  const gate::judgement judged =
      is_strict ? judge_against_build(context, baseline) : judge_against_numbers(context);
  write_judgement(judged, context.run_dir);
  list_new_files(context.run_dir, context.parts.templates_dir);
  // Only CTest takes them out of the output again.
  if (std::getenv("DASHBOARD_TEST_FROM_CTEST") != nullptr)
    context.closing_lines.push_back(render::ctest_measurements(judged));
  // The verdict of a skip stands on the step's last line.
  const bool is_verdict_told =
      context.told == outcome_told::by_caller || judged.code == core::exit_code::not_possible;
  for (std::string& line : is_verdict_told ? render::gate_detail_lines(judged) : render::gate_lines(judged))
    context.closing_lines.push_back(std::move(line));
  context.short_reason = render::verdict_word(judged);
  if (judged.code == core::exit_code::good) return;
  const std::string sentence = render::verdict_word(judged) + ": " + render::verdict_sentence(judged);
  if (lacks_baseline(judged)) skip_unless_required(require_baseline_word, sentence, "");
  throw core::error(judged.code, sentence, "");
}

}  // namespace profgate::cli
