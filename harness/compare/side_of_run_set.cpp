#include <fmt/format.h>

#include <algorithm>

#include "compare/profile_comparison.h"
#include "core/kernel_names.h"
#include "core/stage_names.h"
#include "gate/figure_units.h"
#include "gate/process_runs.h"
#include "gate/rank_statistics.h"

namespace profgate::compare {
namespace {

using analysis::measured;

/// Means over the occurrences of the stage in the traced processes, as its time is one's. Copies are no
/// kernels, nor are the ranges that stand for them on a CPU.
std::vector<side_kernel> kernels_of(const gate::run_set& runs, const std::string& stage) {
  std::map<std::pair<std::string, std::string>, side_kernel> sums;
  double occurrences = 0;
  bool has_shares = true;
  for (const auto& traced : runs.traces) {
    const auto found = traced.find(stage);
    if (found == traced.end()) continue;
    // Before their times were kept, a process had one.
    occurrences += found->second.times ? static_cast<double>(found->second.times->occurrences) : 1;
    for (const analysis::operation_sum& aggregate : found->second.operations) {
      if (aggregate.category == "copy" || aggregate.category == "host") continue;
      side_kernel& sum = sums[{aggregate.name, aggregate.operator_path}];
      sum.name = aggregate.name;
      sum.path =
          aggregate.operator_path.substr(aggregate.operator_path.rfind('/') + 1);  // as profiles name it
      sum.category = aggregate.category;
      sum.launches += static_cast<double>(aggregate.launches);
      sum.total_ns += static_cast<double>(aggregate.total_ns);
      has_shares = has_shares && found->second.times.has_value();
      sum.exclusive_ns = sum.exclusive_ns.value_or(0) + static_cast<double>(aggregate.exclusive_units) /
                                                            static_cast<double>(analysis::units_per_ns);
    }
  }
  std::vector<side_kernel> kernels;
  for (auto& [key, sum] : sums) {
    sum.launches /= occurrences;
    sum.total_ns /= occurrences;
    *sum.exclusive_ns /= occurrences;
    if (!has_shares) sum.exclusive_ns.reset();  // of schema 1.0
    kernels.push_back(std::move(sum));
  }
  return kernels;
}

/// On a CPU: the ranges in their own time, by name. What a trace holds of them are stretches, several where
/// others interrupt one; how often each was called the structure tells.
std::vector<side_operator> operators_of(const gate::run_set& runs, const std::string& stage) {
  const std::string outside = analysis::outside_of_operators(stage);
  std::map<std::string, side_operator> sums;
  double occurrences = 0;
  for (const auto& traced : runs.traces) {
    const auto found = traced.find(stage);
    if (found == traced.end()) continue;
    occurrences += found->second.times ? static_cast<double>(found->second.times->occurrences) : 1;
    for (const analysis::operation_sum& range : found->second.operations) {
      if (range.category != "host" || range.name == outside) continue;
      side_operator& sum = sums[range.name];
      sum.name = range.name;
      sum.time_ns += static_cast<double>(range.exclusive_units) / static_cast<double>(analysis::units_per_ns);
    }
  }
  const auto structure = runs.structure.find(stage);
  if (structure != runs.structure.end()) {
    for (const auto& [called, count] : structure->second.calls) {
      const auto sum = sums.find(called.first);
      if (sum != sums.end()) sum->second.calls = sum->second.calls.value_or(0) + static_cast<double>(count);
    }
  }
  std::vector<side_operator> operators;
  for (auto& [name, sum] : sums) {
    sum.time_ns /= occurrences;
    operators.push_back(std::move(sum));
  }
  return operators;
}

std::vector<side_kernel> by_category(const std::vector<side_kernel>& kernels) {
  std::map<std::string, side_kernel> sums;
  for (const side_kernel& kernel : kernels) {
    side_kernel& sum = sums[kernel.category];
    sum.name = sum.category = kernel.category;
    sum.launches += kernel.launches;
    sum.total_ns += kernel.total_ns;
    if (kernel.exclusive_ns) sum.exclusive_ns = sum.exclusive_ns.value_or(0) + *kernel.exclusive_ns;
  }
  std::vector<side_kernel> categories;
  for (auto& [name, sum] : sums) categories.push_back(std::move(sum));
  return categories;
}

/// By whole processes, so they are facts of the side and no figures of a stage.
void add_conditions(const gate::run_set& runs, compared_side& side) {
  const auto add = [&](const char* name, std::optional<double> gate::run_conditions::*value, int decimals) {
    std::vector<double> values;
    for (const gate::process_record* process : gate::counted_processes(runs))
      if (process->conditions.*value) values.push_back(*(process->conditions.*value));
    if (!values.empty()) side.facts[name] = fmt::format("{:.{}f}", gate::median_of(values), decimals);
  };
  add("processes.sm_clock_median_mhz", &gate::run_conditions::sm_clock_mhz, 0);
  add("processes.temperature_median_c", &gate::run_conditions::temperature_c, 0);
  add("processes.power_median_w", &gate::run_conditions::power_w, 0);
}

side_stage stage_of(const gate::run_set& runs, const std::string& name) {
  side_stage stage;
  stage.name = name;
  for (const figure_row& row : stage_figure_rows())
    stage.figures[row.key] = measured<double>::absent("a run set does not keep it");
  const std::vector<double> medians = gate::stage_medians_ns(runs, name, gate::reduction_for(runs));
  if (medians.empty()) {
    stage.figures["/bare/median_ns"] = measured<double>::absent("no process of the run set is left");
  } else {
    stage.figures["/bare/median_ns"] = gate::median_of(medians);
    stage.figures["/bare/min_ns"] = *std::min_element(medians.begin(), medians.end());
    stage.figures["/bare/max_ns"] = *std::max_element(medians.begin(), medians.end());
    stage.samples_ns = medians;
    stage.figures["/bare/samples_count"] = static_cast<double>(medians.size());
  }
  const auto structure = runs.structure.find(name);
  stage.operators = operators_of(runs, name);
  if (!stage.operators.empty()) stage.operator_time = "on the host";
  const bool is_told = structure != runs.structure.end() && structure->second.launches;
  const bool has_structure = is_told || (structure != runs.structure.end() && !stage.operators.empty());
  if (has_structure && name == core::decode_all_stage && structure->second.tokens > 1)
    stage.tokens = static_cast<double>(structure->second.tokens);
  if (is_told && stage.tokens) {
    stage.figures["/launches_per_token_count"] =
        static_cast<double>(*structure->second.launches) / static_cast<double>(structure->second.tokens);
  }
  if (const auto use = runs.experts.find(name); use != runs.experts.end()) {
    stage.figures["/experts/worst_imbalance_ratio"] = use->second.worst_layer().imbalance();
    stage.figures["/experts/median_imbalance_ratio"] = use->second.median_imbalance();
  }
  stage.kernels = kernels_of(runs, name);
  stage.categories = by_category(stage.kernels);
  if (stage.kernels.empty()) {
    stage.kernels_absent_reason = !stage.operators.empty() ? "the device is a CPU, which has no kernels"
                                  : runs.traces.empty()    ? "the run set holds no traced process"
                                                           : "the run set's traces hold no kernels of it";
  }
  return stage;
}

/// A rate is kept as a time that nobody spent (gate/figure_units.h): it is no stage. Nothing where no process
/// of it is left.
std::optional<told_figure> rate_of(const gate::run_set& runs, const std::string& name) {
  const std::vector<double> medians = gate::stage_medians_ns(runs, name, gate::reduction_for(runs));
  if (medians.empty()) return std::nullopt;
  told_figure told{name, runs.units_of_figures.at(name), gate::rate_of_sample(gate::median_of(medians)), {}};
  for (const double sample_ns : medians) told.samples.push_back(gate::rate_of_sample(sample_ns));
  return told;
}

}  // namespace

compared_side side_of_run_set(const gate::run_set& runs, const std::string& name) {
  const gate::build_identity& identity = runs.identity;
  compared_side side;
  side.name = name;
  side.source = "run set";
  side.pair = identity.pair;
  side.model = identity.model;
  side.config = identity.pair.substr(identity.pair.rfind('.') + 1);
  side.device_name = identity.device_name;
  side.commit = identity.commit;
  side.created_utc = runs.created_utc;
  side.facts = {{"run.pair", identity.pair},
                {"model.device_name", identity.device_name},
                {"git.commit", identity.commit.empty() ? "not recorded" : identity.commit},
                {"git.dirty", identity.is_dirty ? "true" : "false"},
                {"build.profgate_version", identity.profgate_version},
                {"host.host_name", identity.host},
                {"gpu.0.uuid", identity.device_uuid}};
  for (const auto& [what, version] : identity.versions) side.facts["version." + what] = version;
  add_conditions(runs, side);
  std::map<std::string, bool> stages;
  for (const gate::process_record& process : runs.processes)
    for (const auto& [stage, samples] : process.samples_ns) stages[stage] = true;
  // prefill comes before decode, in the order of time and not of the alphabet
  std::vector<std::string> order;
  for (const auto& [stage, present] : stages) order.push_back(stage);
  std::stable_sort(order.begin(), order.end(), [](const std::string& a, const std::string& b) {
    return (a == core::prefill_stage) > (b == core::prefill_stage);
  });
  for (const std::string& stage : order) {
    if (gate::is_figure_of_kind(runs.units_of_figures, stage, gate::figure_kind::rate)) {
      if (const auto told = rate_of(runs, stage)) side.told.push_back(*told);
    } else {
      side.stages.push_back(stage_of(runs, stage));
    }
  }
  for (const figure_row& row : run_figure_rows())
    side.figures[row.key] = measured<double>::absent("a run set does not keep it");
  return side;
}

}  // namespace profgate::compare
