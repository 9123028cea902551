#pragma once

#include <cstdint>
#include <string>

#include "config/config.h"

/// How often a run is going to start the program: one that loads for minutes is started as rarely as can be,
/// and whoever waits for it wants to know beforehand.
namespace profgate::cli {

struct start_plan {
  std::int64_t timed = 0;
  std::int64_t traced = 0;
  std::int64_t counted = 0;  ///< at most: windows that fall together are one
};

start_plan plan_starts(const config::resolved& config, bool keeps_contract);
/// "the program starts 3 times: …", with the settings that change it.
std::string describe(const start_plan& plan);

}  // namespace profgate::cli
