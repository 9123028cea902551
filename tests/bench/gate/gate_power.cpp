// Prints how often each rule alarms when nothing changed and when something did, in four kinds of noise:
// bench_gate_power [trials for false alarms = 200000] [trials for power = 20000]. Fixed seeds: the same table
// on every machine.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>

#include "hunter.h"
#include "peers.h"
#include "simulated_gate.h"

namespace {

using namespace profgate;
using namespace profgate::simulation;

const std::vector<double> slowdowns{0.02, 0.03, 0.05, 0.10};

/// Percent of trials.
double rate(std::size_t trials, std::uint64_t seed, const std::function<bool(random_source&)>& alarms) {
  std::size_t hits = 0;
  for (std::size_t i = 0; i < trials; ++i) {
    random_source random(seed * 1'000'003 + i);
    hits += alarms(random) ? 1 : 0;
  }
  return 100 * static_cast<double>(hits) / static_cast<double>(trials);
}

struct rule {
  const char* name;
  std::function<bool(const noise_sizes&, random_source&, double effect)> alarms;
  bool is_rare = false;  ///< its false alarms take many trials to see
};

void print_runs(const noise_sizes& noise, double slowdown, std::size_t trials) {
  std::map<std::string, std::size_t> verdicts;
  double runs = 0;
  for (std::size_t i = 0; i < trials; ++i) {
    random_source random(7'000'003 + i);
    const gate_result result = run_gate(noise, random, gate::to_log(slowdown));
    verdicts[gate::to_text(*result.step.final_verdict)] += 1;
    runs += static_cast<double>(result.runs_per_arm);
  }
  fmt::print("{:9} {:5.2f} runs an arm;", noise.name, runs / static_cast<double>(trials));
  for (const auto& [name, count] : verdicts) {
    fmt::print(" {} {:.3f} %", name, 100 * static_cast<double>(count) / static_cast<double>(trials));
  }
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t null_trials = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 200'000;
  const std::size_t power_trials = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 20'000;
  const std::vector<rule> rules{
      {"google-benchmark's U test", google_benchmark_alarms},
      {"nvbench compare", nvbench_alarms},
      {"Conbench, pairwise 5 %", conbench_alarms},
      {"Hunter, 20 + 10 commits", hunter_alarms},
      {"this gate, stored numbers",
       [](const noise_sizes& noise, random_source& random, double effect) {
         return run_stored_gate(noise, random, effect) == gate::verdict::regressed;
       },
       true},
      {"this gate, interleaved",
       [](const noise_sizes& noise, random_source& random, double effect) {
         return run_gate(noise, random, effect).step.final_verdict == gate::verdict::regressed;
       },
       true},
  };
  fmt::print("Alarms in percent of comparisons ({} trials each; {} of this gate where nothing changed)\n",
             power_trials, null_trials);
  fmt::print("{:9} {:27} {:>9} {:>7} {:>7} {:>7} {:>7}\n", "noise", "rule", "unchanged", "+2 %", "+3 %",
             "+5 %", "+10 %");
  for (const noise_sizes& noise : scenarios()) {
    for (const rule& rule : rules) {
      fmt::print("{:9} {:27} {:9.4f}", noise.name, rule.name,
                 rate(rule.is_rare ? null_trials : power_trials, 1,
                      [&](random_source& random) { return rule.alarms(noise, random, 0); }));
      for (const double slowdown : slowdowns) {
        fmt::print(" {:7.2f}", rate(power_trials, 2, [&](random_source& random) {
                     return rule.alarms(noise, random, gate::to_log(slowdown));
                   }));
      }
      fmt::print("\n");
      std::fflush(stdout);
    }
  }
  for (const double slowdown : {0.0, 0.05, 0.10}) {
    fmt::print("\nThis gate, interleaved, +{:.0f} % (one discarded run of each arm comes on top)\n",
               100 * slowdown);
    for (const noise_sizes& noise : scenarios()) print_runs(noise, slowdown, power_trials);
  }
}
