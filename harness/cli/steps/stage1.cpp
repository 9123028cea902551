#include <fmt/format.h>

#include <algorithm>

#include "analysis/bare_run.h"
#include "artifacts/files.h"
#include "artifacts/gpu_choice.h"
#include "measuring_turn.h"
#include "parsers/workload_result.h"
#include "requirements.h"
#include "runs/run_reader.h"
#include "steps/run_command.h"
#include "steps/step.h"
#include "workload/contract.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

/// The workload times itself and says so in its result.
void measure_by_contract(step_context& context, const fs::path& folder) {
  const fs::path result_file = folder / "result.json";
  const fs::path log_file = folder / "log.txt";
  step_command bare;
  bare.command.argv = workload_argv(context, "bench", result_file);
  bare.command.working_directory = context.manifest.working_directory;
  bare.what = "the bare workload";
  bare.log_file = log_file;
  workload::require_good_end(run_command(context, bare), log_file);
  if (!fs::exists(result_file)) {
    throw core::step_failure(
        fmt::format("the workload ended well but wrote no {}", result_file.string()),
        "let it write its result JSON to the path given as {result} (workloads/README.md)");
  }
  const core::workload_result result = parsers::read_workload_result(result_file);
  if (context.config.text("workload.device") == "cuda") {
    const core::measured<artifacts::gpu_device> gpu = artifacts::chosen_gpu(artifacts::gather_gpu_facts());
    if (gpu) artifacts::require_chosen_gpu(*gpu, result.pci_bus_id);
  }
  for (const std::string& stage : context.config.list("workload.stages")) {
    if (!result.samples_ns.contains(stage)) {
      throw core::step_failure(fmt::format("{} has no samples of stage '{}'", result_file.string(), stage),
                               "let the workload time it, or take it out of workload.stages");
    }
  }
}

/// A program that knows nothing of profgate: all that can be timed without a tool is the whole process.
void measure_whole_process(step_context& context, const fs::path& folder) {
  const fs::path log_file = folder / "log.txt";
  const std::int64_t warmup = context.config.integer("stage1.warmup");
  const std::int64_t repetitions = context.config.integer("stage1.repetitions");
  std::vector<std::int64_t> wall_ns;
  for (std::int64_t i = 0; i < warmup + repetitions; ++i) {
    step_command bare;
    bare.command.argv = workload_argv(context, "bench", {});
    bare.command.working_directory = context.manifest.working_directory;
    bare.what = fmt::format("the bare program, {} of {}", i + 1, warmup + repetitions);
    bare.log_file = log_file;
    const process::outcome outcome = run_command(context, bare);
    workload::require_good_end(outcome, log_file);
    if (i >= warmup) wall_ns.push_back(outcome.wall_ns);
  }
  runs::write_process_samples(folder / "process_samples.json", wall_ns);
}

}  // namespace

void run_stage1(step_context& context) {
  const fs::path folder = context.run_dir / "stage1";
  context.status.tool = fs::path(context.manifest.command.front()).filename().string();
  const measuring_turn turn(context.display);
  try {
    if (context.manifest.command_has_placeholders) {
      measure_by_contract(context, folder);
    } else {
      measure_whole_process(context, folder);
    }
  } catch (const core::not_possible& cannot) {  // so the workload says
    if (context.config.text("workload.device") != "cuda") throw;
    skip_unless_required(require_gpu_word, cannot.what(), cannot.remedy());
  }
  artifacts::write_file_atomically(
      folder / "metrics.json",
      analysis::stage1_metrics_json(runs::run_reader(context.run_dir, context.config).bare()));
}

}  // namespace profgate::cli
