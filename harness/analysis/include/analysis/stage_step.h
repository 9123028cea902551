#pragma once

#include <cstdint>
#include <string>

#include "analysis/bare_run.h"
#include "analysis/measured.h"
#include "analysis/timeline_analysis.h"

/// One occurrence of a stage, as people ask for it: how long a step takes, and what it asks of the device.
namespace profgate::analysis {

struct step_figures {
  double median_ns = 0;
  double mean_ns = 0;
  measured<double> std_ns;  ///< of one there is none
  measured<double> cv_ratio;
  double min_ns = 0;
  double max_ns = 0;
  std::int64_t occurrences = 0;       ///< that were timed
  std::string source;                 ///< of the time, in a few words
  bool is_host_alone = false;         ///< much of the device's work ends after it
  measured<double> range_cost_ns;     ///< of the time: what it took to record its range
  measured<double> range_cost_ratio;  ///< the same, of the median
  // A step's share of what the trace counted.
  measured<double> launches;
  measured<double> kernels;
  measured<double> copies;
  measured<double> synchronisations;
};

/// What is said of such a time wherever its source is told.
inline constexpr const char* host_alone_words = ", the host's alone: its kernels end later";

/// Of the bare run where that timed the stage, else of the trace.
measured<step_figures> stage_step(const bare_stage& bare, const measured<traced_stage>& traced);

}  // namespace profgate::analysis
