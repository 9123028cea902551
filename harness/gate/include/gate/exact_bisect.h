#pragma once

#include <string>
#include <vector>

#include "gate/exact_gates.h"

/// Which of two commits another one is like, by what is the same in every run of a build: one trace of each
/// says it, and no noise can say otherwise.
namespace profgate::gate {

struct stage_change {
  std::string stage{};
  exact_change change{};
};

struct exact_difference {
  std::vector<stage_change> changes{};
  std::vector<std::string>
      not_compared{};  ///< "decode_all: graph nodes: they were not recorded of the baseline"
  std::vector<std::string> stages_in_doubt{};  ///< of which something was not compared
};

/// Over all stages that either has.
exact_difference exact_difference_of(const stage_structures& before, const stage_structures& after);

enum class like_end { good, bad, unknown };

/// `ends`: from the good commit to the bad one; `commit`: from the good one to that which is asked about. It
/// is like the bad one where it shows every one of their changes. Whatever else it changes says nothing.
/// Unknown: a change is not to be seen, and of its stage less could be compared than of the ends'.
like_end which_end(const exact_difference& ends, const exact_difference& commit);

/// Those of `ends` that `commit` shows, in their order.
std::vector<stage_change> shown_changes(const exact_difference& ends, const exact_difference& commit);

/// "decode_all: new kernel: f".
std::string to_text(const stage_change& one);

}  // namespace profgate::gate
