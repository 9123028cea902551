#pragma once

#include <string>
#include <vector>

#include "ab/next_step.h"
#include "ab/request.h"
#include "analysis/kernel_patterns.h"
#include "config/config.h"
#include "gate/exact_gates.h"
#include "gate/rules.h"

/// From gate.* in the configuration to what is run and by which rules it is judged.
namespace profgate::ab {

/// What a process of the gate gets: gate.iterations rounds of at most gate.decode_tokens tokens, without the
/// measuring of ceilings.
config::resolved gate_config(const config::resolved& own);

/// SHA-256 over what decides what is computed and measured: of the build's gate_config() the settings of the
/// workload, the model and the bare run, and of a program that is not profgate's engine its command, and its
/// client's. Of a path its last part counts, in the command of an absolute one. A planted delay does not: it
/// stands for a slower build.
std::string config_sha256(const arm_build& build);
/// The same without the commands.
std::string settings_sha256(const arm_build& build);

/// The figures of workload.figures whose unit says which way is better, in their order.
std::vector<std::string> judged_figures(const config::resolved& config);

/// `times_itself`: the program keeps the contract, and with it the stages that are the default.
std::vector<std::string> gated_stages(const config::resolved& config, bool times_itself);
gate::decision_rules decision_rules_of(const config::resolved& config);
gate::stored_rules stored_rules_of(const config::resolved& config);
gate::exact_rules exact_rules_of(const config::resolved& config);
gate::reduction_rules reduction_rules_of(bool times_itself);

comparison_settings settings_of(const arm_build& candidate);

}  // namespace profgate::ab
