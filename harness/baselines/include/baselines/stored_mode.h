#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "baselines/anchor.h"
#include "gate/judge.h"
#include "gate/judgement.h"
#include "gate/run_set.h"

namespace profgate::baselines {

/// Runs `count` fresh processes of the candidate that count, after one that does not (the first of the set),
/// and returns them as a run set.
using run_more = std::function<gate::run_set(std::size_t count)>;

struct stored_request {
  std::filesystem::path baselines_dir{};
  /// Its identity, and the processes there are so far, perhaps none. An identity without a device (what a CPU
  /// is called, only the workload says): processes are run first, to find out.
  gate::run_set candidate{};
  gate::judge_rules rules{};
  std::vector<gate::waiver> waivers{};
  std::string today{};
  std::optional<anchor_place> anchor{};  ///< judged against as well
  std::string accept_hint{};             ///< the command that would make this run the baseline
};

struct stored_outcome {
  gate::judgement judged{};
  gate::run_set candidate{};  ///< with all processes that were run
};

/// Judges against the stored baseline of the candidate's key, after running what a judgement lacks. What
/// cannot be compared, with an anchor neither, is not run. A damaged baseline is a bad_input.
stored_outcome judge_against_stored(stored_request request, const run_more& more);

/// The processes of `later` after those of `runs`, in slots of their own; what was traced is added too. The
/// first of them warms up again and does not count.
void append_runs(const gate::run_set& later, gate::run_set& runs);

}  // namespace profgate::baselines
