#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"

/// Which ranges of a program are its stages. Programs of others name their ranges as they like, in domains of
/// their own, a step's batch among the words: what fits a stage's rule is given the stage's name and domain
/// once, right after reading, so that everybody else sees a trace of plain stages.
namespace profgate::analysis {

struct stage_rule {
  std::string name;                   ///< what reports call the stage
  std::string range;                  ///< a range's name, an expression over the whole of it, or "*": all
  std::optional<std::string> domain;  ///< empty: the default domain; nothing: any
  std::string where;                  ///< the rule stands, for messages
  bool is_synchronised = false;       ///< unprofiled runs wait for the device at its ends
};

/// What the named groups of a stage's expression say, summed over its occurrences: "decode_tokens".
using stage_counts = std::map<std::string, std::map<std::string, std::int64_t>>;

/// Whether the layers of a model, which are its modules by number ("model.layers.7.mlp"), are one operator
/// that is called often ("model.layers.*.mlp") or one each. Its ranges keep their layer's number beside the
/// name; of several in one name ("layers.7.experts.3.up") the first.
enum class layers { apart, together };

/// The first rule that fits a range decides. Ranges beside the stages keep their names, but for counters that
/// a profiler put there ("aten::mm, op_id = 7"): they would be operators of one call each. Those of a domain
/// that a rule admits go to `domain`, too, where they are operators; one that is called like a stage and fits
/// no rule gets another name ("decode (range)"). Two stages that are looked for by their own names need no
/// range. Where none fits core::decode_all_stage, decode steps that follow each other are one occurrence;
/// where none fits core::whole_process_stage, each process that used a device is one.
stage_counts name_stages(core::timeline& timeline, const std::vector<stage_rule>& rules,
                         const std::string& domain, layers are = layers::apart);
/// The same for the ranges around counted launches: `ranges` is made of `open_ranges`.
void name_stages(std::vector<core::kernel_counters>& launches, const std::vector<stage_rule>& rules,
                 layers are = layers::apart);

/// Of a range that name_stages gave another name because a stage has its own: "decode" of "decode (range)".
std::string_view name_in_program(std::string_view name, const std::vector<stage_rule>& rules);

}  // namespace profgate::analysis
