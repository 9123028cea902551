#include "drive.h"

#include <fmt/format.h>

#include "core/error.h"
#include "gate/process_runs.h"

namespace profgate::ab {
namespace {

/// From the mean of the runs so far; nothing is said before there is one.
std::string remaining_text(const comparison_state& state, std::size_t runs) {
  if (runs == 0) return "";
  double seconds = 0;
  std::size_t timed = 0;
  for (const finished_run& run : state.runs) {
    if (run.kind == run_kind::traced) continue;
    seconds += run.seconds;
    timed += 1;
  }
  std::string text = fmt::format("; at most {} more run{}", runs, runs == 1 ? "" : "s");
  if (timed > 0) {
    const double left_s = seconds / static_cast<double>(timed) * static_cast<double>(runs);
    text += left_s < 90 ? fmt::format(", {:.0f} s", left_s) : fmt::format(", {:.1f} min", left_s / 60);
  }
  return text;
}

std::string kind_text(run_kind kind) {
  switch (kind) {
    case run_kind::warm_up:
      return ", warm-up";
    case run_kind::traced:
      return ", traced";
    case run_kind::counted:
      break;
  }
  return "";
}

/// "prefill 1.204 ms, decode_all 3.377 ms", by the medians of all iterations that count.
std::string times_text(const comparison_settings& settings, const finished_run& run) {
  std::string text;
  for (const std::string& stage : settings.stages) {
    const auto samples = run.record.samples_ns.find(stage);
    if (samples == run.record.samples_ns.end()) continue;
    const auto median = gate::process_median_ns(samples->second, settings.reduction);
    if (median)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", stage,
                          gate::sample_text(settings.units_of_figures, stage, *median));
  }
  return text;
}

std::string line_of(const comparison_settings& settings, const comparison_state& state,
                    const next_step& next) {
  const finished_run& run = state.runs.back();
  std::string line = fmt::format("run {} {}{}: ", run.record.slot, arm_name(run.arm), kind_text(run.kind));
  if (run.crash) {
    line += *run.crash;
  } else if (run.record.spoiled_by) {
    line += "does not count, " + *run.record.spoiled_by;
  } else {
    const std::string times = times_text(settings, run);
    line += times.empty() ? fmt::format("{:.1f} s", run.seconds) : times;
  }
  const bool more = next.todo == next_step::what::run;
  return line + (more ? remaining_text(state, next.most_runs_left) : "");
}

}  // namespace

void drive(const comparison_settings& settings, run_folder& folder, run_effects& effects) {
  const auto next_of = [&](const comparison_state& state) { return next_action(settings, state); };
  drive(settings, next_of, folder, effects);
}

void drive(const comparison_settings& settings, const step_chooser& next_of, run_folder& folder,
           run_effects& effects) {
  next_step next = next_of(folder.state());
  while (next.todo == next_step::what::run) {
    effects.now_running(fmt::format("run {} {}{}{}", folder.state().runs.size(), arm_name(next.arm),
                                    kind_text(next.kind),
                                    remaining_text(folder.state(), next.most_runs_left)));
    finished_run run = effects.run(next.arm, next.kind, folder.stem(next.arm));
    run.arm = next.arm;
    run.kind = next.kind;
    folder.add(std::move(run));
    next = next_of(folder.state());
    effects.say(line_of(settings, folder.state(), next));
  }
  if (next.todo == next_step::what::failed) {
    const finished_run& last = folder.state().runs.back();
    throw core::step_failure(
        fmt::format("the {} failed twice in a row: {}", arm_name(next.arm), next.reason),
        !last.remedy.empty()
            ? last.remedy
            : fmt::format("all it said is in {}",
                          (folder.path() / "logs" / (run_folder::stem(last.record.slot, next.arm) + ".log"))
                              .string()));
  }
}

}  // namespace profgate::ab
