#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/expression.h"
#include "core/stage_names.h"
#include "machine.h"
#include "measuring_turn.h"
#include "parsers/adapter_report.h"
#include "profilers/backends.h"
#include "requirements.h"
#include "runs/process_samples.h"
#include "runs/run_settings.h"
#include "runs/unfitted_stages.h"
#include "steps/run_command.h"
#include "steps/step.h"
#include "workload/server_settings.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

struct stage_range {
  std::string stage;
  profilers::range_name range;
};

/// Those that the trace must hold: a whole process has none, a stage whose times the program tells itself
/// need not have one, and which of an expression's or an adapter's there are nobody knows.
std::vector<stage_range> ranges_of(const config::resolved& config) {
  const std::vector<analysis::stage_rule> rules = runs::stage_rules_of(config);
  const std::vector<std::string> told = config.list("workload.figures");
  const bool opens_stages =
      config::has_adapter(config) && !config.boolean("nsys.gating_nvtx");  // a gate must be named
  std::vector<stage_range> ranges;
  for (const std::string& stage : runs::stages_gate_first(config)) {
    const auto rule = std::find_if(rules.begin(), rules.end(),
                                   [&](const analysis::stage_rule& each) { return each.name == stage; });
    const bool is_told = std::find(told.begin(), told.end(), stage) != told.end();
    if (is_told || stage == core::whole_process_stage || core::has_expression_characters(rule->range) ||
        (opens_stages && parsers::is_adapter_stage(rule->range)))
      continue;
    ranges.push_back({stage, {rule->range, rule->domain.value_or(profilers::any_domain)}});
  }
  return ranges;
}

/// What the unprofiled run went through; empty where the program times itself.
runs::process_samples unprofiled_samples(const step_context& context) {
  return runs::read_process_samples(context.run_dir / "stage1" / "process_samples.json");
}

profilers::capture_request request_of(step_context& context) {
  const config::resolved& config = context.config;
  const fs::path folder = context.run_dir / "nsys";
  profilers::capture_request request;
  request.workload = workload_argv(context, "profile", folder / "result.json");
  request.set_environment = adapter_environment_of(context, workload::adapter_mode::traced, folder);
  request.output_folder = folder;
  request.log_file = folder / "log.txt";
  request.deadline_ms = config.integer("run.step_timeout_s") * 1000;
  const runs::process_samples unprofiled = unprofiled_samples(context);
  for (const stage_range& each : ranges_of(config)) {
    request.ranges.push_back(each.range);
    if (unprofiled.stages_ns.contains(each.stage)) request.opened_unprofiled.push_back(each.range);
  }
  request.is_gated = config.boolean("nsys.gating_nvtx");
  if (!config.is_null("workload.profile_range")) {
    const std::string domain = config.text("workload.nvtx_domain");
    request.around_all = {config.text("workload.profile_range"),
                          domain == "any" ? profilers::any_domain : domain};
  }
  const auto unprofiled_step = artifacts::read_status(context.run_dir, "stage1");
  request.leaves_processes = unprofiled_step && unprofiled_step->left_processes;
  request.is_server = workload::is_server(config);
  request.collector_library = context.parts.collector_library;
  request.say = [&context](const std::string& line) { context.display.note(line); };
  return request;
}

struct chosen_backend {
  const profilers::timeline_backend& backend;
  fs::path executable;  ///< empty: a part of profgate
};

/// The one that is wanted, or the first that is there; a missing one is no failure unless it was asked for by
/// name.
chosen_backend choose_backend(step_context& context, const profilers::tool_environment& environment) {
  const std::string wanted = context.config.text("timeline");
  std::vector<std::string> reasons;  // of those before it
  for (const profilers::timeline_backend& backend : profilers::timeline_backends()) {
    const profilers::profiler& tool = backend.tool;
    if (wanted != "auto" && wanted != tool.name) continue;
    const profilers::tool_location found =
        tool.find == nullptr ? profilers::tool_location{fs::path(), "", ""} : tool.find(environment);
    if (found.executable) {
      if (!reasons.empty()) {
        context.status.notes.push_back(fmt::format("{} records the timeline in place of nsys: {}", tool.title,
                                                   fmt::join(reasons, "; ")));
      }
      return {backend, *found.executable};
    }
    if (wanted != "auto") {
      skip_unless_required(std::string(tool.name), found.reason,
                           fmt::format("{}, or use timeline=auto", tool.remedy));
    }
    // The next one would do, but not for somebody who requires this one.
    if (required_here().contains(std::string(tool.name)))
      skip_unless_required(std::string(tool.name), found.reason, std::string(tool.remedy));
    reasons.push_back(found.reason);
  }
  throw core::not_possible(fmt::format("{}", fmt::join(reasons, "; ")),
                           "`profgate doctor` tells what is missing");
}

