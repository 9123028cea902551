#pragma once

#include "gate/decision.h"
#include "gate/plan.h"
#include "gate/process_runs.h"
#include "noise_model.h"

/// The gate, driven as a runner drives it, with made-up processes.
namespace profgate::simulation {

struct gate_result {
  gate::stage_step step;
  std::size_t runs_per_arm = 0;  ///< that counted; the discarded one of each arm comes on top
};

inline constexpr std::size_t iterations_per_process = 23;  // 20 and the 3 that are discarded

inline gate_result run_gate(const noise_sizes& noise, random_source& random, double effect) {
  const gate::reduction_rules reduction;
  const gate::decision_rules rules;
  session machine(noise, random);
  const std::uint64_t seed = random.bits();
  for (std::size_t i = 0; i < 2 * reduction.discarded_processes; ++i) machine.run_process(0, 1);
  gate::arm_pair runs;
  gate_result result;
  for (;;) {
    result.step = gate::decide(runs, rules);
    const std::size_t more = gate::needed_by_all({result.step}).candidate;
    if (more == 0) return result;
    const std::vector<gate::arm> plan = gate::interleaved_plan(seed, result.runs_per_arm + more);
    for (std::size_t slot = 2 * result.runs_per_arm; slot < plan.size(); ++slot) {
      const bool is_baseline = plan[slot] == gate::arm::baseline;
      const auto samples = machine.run_process(is_baseline ? 0 : effect, iterations_per_process);
      (is_baseline ? runs.baseline_ns : runs.candidate_ns)
          .push_back(*gate::process_median_ns(samples, reduction));
    }
    result.runs_per_arm += more;
  }
}

/// The same build against numbers of another day: eight and eight processes.
inline gate::verdict run_stored_gate(const noise_sizes& noise, random_source& random, double effect) {
  const gate::stored_rules rules;
  const gate::reduction_rules reduction;
  const auto run_arm = [&](double slower) {
    session machine(noise, random);
    machine.run_process(0, 1);
    machine.run_process(0, 1);
    std::vector<double> arm;
    for (std::size_t i = 0; i < rules.min_runs; ++i) {
      arm.push_back(*gate::process_median_ns(machine.run_process(slower, iterations_per_process), reduction));
    }
    return arm;
  };
  gate::arm_pair runs;
  runs.baseline_ns = run_arm(0);
  runs.candidate_ns = run_arm(effect);
  return *gate::decide_stored(runs, rules).final_verdict;
}

}  // namespace profgate::simulation
