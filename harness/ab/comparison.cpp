#include "ab/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "ab/gate_config.h"
#include "ab/stale_program.h"
#include "artifacts/gpu_facts.h"
#include "artifacts/sha256.h"
#include "core/error.h"
#include "core/records.h"
#include "core/stage_names.h"
#include "core/utc_time.h"
#include "counted_suspects.h"
#include "drive.h"
#include "identity.h"
#include "run_folder.h"
#include "runs/run_settings.h"
#include "traced_runs.h"
#include "workload_runs.h"

namespace profgate::ab {
namespace fs = std::filesystem;
namespace {

plan_record plan_of(const surroundings& where, const arm_build& baseline, const arm_build& candidate,
                    const std::optional<artifacts::gpu_device>& gpu, const std::string& purpose) {
  plan_record plan;
  plan.pair = where.pair;
  plan.baseline_name = baseline.name;
  plan.candidate_name = candidate.name;
  plan.baseline_identity = build_fingerprint(baseline);
  plan.candidate_identity = build_fingerprint(candidate);
  plan.config_sha256 = config_sha256(candidate);
  plan.seed = static_cast<std::uint64_t>(candidate.config.integer("gate.seed"));
  plan.boot_id = boot_id();
  if (gpu) plan.gpu_uuid = gpu->uuid.value_or("");
  plan.created_utc = core::utc_timestamp();
  const std::string settings =
      gate_config(baseline.config).hash() + "\n" + gate_config(candidate.config).hash();
  plan.id =
      artifacts::sha256_hex(fmt::format("{}\n{}\n{}\n{}\n{}\n{}", purpose, plan.pair, plan.baseline_identity,
                                        plan.candidate_identity, settings, plan.seed))
          .substr(0, 12);
  return plan;
}

/// With what the runs of this arm say of their machine.
gate::build_identity identity_of_runs(const surroundings& where, const arm_build& build,
                                      const comparison_state& state, gate::arm which) {
  const auto said = std::find_if(state.runs.begin(), state.runs.end(), [&](const finished_run& run) {
    return run.arm == which && (!run.device_name.empty() || !run.library_versions.empty());
  });
  if (said == state.runs.end()) return identity_of_build(where, build, "");
  gate::build_identity identity = identity_of_build(where, build, said->device_name);
  identity.versions.insert(said->library_versions.begin(), said->library_versions.end());
  return identity;
}

gate::run_set whole_run_set(const comparison_settings& settings, const comparison_state& state,
                            gate::arm which, gate::build_identity identity, traced_arm& traced) {
  gate::run_set set = run_set_of(settings, state, which);
  set.identity = std::move(identity);
  set.structure = traced.structure(settings.traced_stages());
  set.traces = traced.sums(settings.traced_stages());
  if (set.traces.empty()) set.untraced_because = traced.absent_reason();
  return set;
}

std::vector<std::string> warnings_of(const comparison_state& state,
                                     const std::vector<const traced_arm*>& traces) {
  std::vector<std::string> warnings;
  for (const finished_run& run : state.runs) {
    if (!run.crash || run.kind == run_kind::traced) continue;
    warnings.push_back(fmt::format("run {} of the {} failed and was repeated: {}", run.record.slot,
                                   arm_name(run.arm), *run.crash));
  }
  for (const traced_arm* arm : traces)
    warnings.insert(warnings.end(), arm->doubts().begin(), arm->doubts().end());
  return warnings;
}

/// What is said before the first run, so that nobody waits for what does not count.
std::vector<std::string> stale_programs(const surroundings& where,
                                        const std::vector<const arm_build*>& arms) {
  std::set<std::string> programs;  // most often one: two settings of a build are compared, too
  for (const arm_build* arm : arms) programs.insert(arm->command.front());
  std::vector<std::string> texts;
  for (const std::string& program : programs) {
    std::string text = stale_program_text(program);
    if (text.empty()) continue;
    if (where.say) where.say("warning: " + text);
    texts.push_back(std::move(text));
  }
  return texts;
}

/// Which of an adapter's or of a recipe's stages a program has is known only when it has run: an adapter asks
/// for those of a decoder, and a server may never mix prefill and decode. Rethrows where somebody has named
/// the stage.
config::resolved with_stages_it_has(const stage_not_closed& missing, const config::resolved& config,
                                    const surroundings& where) {
  const bool are_named = !config.list("gate.stages").empty();
  const bool has_adapter = config::has_adapter(config);
  if (are_named || !(has_adapter || runs::stage_expressions_of(config).contains(missing.stage()))) throw;
  std::vector<std::string> stages = config.list("workload.stages");
  std::erase_if(stages, [&](const std::string& stage) {
    return std::find(missing.closed().begin(), missing.closed().end(), stage) == missing.closed().end();
  });
  for (const std::string& figure : judged_figures(config)) {
    if (std::find(stages.begin(), stages.end(), figure) == stages.end()) stages.push_back(figure);
  }
  if (stages.empty() && !has_adapter) throw;
  if (stages.empty()) stages = {core::whole_process_stage};
  if (where.say) where.say(fmt::format("its stages are {}", fmt::join(stages, ", ")));
  return config.with("gate.stages", stages, has_adapter ? "the adapter" : "the program");
}

comparison_result compare_builds(const request& wanted) {
  const comparison_settings settings = settings_of(wanted.candidate);
  const std::optional<artifacts::gpu_device> gpu = measured_gpu(wanted.candidate);
  const std::vector<std::string> stale = stale_programs(wanted.where, {&wanted.baseline, &wanted.candidate});
  run_folder folder(wanted.where.folder,
                    plan_of(wanted.where, wanted.baseline, wanted.candidate, gpu, "comparison"),
                    wanted.where.say);
  workload_runs runs(wanted.where, wanted.baseline, wanted.candidate, settings, folder.path());
  drive(settings, folder, runs);

  traced_arm baseline(wanted.baseline, folder.path(), folder.state().runs, gate::arm::baseline);
  traced_arm candidate(wanted.candidate, folder.path(), folder.state().runs, gate::arm::candidate);
  const auto set_of = [&](gate::arm which, const arm_build& build, traced_arm& traced) {
    return whole_run_set(settings, folder.state(), which,
                         identity_of_runs(wanted.where, build, folder.state(), which), traced);
  };
  comparison_result result;
  result.baseline = set_of(gate::arm::baseline, wanted.baseline, baseline);
  result.candidate = set_of(gate::arm::candidate, wanted.candidate, candidate);
  result.baseline_name = wanted.baseline.name;
  result.candidate_name = wanted.candidate.name;
  result.look_deeper = wanted.look_deeper;
  result.warnings = warnings_of(folder.state(), {&baseline, &candidate});
  result.warnings.insert(result.warnings.end(), stale.begin(), stale.end());
  for (const finished_run& run : folder.state().runs) result.seconds += run.seconds;
  const auto counting_started = std::chrono::steady_clock::now();
  const arm_program& before = runs.program(gate::arm::baseline);
  const arm_program& now = runs.program(gate::arm::candidate);
  count_suspects(wanted.where, settings, folder.path(),
                 {before, baseline, before.tool_runner(), result.baseline},
                 {now, candidate, now.tool_runner(), result.candidate});
  result.seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - counting_started).count();
  result.folder = folder.archive();
  return result;
}

gate::run_set measure_build(const surroundings& where, const arm_build& build, std::size_t count,
                            traced_too traced) {
  stale_programs(where, {&build});
  const comparison_settings settings = settings_of(build);
  const std::optional<artifacts::gpu_device> gpu = measured_gpu(build);
  run_folder folder(where.folder, plan_of(where, build, build, gpu, fmt::format("{} runs of one", count)),
                    where.say);
  workload_runs runs(where, build, build, settings, folder.path());
  const auto next_of = [&](const comparison_state& state) {
    return next_of_one_arm(settings, count, traced == traced_too::yes, state);
  };
  drive(settings, next_of, folder, runs);
  traced_arm traces(build, folder.path(), folder.state().runs, gate::arm::candidate);
  gate::run_set set =
      whole_run_set(settings, folder.state(), gate::arm::candidate,
                    identity_of_runs(where, build, folder.state(), gate::arm::candidate), traces);
  folder.archive();
  return set;
}

}  // namespace

