#include "llm/energy.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

namespace profgate::llm {
namespace {

using energy_reading = reading<repeated_energy>;

constexpr double joules_per_mj = 1e-3;
constexpr double ns_per_s = 1e9;
/// Power rises when work begins, and what the driver knows of it comes later.
constexpr std::int64_t settling_ns = 2 * counter_renewal_ns;

std::string seconds(std::int64_t duration_ns) {
  const auto tenths = static_cast<long>(std::lround(static_cast<double>(duration_ns) / ns_per_s * 10));
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

std::string percent(double ratio) {
  return std::to_string(std::lround(std::ceil(ratio * 100))) + " %";
}

energy_reading not_known_well_enough(const std::optional<repeated_energy>& known, const std::string& what,
                                     std::int64_t limit_ns) {
  const std::string remedy = "; stage1.energy_limit_s allows longer";
  if (!known)
    return energy_reading::absent("the driver's energy counter moved less than twice in " +
                                  seconds(limit_ns) + " of " + what + remedy);
  return energy_reading::absent("after " + seconds(limit_ns) + " of " + what + " the energy is known to ±" +
                                percent(known->uncertainty_ratio) + " only" + remedy);
}

}  // namespace

energy_reading measure_energy(const energy_meter& meter, const std::function<void()>& run,
                              const std::function<bool(const repeated_energy&)>& is_enough,
                              std::int64_t limit_ns, const std::string& what) {
  auto last_mj = meter.counter_mj();
  if (!last_mj) return energy_reading::absent(last_mj.reason());
  const std::int64_t began_ns = meter.clock_ns();
  std::int64_t now_ns = began_ns;
  std::int64_t longest_run_ns = 0;
  std::optional<unsigned long long> first_mj;  // at the renewal with which the measurement begins
  std::int64_t first_ns = 0;
  std::int64_t runs_count = 0;
  std::optional<repeated_energy> known;
  while (now_ns - began_ns < limit_ns) {
    run();
    const std::int64_t ended_ns = meter.clock_ns();
    longest_run_ns = std::max(longest_run_ns, ended_ns - now_ns);
    now_ns = ended_ns;
    const auto now_mj = meter.counter_mj();
    if (!now_mj) return energy_reading::absent(now_mj.reason());
    if (*now_mj < *last_mj) return energy_reading::absent("the driver's energy counter went backwards");
    ++runs_count;
    const bool is_renewed = *now_mj != *last_mj;
    last_mj = now_mj;
    if (!is_renewed || now_ns - began_ns < settling_ns) continue;
    if (!first_mj) {
      first_mj = *now_mj;
      first_ns = now_ns;
      runs_count = 0;
      continue;
    }
    const auto age_ns = static_cast<double>(std::min(longest_run_ns, counter_renewal_ns));
    known = repeated_energy{static_cast<double>(*now_mj - *first_mj) * joules_per_mj, runs_count,
                            age_ns / static_cast<double>(now_ns - first_ns), now_ns - first_ns};
    if (is_enough(*known)) return *known;
  }
  return not_known_well_enough(known, what, limit_ns);
}

stage_energies measure_stage_energies(const energy_meter& meter, const std::function<void()>& prefill,
                                      const std::function<void()>& prefill_and_decode,
                                      std::int64_t limit_ns) {
  stage_energies found;
  // half of what is allowed: the decode's error has the prefill's in it
  found.prefill = measure_energy(
      meter, prefill,
      [](const repeated_energy& known) { return known.uncertainty_ratio <= wanted_energy_ratio / 2; },
      limit_ns, "prefills");
  if (!found.prefill) {
    found.decode_all = energy_reading::absent("the prefill before it: " + found.prefill.reason());
    return found;
  }
  const double prefill_j = found.prefill->run_j();
  const double prefill_off_j = found.prefill->run_uncertainty_j();
  const auto decode_of = [&](const repeated_energy& both) {
    const double run_j = both.run_j() - prefill_j;
    const auto runs = static_cast<double>(both.runs_count);
    const double prefills_ns =
        static_cast<double>(found.prefill->runs_ns) / static_cast<double>(found.prefill->runs_count) * runs;
    return repeated_energy{run_j * runs, both.runs_count, (both.run_uncertainty_j() + prefill_off_j) / run_j,
                           std::max<std::int64_t>(0, both.runs_ns - std::llround(prefills_ns))};
  };
  const auto is_enough = [&](const repeated_energy& both) {
    return both.run_j() > prefill_j && decode_of(both).uncertainty_ratio <= wanted_energy_ratio;
  };
  const energy_reading both =
      measure_energy(meter, prefill_and_decode, is_enough, limit_ns, "prefills and decodes");
  found.decode_all = both ? energy_reading(decode_of(*both)) : both;
  return found;
}

}  // namespace profgate::llm
