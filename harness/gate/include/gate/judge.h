#pragma once

#include <string>
#include <vector>

#include "gate/judgement.h"
#include "gate/rules.h"
#include "gate/run_set.h"
#include "gate/waivers.h"

/// From two run sets to a judgement, whether they were measured just now or come from files: whoever has run
/// two builds makes run sets of them, so what is said then is what is said of the files later. What there is,
/// is judged; nothing is run.
namespace profgate::gate {

struct judge_rules {
  reduction_rules reduction{};
  decision_rules interleaved{};
  stored_rules stored{};
  exact_rules exact{};
  std::vector<std::string> stages{};  ///< that are judged; none: those that the builds were measured for
  bool inconclusive_fails = false;
};

/// Who is compared, as people are told.
struct compared_names {
  std::string baseline{};
  std::string candidate{};
};

/// A candidate against numbers of another session.
judgement judge_stored(const run_set& baseline, const run_set& candidate, const judge_rules& rules,
                       const std::vector<waiver>& waivers, const std::string& today,
                       const compared_names& names = {});

/// Two arms of one comparison, as it was recorded.
judgement judge_interleaved(const run_set& baseline, const run_set& candidate, const judge_rules& rules,
                            const std::vector<waiver>& waivers, const std::string& today,
                            const compared_names& names = {});

/// By what the run sets are: arms that took turns in one session, or else stored numbers.
judgement judge_run_sets(const run_set& baseline, const run_set& candidate, const judge_rules& rules,
                         const std::vector<waiver>& waivers, const std::string& today,
                         const compared_names& names = {});

/// A judgement that needs no runs: not comparable, no baseline, error.
judgement judged_without_runs(const std::string& pair, verdict which, const std::string& reason,
                              const std::vector<waiver>& waivers, const std::string& today);

/// "1a2b3c4", or "uncommitted code on 1a2b3c4".
std::string commit_text(const build_identity& identity);

/// Sets overall, code and reason from the stages: waived ones do not fail, exact changes fail where the rules
/// say so.
void conclude(judgement& whole, bool inconclusive_fails);

/// The stage that decided the whole: of several that regressed the one that lost the largest share of its own
/// time, of those that improved the one that won most; of a judgement that passes by waivers the largest loss
/// that is waived. Nothing where there is none.
const stage_judgement* deciding_stage(const judgement& whole);

}  // namespace profgate::gate
