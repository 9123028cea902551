#include <gmock/gmock.h>

#include "core/error.h"
#include "runs/run_settings.h"

namespace profgate::runs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

config::resolved program_with(const std::string& stages) {
  config::request wanted;
  wanted.conf_dirs = {PROFGATE_CONF};
  wanted.runner = "program";
  wanted.command_line_overrides = {"workload.stages=" + stages};
  return config::compose(wanted);
}

std::vector<std::string> words_of(const std::vector<profilers::range_name>& ranges) {
  std::vector<std::string> words;
  for (const profilers::range_name& range : ranges) words.push_back(range.as_capture_range());
  return words;
}

TEST(synchronised_stages, are_those_that_say_so_in_the_domains_that_they_name) {
  const config::resolved config = program_with(
      "[a, {name: b, sync: false}, {name: c, sync: true}, {name: d, range: e, domain: LLM, sync: true}, "
      "{name: all, range: '*', domain: '', sync: true}]");
  EXPECT_THAT(synchronised_stages(config), ElementsAre("c", "d", "all"));
  EXPECT_THAT(words_of(named_ranges(config, synchronised_stages(config))), ElementsAre("c@*", "e@LLM", "*"));
}

TEST(synchronised_stages, of_one_side_may_have_other_ranges_on_the_other_but_no_expressions) {
  EXPECT_THAT(words_of(named_ranges(program_with("[a, {name: c, range: x}]"), {"c", "gone"})),
              ElementsAre("x@*"));
  try {
    named_ranges(program_with("[{name: c, range: 'x_.*'}]"), {"c"});
    FAIL() << "an expression was taken";
  } catch (const core::bad_input& refused) {
    EXPECT_THAT(refused.what(), HasSubstr("the stage 'c' is to be synchronised, and its range 'x_.*' is an"));
  }
}

TEST(stage_rules_of, an_adapters_stage_is_the_adapters_where_the_program_has_a_range_by_its_name) {
  config::request wanted;
  wanted.conf_dirs = {PROFGATE_CONF};
  wanted.runner = "program";
  wanted.command_line_overrides = {
      "workload.stages=[prefill, load, {name: own, range: prefill, domain: ''}]"};
  const auto domains = [&] {
    std::vector<std::optional<std::string>> found;
    for (const analysis::stage_rule& rule : stage_rules_of(config::compose(wanted)))
      found.push_back(rule.domain);
    return found;
  };
  EXPECT_THAT(domains(), ElementsAre(std::nullopt, std::nullopt, ""));
  wanted.command_line_overrides.emplace_back("workload.adapter=pytorch");
  EXPECT_THAT(domains(), ElementsAre("LLM", std::nullopt, ""));
}

}  // namespace
}  // namespace profgate::runs
