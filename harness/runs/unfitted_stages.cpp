#include "runs/unfitted_stages.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/range_names.h"
#include "core/error.h"
#include "core/escape.h"
#include "core/expression.h"
#include "core/slips.h"
#include "core/stage_names.h"
#include "runs/run_settings.h"

namespace profgate::runs {
namespace {

/// A stage whose times the program tells itself needs no range.
std::vector<analysis::stage_rule> unfitted_rules(const config::resolved& config,
                                                 const std::set<std::string>& timed) {
  std::vector<analysis::stage_rule> rules = stage_rules_of(config);
  const std::vector<std::string> told = config.list("workload.figures");
  std::erase_if(rules, [&](const analysis::stage_rule& rule) {
    return !core::has_expression_characters(rule.range) || timed.contains(rule.name) ||
           std::find(told.begin(), told.end(), rule.name) != told.end();
  });
  return rules;
}

std::string domain_in_words(const analysis::stage_rule& rule) {
  if (!rule.domain) return "";
  return rule.domain->empty() ? " in the default domain" : fmt::format(" in the domain '{}'", *rule.domain);
}

std::string ranges_in_words(const seen_stages& seen) {
  constexpr std::size_t longest_name_bytes = 80;
  std::vector<std::string> names = analysis::join_numbered(seen.ranges.empty() ? seen.opened : seen.ranges);
  for (std::string& name : names) name = core::shorten_middle(name, longest_name_bytes);
  return core::first_few(names);
}

}  // namespace

void add_ranges(const core::timeline& timeline, const config::resolved& config, seen_stages& seen) {
  constexpr std::size_t most = 1000;
  const std::vector<analysis::stage_rule> rules = stage_rules_of(config);
  const std::vector<std::string> stages = config.list("workload.stages");
  const std::string domain = config.text("workload.nvtx_domain");
  std::set<std::pair<bool, std::string_view>> known;  // few, of a million ranges
  for (const core::range_record& range : timeline.ranges) {
    const bool is_where_stages_are = range.domain == domain;
    if (!known.emplace(is_where_stages_are, range.name).second) continue;
    const bool is_stage =
        is_where_stages_are && std::find(stages.begin(), stages.end(), range.name) != stages.end();
    if (is_stage) {
      seen.opened.emplace(range.name);
    } else if (seen.ranges.size() < most) {
      seen.ranges.emplace(analysis::name_in_program(range.name, rules));
    }
  }
}

bool lacks_stage(const config::resolved& config, const std::set<std::string>& timed) {
  const std::vector<std::string> stages = config.list("workload.stages");
  const std::vector<std::string> told = config.list("workload.figures");
  return std::any_of(stages.begin(), stages.end(), [&](const std::string& stage) {
    return stage != core::whole_process_stage && !timed.contains(stage) &&
           std::find(told.begin(), told.end(), stage) == told.end();
  });
}

std::vector<std::string> notes_of_unfitted_stages(const config::resolved& config, const seen_stages& seen) {
  std::vector<std::string> notes;
  const std::vector<analysis::stage_rule> unfitted = unfitted_rules(config, seen.timed);
  const std::vector<std::string> stages = config.list("workload.stages");
  const bool has_others = std::any_of(stages.begin(), stages.end(), [&](const std::string& stage) {
    return stage != core::whole_process_stage && seen.timed.contains(stage);
  });
  const std::string& origin = config.origin("workload.stages");
  // A recipe of another's program says at its head with which environment the program opens its ranges.
  const std::string by_recipe =
      origin.find("/conf/workload/") == std::string::npos
          ? ""
          : "see at the head of that file what the program needs to open its ranges, or ";
  for (const analysis::stage_rule& rule : unfitted) {
    const std::string where = domain_in_words(rule);
    if (has_others) {
      notes.push_back(fmt::format("no NVTX range{} fits '{}' of stage '{}': the program has no such stage",
                                  where, rule.range, rule.name));
      continue;
    }
    if (seen.ranges.empty() && seen.opened.empty()) {
      throw core::step_failure(fmt::format("{}: no NVTX range{} fits '{}' of stage '{}': the program opened "
                                           "no range at all",
                                           origin, where, rule.range, rule.name),
                               by_recipe +
                                   "check that the program calls NVTX, with headers of version 3, and that "
                                   "it does not clear its environment");
    }
    if (seen.opened.contains(rule.name)) {
      throw core::step_failure(
          fmt::format("{}: the NVTX ranges{} that fit '{}' of stage '{}' were opened but never closed",
                      origin, where, rule.range, rule.name),
          "close them (pop or end them) before the program ends");
    }
    throw core::bad_input(origin, 0,
                          fmt::format("no NVTX range{} fits '{}' of stage '{}'; there are {}", where,
                                      rule.range, rule.name, ranges_in_words(seen)),
                          by_recipe +
                              "give the stage an expression that fits the whole name of a range, such as "
                              "'step_\\d+' (.* is any "
                              "text)");
  }
  return notes;
}

std::string stage_in_words(const config::resolved& config, const std::string& stage) {
  for (const analysis::stage_rule& rule : stage_rules_of(config)) {
    if (rule.name == stage && rule.range != stage)
      return fmt::format("stage '{}' (range '{}')", stage, rule.range);
  }
  return fmt::format("stage '{}'", stage);
}

}  // namespace profgate::runs
