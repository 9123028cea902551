#pragma once

#include "gate/judge.h"

/// What is to be known beside the verdicts.
namespace profgate::gate {

/// Those of stored numbers were discarded long ago, by whoever accepted them.
void tell_of_discarded_runs(const run_set& baseline, const run_set& candidate, const judge_rules& rules,
                            judgement& judged);

/// How the stages of `judged`, which are decided, are to be read.
void add_notices(const run_set& baseline, const run_set& candidate, const judge_rules& rules,
                 judgement& judged);

}  // namespace profgate::gate
