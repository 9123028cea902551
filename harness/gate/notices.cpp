#include "notices.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "gate/process_runs.h"
#include "gate/rank_statistics.h"

namespace profgate::gate {
namespace {

void tell_of_figures(const run_set& candidate, judgement& judged) {
  for (const auto& [name, unit] : candidate.units_of_figures) {
    if (kind_of_unit(unit) != figure_kind::unknown) continue;
    judged.notices.push_back(
        fmt::format("{} is not judged: its unit '{}' does not say which way is better, as those of time (s, "
                    "ms, us, ns) and rates (…/s) do",
                    name, unit));
  }
}

/// How it becomes the baseline. A comparison in turns most often ends with fewer processes than a baseline
/// needs; of commands that were typed there is none.
void tell_how_to_accept(const run_set& candidate, judgement& judged) {
  if (judged.overall != verdict::improved || !candidate.identity.typed_settings_sha256.empty()) return;
  judged.notices.push_back(
      judged.is_interleaved
          ? fmt::format(
                "faster than its baseline: profgate baseline record {} measures what profgate baseline "
                "accept then makes the new one",
                judged.pair)
          : "faster than its baseline: profgate baseline accept makes this the new one");
}

/// Nobody can measure stored numbers again: whether their machine was busy then is seen only by how far its
/// processes lie apart, and a difference between such numbers may be one of machines.
void tell_of_busy_machines(const run_set& baseline, const run_set& candidate, const judge_rules& rules,
                           judgement& judged) {
  for (const stage_judgement& stage : judged.stages) {
    if (stage.which != verdict::improved && stage.which != verdict::regressed) continue;
    const auto spread = [&](const run_set& runs) {
      return spread_ratio_of(stage_medians_ns(runs, stage.stage, rules.reduction));
    };
    const double of_baseline = spread(baseline);
    const double of_candidate = spread(candidate);
    if (std::max(of_baseline, of_candidate) <= rules.stored.ratio) continue;
    const bool is_baseline = of_baseline >= of_candidate;
    judged.notices.push_back(fmt::format(
        "{}: the middle half of the {}'s processes spreads over {:.1f} % of their median, as on a busy "
        "machine (the {}'s: {:.1f} %): an A/B decides, profgate ab",
        stage.stage, is_baseline ? "baseline" : "candidate", 100 * std::max(of_baseline, of_candidate),
        is_baseline ? "candidate" : "baseline", 100 * std::min(of_baseline, of_candidate)));
  }
}

}  // namespace

void add_notices(const run_set& baseline, const run_set& candidate, const judge_rules& rules,
                 judgement& judged) {
  tell_how_to_accept(candidate, judged);
  if (judged.stages.empty()) return;
  tell_of_figures(candidate, judged);
  if (!judged.is_interleaved) {
    judged.notices.push_back(fmt::format(
        "stored numbers are of another session: only a slowdown of surely more than {:.1f} % fails",
        100 * rules.stored.ratio));
    tell_of_busy_machines(baseline, candidate, rules, judged);
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
