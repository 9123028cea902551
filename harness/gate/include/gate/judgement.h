#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gate/attribution.h"
#include "gate/decision.h"
#include "gate/exact_gates.h"
#include "gate/run_set.h"
#include "gate/verdict.h"

/// What a gate says, for people and for programs: verdict.json, gate.md and the test's last lines are made of
/// it.
namespace profgate::gate {

/// Why a stage that is as fast as before has no causes.
inline constexpr const char* nothing_to_explain = "it did not regress, so there is nothing to explain";

inline constexpr const char* faster_notice =
    "faster than its baseline: profgate baseline accept makes this the new one";

struct stage_judgement {
  std::string stage{};
  verdict which = verdict::no_baseline;
  phase in_phase = phase::screen;
  std::string reason{};  ///< one sentence
  std::optional<comparison> numbers{};
  std::optional<double> detectable_ratio{};
  exact_comparison exact{};
  std::optional<attribution> attributed{};
  std::string attribution_reason{};  ///< why there is none
  std::string uncounted_because{};   ///< why its suspects have no counters, said of one stage alone
  std::optional<std::string>
      waived_by{};  ///< "owner, until 2026-12-01: reason": the verdict stays, it does not fail
};

struct judgement {
  std::string pair{};
  bool is_interleaved = false;  ///< else against stored numbers
  std::string baseline_name{};  ///< "main (1a2b3c4)", "build/old", "conf/baselines/…json"
  std::string candidate_name{};
  std::string device_name{};
  std::vector<stage_judgement> stages{};
  verdict overall = verdict::no_baseline;
  core::exit_code code = core::exit_code::not_possible;
  std::string reason{};                    ///< of the overall verdict, one sentence
  std::optional<std::string> failed_by{};  ///< what fails it whatever the runs say: an expired waiver
  std::vector<std::string> warnings{};
  std::vector<std::string> notices{};
  std::vector<std::string> circumstances{};     ///< that can make the same code slower; of a regression
  bool is_not_the_code = false;                 ///< nothing exact changed, but circumstances did
  std::vector<package_change> packages{};       ///< that differ between the two
  std::vector<std::string> unknown_packages{};  ///< whose could not be found out, and why
  std::optional<double> seconds{};              ///< that the runs took
  std::size_t discarded_runs = 0;               ///< spoiled and repeated
  std::string look_deeper{};                    ///< a command
};

}  // namespace profgate::gate
