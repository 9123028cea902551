#include "analysis/counters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/counter_metrics.h"
#include "analysis/findings.h"
#include "artifacts/files.h"
#include "core/escape.h"
#include "core/units.h"
#include "machine.h"
#include "measuring_turn.h"
#include "profilers/backends.h"
#include "requirements.h"
#include "runs/run_reader.h"
#include "runs/stage_traces.h"
#include "steps/counter_plan.h"
#include "steps/run_command.h"
#include "steps/step.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

struct chosen_counters {
  const profilers::counter_backend& backend;
  fs::path executable;
};

/// The first that is there.
chosen_counters choose_counters(step_context& context, const profilers::machine& here) {
  std::vector<std::string> reasons;
  std::string remedy;  // of the one that is preferred
  for (const profilers::counter_backend& backend : profilers::counter_backends()) {
    const profilers::tool_location found = backend.tool.find(here.environment);
    if (!found.executable) {
      reasons.push_back(found.reason);
      if (remedy.empty()) remedy = backend.tool.remedy;
      continue;
    }
    context.status.tool = backend.tool.name;
    context.status.tool_version = backend.tool.version(*found.executable, here.ask);
    backend.require_access(here);
    return {backend, *found.executable};
  }
  throw core::not_possible(fmt::format("{}", fmt::join(reasons, "; ")), remedy);
}

/// The run's configuration with what must differ under ncu; it stays in the bundle.
fs::path write_config(step_context& context, const memory_plan& memory) {
  config::resolved config = context.config.with("workload.cuda_graphs", false,
                                                "the counters step: kernels of a graph have no operators");
  if (memory.prompt_tokens) {
    config = config.with("workload.prompt_tokens", *memory.prompt_tokens, "ncu.reduced_prompt_tokens");
  }
  const fs::path file = context.run_dir / "ncu" / "config.yaml";
  artifacts::write_file_atomically(file, config.to_yaml());
  return file;
}

/// Whether what was counted is what the timeline saw, by name, grid and block.
void note_agreement(const analysis::run_figures& figures, std::vector<std::string>& notes) {
  for (const analysis::stage_figures& stage : figures.stages) {
    if (!stage.counters) continue;
    const analysis::stage_counters& counters = *stage.counters;
    if (counters.coverage_ratio) {
      notes.push_back(
          fmt::format("{}: {}; they make up {} of its GPU time", stage.bare.name,
                      counted_in_words(counters, stage.traced ? stage.traced->kernels
                                                              : std::vector<core::kernel_record>{}),
                      core::format_percent(*counters.coverage_ratio)));
    }
    if (counters.unmatched_launches == 0 || !stage.traced || stage.traced->kernel_groups.empty()) continue;
    for (const analysis::counted_kernel& kernel : counters.kernels) {
      if (kernel.is_in_timeline) continue;
      notes.push_back(
          fmt::format("{}: the timeline has no launch of {} with this grid ({}, {}, {}); was the workload "
                      "another without CUDA graphs?",
                      stage.bare.name, core::shorten_middle(kernel.group.kernel_name, 120),
                      kernel.group.grid[0], kernel.group.grid[1], kernel.group.grid[2]));
    }
  }
}

void count_kernels(step_context& context) {
  const profilers::machine here = this_machine(context.parts.collector_library);
  const chosen_counters chosen = choose_counters(context, here);
  const fs::path folder = context.run_dir / "ncu";
  std::vector<std::string>& notes = context.status.notes;

  runs::run_reader run(context.run_dir, context.config);
  analysis::run_facts facts = run.facts();
  const counter_plan plan = plan_counters(context.config, facts, analysis::analyze_run(facts));
  const memory_plan memory = plan_memory(context.config, facts.bare.bench, gpu_memory_bytes(facts.env_json));
  notes.insert(notes.end(), plan.notes.begin(), plan.notes.end());
  if (!memory.note.empty()) notes.push_back(memory.note);
  artifacts::write_file_atomically(folder / "selection.json",
                                   analysis::selection_json(plan.stages, plan.selection, notes));

  profilers::counters_request request;
  request.workload = workload_argv(context, "profile", folder / "result.json", write_config(context, memory));
  request.set_environment = adapter_environment_of(context, workload::adapter_mode::traced, folder);
  request.output_folder = folder;
  request.log_file = folder / "log.txt";
  request.deadline_ms = context.config.integer("run.step_timeout_s") * 1000;
  request.sessions = plan.sessions;
  request.columns = analysis::needed_metrics();
  const profilers::command_runner run_tool = step_tool_runner(context);
  const measuring_turn turn(context.display);
  context.waited = turn.waited();
  const profilers::counters_result result =
      chosen.backend.capture(request, {here, chosen.executable, context.config, run_tool});
  notes.insert(notes.end(), result.notes.begin(), result.notes.end());
  note_adapter(context, folder);

  facts.counters = runs::counted(result.launches, context.config, chosen.backend.conditions(context.config),
                                 facts.captures);
  note_agreement(analysis::analyze_run(facts), notes);
}

/// A pair that was registered for the CPU by mistake is told so: its kernels are in the timeline.
[[noreturn]] void refuse_cpu(const step_context& context) {
  const analysis::run_facts facts = runs::run_reader(context.run_dir, context.config).facts();
  const bool has_kernels =
      std::any_of(facts.captures.begin(), facts.captures.end(),
                  [](const analysis::capture& each) { return !each.timeline.kernels.empty(); });
  if (!has_kernels)
    throw core::not_possible("the workload runs on the CPU: there are no kernels to count", "");
  throw core::not_possible(
      fmt::format("{} says that the workload runs on the CPU, yet the timeline holds kernels of a GPU",
                  context.config.origin("workload.device")),
      "give the pair a configuration with `device: cuda`, such as CONFIGS gpu");
}

}  // namespace

void run_counters(step_context& context) {
  if (context.config.text("workload.device") == "cpu") refuse_cpu(context);
  try {
    count_kernels(context);
  } catch (const core::not_possible& missing) {  // ncu, or the right to use it
    skip_unless_required(require_ncu_word, missing.what(), missing.remedy());
  }
}

}  // namespace profgate::cli
