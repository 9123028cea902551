#include "gate/gate.h"

namespace profgate::gate {

gate_outcome judge_without_baseline(const std::string& pair) {
  return {core::exit_code::not_possible, "no baseline",
          "no baseline is stored for " + pair + ", so there is nothing to judge this run against"};
}

}  // namespace profgate::gate
