#include "gate_rules.h"

#include "ab/gate_config.h"

namespace profgate::cli {

gate::judge_rules judge_rules_of(const config::resolved& config) {
  gate::judge_rules rules;
  rules.interleaved = ab::decision_rules_of(config);
  rules.stored = ab::stored_rules_of(config);
  rules.exact = ab::exact_rules_of(config);
  rules.stages = config.list("gate.stages");
  rules.inconclusive_fails = config.text("gate.inconclusive") == "fail";
  return rules;
}

}  // namespace profgate::cli
