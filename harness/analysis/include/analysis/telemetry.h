#pragma once

#include <string>
#include <vector>

#include "analysis/facts.h"
#include "analysis/measured.h"

/// What the GPU did while a stage was timed: whether its samples can be trusted, and what they cost.
namespace profgate::analysis {

/// Spread of the SM clock beyond which samples of one stage do not compare with each other.
inline constexpr double unsteady_clock_ratio = 0.05;

struct telemetry_figures {
  std::int64_t windows_count = 0;
  std::int64_t samples_count = 0;
  measured<core::value_spread> sm_clock_mhz;
  measured<double> sm_clock_spread_ratio;  ///< (max - min) / median
  measured<core::value_spread> memory_clock_mhz;
  measured<core::value_spread> power_w;
  measured<std::string> power_method;
  measured<core::value_spread> temperature_c;
  measured<std::vector<std::string>> throttle_reasons;  ///< all that the driver named, idleness included
  measured<double> energy_mean_j;                       ///< of one repetition
  measured<double> energy_uncertainty_ratio;
  measured<double> energy_run_ns;       ///< a repetition while energy was measured
  measured<double> energy_run_power_w;  ///< mean power of it
};

measured<telemetry_figures> stage_telemetry(const bare_facts& facts, const std::string& stage);

/// The decode stage's energy over the tokens that one repetition decodes, of the whole batch.
measured<double> energy_per_decoded_token_j(const bare_facts& facts,
                                            const measured<telemetry_figures>& decode);

/// Those of the driver's reasons that slow a busy GPU down against its user's wish.
std::vector<std::string> throttling_among(const std::vector<std::string>& reasons);

}  // namespace profgate::analysis
