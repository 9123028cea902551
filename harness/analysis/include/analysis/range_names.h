#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Names of ranges as a person reads and types them: programs number their steps, and a list of a thousand
/// numbers tells nobody what a stage could be.
namespace profgate::analysis {

/// "step_\d+" of "step_7": fits all names that differ from this one in their numbers only. The name as it is
/// where it has no number.
std::string with_any_number(std::string_view name);

/// Names that differ in their numbers only as one such expression, the others as they are.
std::vector<std::string> join_numbered(const std::set<std::string>& names);

/// As an entry of workload.stages: "decode", "{name: step, range: 'step_\d+'}"; empty where the name would
/// have to be quoted.
std::string stage_entry(std::string_view name_or_expression);

}  // namespace profgate::analysis