comparison_result run_comparison(const request& wanted) {
  try {
    return compare_builds(wanted);
  } catch (const stage_not_closed& missing) {
    if (missing.is_of_candidate()) throw;  // the baseline had it
    request again = wanted;
    again.candidate.config = with_stages_it_has(missing, wanted.candidate.config, wanted.where);
    return compare_builds(again);
  }
}

gate::run_set run_one_arm(const surroundings& where, const arm_build& build, std::size_t count,
                          traced_too traced) {
  try {
    return measure_build(where, build, count, traced);
  } catch (const stage_not_closed& missing) {
    arm_build again = build;
    again.config = with_stages_it_has(missing, build.config, where);
    return measure_build(where, again, count, traced);
  }
}

exact_evidence trace_once(const surroundings& where, const arm_build& build) {
  constexpr std::size_t most_tries = 3;
  arm_build traced_build = build;
  traced_build.config = build.config.with("gate.traced_processes", std::int64_t{1}, "a single trace");
  const comparison_settings settings = settings_of(traced_build);
  if (settings.traced_processes == 0) {
    throw core::bad_input("a program without stages that runs on a CPU leaves nothing in a trace",
                          "name NVTX ranges of it: gate.stages=[…]");
  }
  const std::optional<artifacts::gpu_device> gpu = measured_gpu(build);
  run_folder folder(where.folder, plan_of(where, build, build, gpu, "one trace"), where.say);
  workload_runs runs(where, build, build, settings, folder.path());
  const auto next_of = [&](const comparison_state& state) {
    const auto is_good = [](const finished_run& run) { return !run.crash && !run.record.spoiled_by; };
    if (state.runs.size() >= most_tries || std::any_of(state.runs.begin(), state.runs.end(), is_good))
      return next_step{};
    return next_step{next_step::what::run, gate::arm::candidate, run_kind::traced, 0, {}};
  };
  drive(settings, next_of, folder, runs);
  traced_arm traced(build, folder.path(), folder.state().runs, gate::arm::candidate);
  if (traced.size() == 0) {
    const fs::path kept = folder.archive();  // another call tries anew
    throw core::step_failure(traced.absent_reason(), fmt::format("look into {}/logs", kept.string()));
  }
  exact_evidence evidence{traced.structure(settings.traced_stages()), {}};
  evidence.doubts = traced.doubts();  // which kernels have no operator is known only now
  folder.archive();
  return evidence;
}

}  // namespace profgate::ab
