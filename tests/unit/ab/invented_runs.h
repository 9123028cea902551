#pragma once

#include <map>
#include <string>
#include <vector>

#include "ab/next_step.h"

/// Processes that never ran: 23 iterations a stage around a level, with a little noise that depends on
/// nothing but the build and how many of its processes came before.
namespace profgate::ab {

struct invented_build {
  std::map<std::string, double> level_ns{};  ///< by stage
  double noise_ratio = 0.002;
};

inline finished_run invented_run(const invented_build& build, gate::arm which, run_kind kind,
                                 std::size_t ordinal) {
  finished_run run;
  run.arm = which;
  run.kind = kind;
  run.seconds = 2;
  std::uint64_t state = 1000 * ordinal + (which == gate::arm::baseline ? 17 : 4242);
  const auto next = [&state] {  // -1 … 1
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state >> 40U) / static_cast<double>(1U << 23U) - 1;
  };
  for (int i = 0; i < 8; ++i) next();
  for (const auto& [stage, level_ns] : build.level_ns) {
    const double process_ns = level_ns * (1 + build.noise_ratio * next());
    for (int i = 0; i < 23; ++i) {
      run.record.samples_ns[stage].push_back(
          static_cast<std::int64_t>(process_ns * (1 + 0.1 * build.noise_ratio * next())));
    }
  }
  return run;
}

inline comparison_settings one_stage() {
  comparison_settings settings;
  settings.stages = {"decode_all"};
  settings.seed = 7;
  return settings;
}

}  // namespace profgate::ab
