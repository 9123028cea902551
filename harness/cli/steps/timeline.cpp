#include <fmt/format.h>
#include <fmt/ranges.h>

#include "profilers/capture.h"
#include "runs/run_reader.h"
#include "steps/run_command.h"
#include "steps/step.h"
#include "tool_runner.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

std::vector<profilers::range_name> ranges_of(const config::resolved& config) {
  std::vector<profilers::range_name> ranges;
  for (const std::string& stage : runs::stages_gate_first(config))
    ranges.push_back({stage, config.text("workload.nvtx_domain")});
  return ranges;
}

profilers::capture_request request_of(step_context& context) {
  const config::resolved& config = context.config;
  const fs::path folder = context.run_dir / "nsys";
  profilers::capture_request request;
  request.workload = workload_argv(context, "profile", folder / "result.json");
  request.output_folder = folder;
  request.log_file = folder / "log.txt";
  request.deadline_ms = config.integer("run.step_timeout_s") * 1000;
  request.ranges = ranges_of(config);
  request.is_gated = config.boolean("nsys.gating_nvtx");
  request.collector_library = context.parts.collector_library;
  request.collector_max_bytes = static_cast<std::uint64_t>(config.integer("collector.max_bytes"));
  request.nsys.trace = fmt::format("{}", fmt::join(config.list("nsys.trace"), ","));
  request.nsys.sample = config.text("nsys.sample");
  request.nsys.cpu_context_switches = config.text("nsys.cpuctxsw");
  request.nsys.cuda_graph_trace = config.text("nsys.cuda_graph_trace");
  request.say = [&context](const std::string& line) { context.display.note(line); };
  return request;
}

/// nsys where it is wanted and there; a missing one is no failure unless it was asked for by name.
std::optional<profilers::nsys_installation> usable_nsys(step_context& context) {
  const std::string wanted = context.config.text("timeline");
  if (wanted == "embedded") return std::nullopt;
  const profilers::tool_environment environment = profilers::tool_environment::of_this_process();
  const profilers::tool_location found = profilers::find_nsys(environment);
  if (found.executable) return profilers::inspect_nsys(*found.executable, environment, plain_tool_runner());
  if (wanted == "nsys") {
    throw core::not_possible(found.reason, "install Nsight Systems, set PROFGATE_NSYS, or use timeline=auto");
  }
  context.status.notes.push_back(
      fmt::format("the embedded collector recorded the timeline: {}", found.reason));
  return std::nullopt;
}

}  // namespace

void run_timeline(step_context& context) {
  if (context.config.text("timeline") == "none") {
    throw core::not_possible("timeline=none was asked for", "set timeline=auto");
  }
  const profilers::command_runner run = step_tool_runner(context);
  const std::optional<profilers::nsys_installation> nsys = usable_nsys(context);
  const profilers::capture_request request = request_of(context);
  const profilers::capture_result result =
      nsys ? profilers::capture_with_nsys(request, *nsys, run) : profilers::capture_embedded(request, run);
  context.status.tool = result.tool;
  context.status.tool_version = result.version;
  context.status.notes.insert(context.status.notes.end(), result.notes.begin(), result.notes.end());
}

}  // namespace profgate::cli
