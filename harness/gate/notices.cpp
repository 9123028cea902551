#include "notices.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "gate/process_runs.h"

namespace profgate::gate {
namespace {

void tell_of_figures(const run_set& candidate, judgement& judged) {
  const figure_units& units = candidate.units_of_figures;
  for (const stage_judgement& stage : judged.stages) {
    if (!stage.numbers || !is_figure_of_kind(units, stage.stage, figure_kind::rate)) continue;
    judged.notices.push_back(fmt::format(
        "{} is told in {}, of which more is better: {} → {}; its times are those of a thousand", stage.stage,
        units.at(stage.stage), sample_text(units, stage.stage, stage.numbers->baseline_median_ns),
        sample_text(units, stage.stage, stage.numbers->candidate_ns())));
  }
  for (const auto& [name, unit] : units) {
    if (kind_of_unit(unit) != figure_kind::unknown) continue;
    judged.notices.push_back(
        fmt::format("{} is not judged: its unit '{}' does not say which way is better, as those of time (s, "
                    "ms, us, ns) and rates (…/s) do",
                    name, unit));
  }
}

}  // namespace

void add_notices(const run_set& candidate, const judge_rules& rules, judgement& judged) {
  if (judged.overall == verdict::improved) judged.notices.push_back(faster_notice);
  if (judged.stages.empty()) return;
  tell_of_figures(candidate, judged);
  if (!judged.is_interleaved) {
    judged.notices.push_back(fmt::format(
        "stored numbers are of another session: only a slowdown of surely more than {:.1f} % fails",
        100 * rules.stored.ratio));
    return;
  }
  const bool is_on_gpu = !candidate.identity.device_uuid.empty();
  if (is_on_gpu) return;
  judged.notices.push_back("on a CPU neither clocks nor throttling nor other processes can be watched");
  const bool is_attributed = std::any_of(judged.stages.begin(), judged.stages.end(),
                                         [](const auto& stage) { return stage.attributed.has_value(); });
  if (is_attributed)
    judged.notices.push_back("on a CPU there are no kernels: the operators' ranges take their place");
}

void tell_of_discarded_runs(const run_set& baseline, const run_set& candidate, const judge_rules& rules,
                            judgement& judged) {
  std::vector<const process_record*> discarded = discarded_processes(candidate);
  if (judged.is_interleaved) {
    const std::vector<const process_record*> others = discarded_processes(baseline);
    discarded.insert(discarded.end(), others.begin(), others.end());
  }
  judged.discarded_runs = discarded.size();
  std::set<std::string> spoilers;
  for (const process_record* process : discarded) spoilers.insert(*process->spoiled_by);
  for (const std::string& spoiler : spoilers) judged.warnings.push_back("runs were discarded: " + spoiler);
  if (judged.is_interleaved && discarded.size() > rules.interleaved.most_repetitions) {
    judged.warnings.push_back(fmt::format(
        "after {} discarded runs no more were repeated: what survived was judged", discarded.size()));
  }
}

}  // namespace profgate::gate
