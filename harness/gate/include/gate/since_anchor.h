#pragma once

#include <map>
#include <string>
#include <vector>

#include "gate/judge.h"
#include "gate/judgement.h"

/// Creep: losses that are each too small to fail and were each accepted. The anchor is a baseline that moves
/// by hand only, so against it they add up.
namespace profgate::gate {

/// A baseline that was accepted after the anchor.
struct accepted_median {
  std::string commit{};
  std::string measured_utc{};
  double median_ns = 0;  ///< of one stage
};

using accepted_history = std::map<std::string, std::vector<accepted_median>>;  ///< by stage, oldest first

/// By the rules for stored numbers: the anchor is of another session. A comparison in turns has fewer runs of
/// its candidate than those ask for; they are enough here, since nothing is run for the anchor's sake.
anchor_judgement judge_since(const std::string& name, const run_set& anchor, const run_set& candidate,
                             const judge_rules& rules, const accepted_history& history);

/// A stage that is slower than the anchor fails the gate, unless a waiver covers the whole loss. Where
/// none fails it, a stage that is open is a notice. Call it after the judgement against the baseline is
/// complete.
void apply_anchor(anchor_judgement since, const std::vector<waiver>& waivers, const std::string& today,
                  judgement& whole);

/// "since v1.0 (2026-11-15, 1a2b3c4): decode_all +10.5 % (90 % CI 9.9 to 11.0 %), 9.00 ms → 9.94 ms";
/// of a rate "… tokens_per_s 9.5 % lower (90 % CI 9.0 to 9.9 %), 500.0 → 452.5 tokens/s"; the reason, where
/// there are no numbers.
std::string since_text(const anchor_judgement& since, const anchor_stage& stage);

/// The same with the verdict, and why it is open: "…: inconclusive: 12.10 % slower, which is neither …".
std::string since_verdict_text(const anchor_judgement& since, const anchor_stage& stage);

/// "0f1e2d3 (2026-11-16) +1.0 %, this build +1.1 %; 3 others together +0.4 %"; empty: nothing is known.
std::string parts_text(const anchor_stage& stage);

}  // namespace profgate::gate
