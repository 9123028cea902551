#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gate/decision.h"
#include "gate/plan.h"
#include "gate/run_set.h"

/// Which process comes next: a pure function of those that have run, so a comparison that was cut off goes
/// on from its records.
namespace profgate::ab {

enum class run_kind {
  warm_up,  ///< the first of its arm, or of its arm after a pause: never counts
  counted,
  traced,
};

/// One process that ended, well or not.
struct finished_run {
  gate::arm arm = gate::arm::baseline;
  run_kind kind = run_kind::counted;
  std::size_t session = 0;             ///< how often the comparison had been cut off before it ran
  double seconds = 0;                  ///< its whole life
  std::optional<std::string> crash{};  ///< it failed, and how
  std::string remedy{};                ///< of that; not on disk
  core::experts_by_stage experts{};    ///< how it routed, where its result tells
  std::string device_name{};           ///< as the workload calls it; empty: it did not say
  std::map<std::string, std::string> library_versions{};  ///< of those that it computes with
  gate::process_record record{};  ///< its slot is its number among all runs, on disk as well
};

struct comparison_settings {
  std::vector<std::string> stages{};
  gate::figure_units units_of_figures{};   ///< that the program tells itself
  std::vector<std::string> told_stages{};  ///< those of `stages` that are figures alone: no range has them
  gate::decision_rules rules{};
  gate::reduction_rules reduction{};
  std::uint64_t seed = 1;
  std::size_t traced_processes = 3;             ///< of each arm, after a regression; 0: none can be traced
  std::optional<std::int64_t> decode_tokens{};  ///< of one decode_all, where the program takes the setting
  bool compares_structure = false;  ///< one traced process of each arm even where nothing regressed

  /// Those of `stages` that a trace can show.
  std::vector<std::string> traced_stages() const;
};

struct comparison_state {
  std::size_t session = 0;
  std::vector<finished_run> runs{};  ///< in the order in which they ran
};

struct next_step {
  enum class what { run, finished, failed } todo = what::finished;
  gate::arm arm = gate::arm::baseline;  ///< that runs, or failed
  run_kind kind = run_kind::counted;
  std::size_t most_runs_left = 0;  ///< at worst, this one included; without traced ones
  std::string reason{};            ///< of a failure
};

/// Warm-up of each arm, then the slots of gate::interleaved_plan. After each whole block the rules are asked
/// for every stage. A spoiled or crashed run is run again at once, in its own place: whether it was spoiled
/// is read off the device and never off its times, so which runs are repeated does not depend on how fast
/// they were, and each block keeps its order, which is what cancels drift. A second crash in the same place
/// fails the comparison.
next_step next_action(const comparison_settings& settings, const comparison_state& state);

/// What the rules say of each of settings.stages, in their order.
std::vector<gate::stage_step> stage_steps(const comparison_settings& settings, const comparison_state& state);

/// A warm-up, then `count` processes of one build (the arm `candidate`), then the traced ones where they are
/// asked for. Spoiled and crashed runs are repeated as in a comparison.
next_step next_of_one_arm(const comparison_settings& settings, std::size_t count, bool is_traced,
                          const comparison_state& state);

/// How many of the runs survive a pause: up to the end of the last whole block, and the traced ones after
/// it. A block that was torn apart would no longer cancel drift.
std::size_t runs_to_keep(const std::vector<finished_run>& runs);

/// One arm's processes, as they are kept and judged.
gate::run_set run_set_of(const comparison_settings& settings, const comparison_state& state, gate::arm which);

/// Runs that were spoiled and run again.
std::size_t spoiled_runs(const std::vector<finished_run>& runs);

}  // namespace profgate::ab
