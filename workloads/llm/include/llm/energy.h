#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "llm/reading.h"

/// The energy of stages that are too short for the driver's counter: they are repeated, outside of what is
/// timed, until it is known well enough.
namespace profgate::llm {

constexpr double wanted_energy_ratio = 0.05;  ///< how far off a figure of ours may be

/// The driver renews its power and energy readings only this often (seen on an H200): until then they are of
/// what ran before.
constexpr std::int64_t counter_renewal_ns = 100'000'000;

/// The driver's counter and a clock; a test brings its own.
struct energy_meter {
  std::function<reading<unsigned long long>()> counter_mj;
  std::function<std::int64_t()> clock_ns;
};

/// What some runs of a stage took together.
struct repeated_energy {
  double energy_j = 0;
  std::int64_t runs_count = 0;
  double uncertainty_ratio = 0;
  std::int64_t runs_ns = 0;  ///< without a pause in between they slow down: each is longer than a timed one

  double run_j() const { return energy_j / static_cast<double>(runs_count); }
  double run_uncertainty_j() const { return run_j() * uncertainty_ratio; }
};

/// Runs `run` until `is_enough` of what is known so far, or for limit_ns. It begins and ends with a renewal
/// of the counter, each seen after the run in which it happened: so both ends are off by a run at most, and
/// by a renewal where runs are longer. `what` is run, for the reason where that is not enough.
reading<repeated_energy> measure_energy(const energy_meter& meter, const std::function<void()>& run,
                                        const std::function<bool(const repeated_energy&)>& is_enough,
                                        std::int64_t limit_ns, const std::string& what);

struct stage_energies {
  reading<repeated_energy> prefill = reading<repeated_energy>::absent("it was not measured");
  reading<repeated_energy> decode_all = prefill;
};

/// Both stages to wanted_energy_ratio, each in limit_ns at most. A decode cannot be repeated without its
/// prefill, so it is what both take together less the prefill.
stage_energies measure_stage_energies(const energy_meter& meter, const std::function<void()>& prefill,
                                      const std::function<void()>& prefill_and_decode, std::int64_t limit_ns);

}  // namespace profgate::llm
