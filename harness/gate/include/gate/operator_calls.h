#pragma once

#include <string>

#include "analysis/stage_operations.h"
#include "gate/attribution.h"
#include "gate/exact_gates.h"

/// On a CPU there are no kernels and no launches: the stretches in which a range was the innermost one take
/// their place (analysis/stage_operations.h). A range that others interrupt has several stretches, and is one
/// call nevertheless.
namespace profgate::gate {

/// How often each operator was called in an occurrence of `stage`, in the mean of these.
operator_calls calls_of(const std::vector<const analysis::stage_trace*>& occurrences,
                        const std::string& stage);

/// Of the causes on the host, where the structures know them: what is called as often as before is slower,
/// not called more often, in however many stretches.
void count_calls(const stage_structure& baseline, const stage_structure& candidate, attribution& result);

bool is_of_host(const cause& one);

/// Of a cause on the host: "slower" and "18.42 → 197.03 µs a call, 378 calls"; where calls are not known
/// "6.96 → 74.50 ms in all".
struct host_words {
  std::string what{};
  std::string figures{};
};
host_words words_of_host(const cause& one);

}  // namespace profgate::gate
