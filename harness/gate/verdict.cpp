#include "gate/verdict.h"

#include <algorithm>

namespace profgate::gate {
namespace {

/// Larger decides. Within a class the one that says more about the candidate goes first.
int weight(verdict which, bool inconclusive_fails) {
  switch (which) {
    case verdict::error:
      return 100;
    case verdict::regressed:
      return 90;
    case verdict::missing:
      return 80;
    case verdict::inconclusive:
      return inconclusive_fails ? 70 : 60;
    case verdict::not_comparable:
      return 50;
    case verdict::no_gpu:
      return 40;
    case verdict::no_baseline:
      return 30;
    case verdict::new_stage:
      return 20;
    case verdict::improved:
      return 10;
    case verdict::unchanged:
      return 0;
  }
  return 100;
}

}  // namespace

std::string to_text(verdict which) {
  switch (which) {
    case verdict::regressed:
      return "regressed";
    case verdict::missing:
      return "missing";
    case verdict::error:
      return "error";
    case verdict::improved:
      return "improved";
    case verdict::unchanged:
      return "unchanged";
    case verdict::new_stage:
      return "new";
    case verdict::inconclusive:
      return "inconclusive";
    case verdict::not_comparable:
      return "not comparable";
    case verdict::no_gpu:
      return "no GPU";
    case verdict::no_baseline:
      return "no baseline";
  }
  return "error";
}

core::exit_code exit_code_of(verdict which, bool inconclusive_fails) {
  switch (which) {
    case verdict::regressed:
    case verdict::missing:
      return core::exit_code::judged_bad;
    case verdict::error:
      return core::exit_code::bad_input;
    case verdict::improved:
    case verdict::unchanged:
    case verdict::new_stage:
      return core::exit_code::good;
    case verdict::inconclusive:
      return inconclusive_fails ? core::exit_code::judged_bad : core::exit_code::not_possible;
    case verdict::not_comparable:
    case verdict::no_gpu:
    case verdict::no_baseline:
      return core::exit_code::not_possible;
  }
  return core::exit_code::bad_input;
}

verdict worst_of(const std::vector<verdict>& verdicts, bool inconclusive_fails) {
  return *std::max_element(verdicts.begin(), verdicts.end(), [&](verdict a, verdict b) {
    return weight(a, inconclusive_fails) < weight(b, inconclusive_fails);
  });
}

}  // namespace profgate::gate
