#pragma once

#include <string>
#include <vector>

#include "baselines/waivers.h"
#include "gate/judgement.h"
#include "gate/rules.h"
#include "gate/run_set.h"

/// From two run sets to a judgement. Pure: what there is, is judged; nothing is run.
namespace profgate::baselines {

struct judge_rules {
  gate::reduction_rules reduction{};
  gate::decision_rules interleaved{};
  gate::stored_rules stored{};
  gate::exact_rules exact{};
  std::vector<std::string> stages{};  ///< that are judged; none: all that either run set has
  bool inconclusive_fails = false;
};

/// Who is compared, as people are told.
struct compared_names {
  std::string baseline{};
  std::string candidate{};
};

/// A candidate against numbers of another session.
gate::judgement judge_stored(const gate::run_set& baseline, const gate::run_set& candidate,
                             const judge_rules& rules, const std::vector<waiver>& waivers,
                             const std::string& today, const compared_names& names = {});

/// Two arms of one comparison, as it was recorded.
gate::judgement judge_interleaved(const gate::run_set& baseline, const gate::run_set& candidate,
                                  const judge_rules& rules, const std::vector<waiver>& waivers,
                                  const std::string& today, const compared_names& names = {});

/// By what the run sets are: arms that took turns in one session, or else stored numbers.
gate::judgement judge_run_sets(const gate::run_set& baseline, const gate::run_set& candidate,
                               const judge_rules& rules, const std::vector<waiver>& waivers,
                               const std::string& today, const compared_names& names = {});

/// A judgement that needs no runs: not comparable, no baseline, error.
gate::judgement judged_without_runs(const std::string& pair, gate::verdict which, const std::string& reason,
                                    const std::vector<waiver>& waivers, const std::string& today);

/// The medians of a stage's processes that count, in the order they ran.
std::vector<double> stage_medians_ns(const gate::run_set& runs, const std::string& stage,
                                     const gate::reduction_rules& rules);

/// Of a program that does not time itself each process is one sample.
gate::reduction_rules reduction_for(const gate::run_set& runs);

/// Every stage of which there is a sample, in the order of the alphabet.
std::vector<std::string> stages_of(const gate::run_set& runs);

/// "1a2b3c4", or "uncommitted code on 1a2b3c4".
std::string commit_text(const gate::build_identity& identity);

}  // namespace profgate::baselines