/// Says where the name of a range that never opened was given, and the whole setting as it was meant.
[[noreturn]] void refuse_range(const config::resolved& config, const profilers::absent_range& absent) {
  const std::string& name = absent.wanted().range;
  std::string remedy = absent.remedy();
  std::vector<config::record> stages = config.records("workload.stages");
  for (config::record& stage : stages) {
    std::string& range = stage.contains("range") ? stage["range"] : stage["name"];
    if (range != name) continue;
    const std::string& origin = config.origin("workload.stages");
    if (absent.meant()) {
      range = *absent.meant();
      const std::string name_now = stage.at("name");
      bool is_repeated = false;
      std::erase_if(stages, [&](const config::record& each) {
        return each.at("name") == name_now && std::exchange(is_repeated, true);
      });
      const auto all = config.with("workload.stages", stages, origin).record_lines("workload.stages");
      remedy = fmt::format("did you mean workload.stages=[{}]?", fmt::join(all, ", "));
    }
    throw core::bad_input(origin, 0, absent.what(), remedy);
  }
  throw core::bad_input(config.origin("workload.profile_range"), 0, absent.what(), remedy);
}

std::string times_in_words(const std::string& stage, const runs::process_samples& unprofiled) {
  const std::size_t times = unprofiled.stages_ns.at(stage).size();
  const std::size_t processes = unprofiled.wall_ns.size();
  const std::string runs =
      processes > 1 ? fmt::format("the {} unprofiled runs", processes) : std::string("the unprofiled run");
  return fmt::format("{} went through it {}", runs, times == 1 ? "once" : fmt::format("{} times", times));
}

/// A trace of the other stages is worth keeping; one of none is not.
void tell_unseen_stages(step_context& context, const std::vector<profilers::range_name>& unseen) {
  if (unseen.empty()) return;
  const runs::process_samples unprofiled = unprofiled_samples(context);
  const bool sees_forks = context.config.boolean("nsys.trace_forks");
  const std::string why =
      fmt::format("{}it loses what a process recorded last that ends by _exit() or a signal",
                  sees_forks ? "" : "it does not follow children that fork without exec, and ");
  const std::string who_does =
      sees_forks ? "timeline=embedded keeps it"
                 : "timeline=embedded sees both; for the children alone nsys.trace_forks=true does";
  std::vector<std::string> stages = context.config.list("workload.stages");
  for (const stage_range& each : ranges_of(context.config)) {
    if (std::find(unseen.begin(), unseen.end(), each.range) == unseen.end()) continue;
    std::erase(stages, each.stage);
    const std::string what = fmt::format("{} is not in the trace: {}, nsys's trace has none: {}",
                                         runs::stage_in_words(context.config, each.stage),
                                         times_in_words(each.stage, unprofiled), why);
    if (stages.empty()) throw core::step_failure(what, who_does);
    context.status.notes.push_back(fmt::format("{}; {}", what, who_does));
  }
}

}  // namespace

void run_timeline(step_context& context) {
  if (context.config.text("timeline") == "none") {
    throw core::not_possible("timeline=none was asked for", "set timeline=auto");
  }
  const profilers::command_runner run = step_tool_runner(context);
  const profilers::machine here = this_machine(context.parts.collector_library);
  const chosen_backend chosen = choose_backend(context, here.environment);
  const measuring_turn turn(context.display);
  context.waited = turn.waited();
  const profilers::capture_request request = request_of(context);
  profilers::capture_result result;
  try {
    result = chosen.backend.capture(request, {here, chosen.executable, context.config, run});
  } catch (const profilers::absent_range& absent) {
    refuse_range(context.config, absent);
  }
  tell_unseen_stages(context, result.unseen);
  note_adapter(context, request.output_folder);
  context.status.tool = result.tool;
  context.status.tool_version = result.version;
  context.status.notes.insert(context.status.notes.end(), result.notes.begin(), result.notes.end());
  context.quiet_notes = result.quiet_notes;
}

}  // namespace profgate::cli
