#pragma once

#include <functional>
#include <string>

#include "ab/next_step.h"
#include "run_folder.h"

namespace profgate::ab {

/// What a comparison does to the world: it starts processes.
class run_effects {
 public:
  virtual ~run_effects() = default;
  /// Runs one process to its end; its files are called `stem`. A workload that fails is a run with a crash;
  /// thrown is what must stop the comparison: an interrupt, a machine that cannot run it.
  virtual finished_run run(gate::arm which, run_kind kind, const std::string& stem) = 0;
  virtual void say(const std::string& line) = 0;
  virtual void now_running(const std::string& what) = 0;
};

/// What comes next, by what has run.
using step_chooser = std::function<next_step(const comparison_state&)>;

/// Runs what `next_of` asks for until it asks for nothing more. step_failure where a build fails twice in a
/// row.
void drive(const comparison_settings& settings, const step_chooser& next_of, run_folder& folder,
           run_effects& effects);

/// With next_action.
void drive(const comparison_settings& settings, run_folder& folder, run_effects& effects);

}  // namespace profgate::ab
