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

/// How full a stage's routed experts are, of the layer in which they are least even.
struct expert_fill {
  double imbalance_ratio = 1;  ///< rows of the fullest expert over the mean
  std::int64_t largest_rows = 0;
  bool operator==(const expert_fill&) const = default;
};

struct stage_judgement {
  std::string stage{};
  verdict which = verdict::no_baseline;
  phase in_phase = phase::screen;
  std::string reason{};  ///< one sentence
  std::optional<comparison> numbers{};
  std::optional<std::int64_t> tokens{};    ///< that it decodes; nothing: it decodes none, or nobody told
  std::optional<std::string> rate_unit{};  ///< of a figure that is a rate (gate/figure_units.h): "tokens/s"
  std::optional<double> detectable_ratio{};
  std::optional<double> unchanged_below_ratio{};  ///< unchanged: the slowdown that it is surely below
  std::optional<double> fails_from_ratio{};       ///< as in stage_step
  exact_comparison exact{};
  std::optional<expert_fill> experts{};           ///< of the candidate; nothing: no experts, or not known
  std::optional<expert_fill> baseline_experts{};  ///< likewise
  std::optional<attribution> attributed{};
  std::string attribution_reason{};  ///< why there is none
  std::string uncounted_because{};   ///< why its suspects have no counters, said of one stage alone
  std::optional<std::string>
      waived_by{};  ///< "owner, until 2026-12-01: reason": the verdict stays, it does not fail
};

/// A commit's part of a loss.
struct anchor_part {
  std::string commit{};        ///< empty, as is the next: the build that is judged
  std::string measured_utc{};  ///< the baseline that it was accepted with
  double ratio = 0;            ///< against what was accepted before it; below zero: faster
};

struct anchor_stage {
  std::string stage{};
  verdict which = verdict::no_baseline;
  std::string reason{};
  std::optional<comparison> numbers{};     ///< its baseline is the anchor
  std::optional<std::string> rate_unit{};  ///< of a figure that is told as a rate, as in stage_judgement
  std::optional<std::string> waived_by{};
  std::vector<anchor_part> parts{};  ///< the larger ones, oldest first
  std::size_t other_parts = 0;
  double other_parts_ratio = 0;  ///< all of them together
  std::string unknown_parts_because{};
};

/// Against a baseline that moves by hand only (gate/since_anchor.h).
struct anchor_judgement {
  std::string name{};  ///< "v1.0"
  std::string commit{};
  std::string measured_utc{};
  std::string not_judged_because{};
  std::vector<anchor_stage> stages{};
  std::vector<std::string> warnings{};  ///< other versions, another host, another clock
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
  std::optional<std::string> failed_by{};  ///< what else than its baseline fails it: an expired
                                           ///< waiver, a loss since the anchor
  std::vector<std::string> warnings{};
  std::vector<std::string> notices{};
  std::vector<std::string> circumstances{};     ///< that can make the same code slower; of a regression
  bool is_not_the_code = false;                 ///< nothing exact changed, but circumstances did
  std::vector<package_change> packages{};       ///< that differ between the two
  std::vector<std::string> unknown_packages{};  ///< whose could not be found out, and why
  std::optional<double> seconds{};              ///< that the runs took
  std::size_t discarded_runs = 0;               ///< spoiled and repeated
  std::string look_deeper{};                    ///< a command
  std::optional<anchor_judgement> since_anchor{};
};

/// "the fullest expert gets 16.0 times the mean, 2048 rows; as before"; empty where it is not known.
std::string experts_text(const stage_judgement& stage);

}  // namespace profgate::gate
