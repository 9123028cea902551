#include "profilers/ncu_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "core/error.h"

namespace profgate::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

/// The word after `option`; empty: there is none.
std::string value_of(const std::vector<std::string>& argv, const std::string& option) {
  const auto found = std::find(argv.begin(), argv.end(), option);
  return found == argv.end() || found + 1 == argv.end() ? "" : *(found + 1);
}

TEST(ncu_commands, profiles_the_chosen_launches) {
  profilers::ncu_options options;
  options.set = "roofline";
  options.sections = {"SpeedOfLight"};
  options.metrics = {"a__b.sum", "c__d.sum"};
  const std::vector<std::string> argv = profilers::ncu_profile_command(
      "/opt/ncu", options, {{"LLM@decode_all/"}, {"_Zk"}, profilers::kernel_name_base::mangled, 5, 6},
      "/run/ncu/run", {"app", "--config", "c"});
  EXPECT_THAT(
      argv, ElementsAre("/opt/ncu", "--config-file", "off", "--target-processes", "all", "--replay-mode",
                        "kernel", "--clock-control", "none", "--cache-control", "all", "--nvtx",
                        "--nvtx-include", "LLM@decode_all/", "--kernel-name-base", "mangled", "--kernel-name",
                        "regex:^(_Zk)$", "--launch-skip", "5", "--launch-count", "6", "--set", "roofline",
                        "--section", "SpeedOfLight", "--metrics", "a__b.sum,c__d.sum", "--force-overwrite",
                        "--export", "/run/ncu/run", "app", "--config", "c"));
}

TEST(ncu_commands, asks_for_nothing_that_is_not_wanted) {
  const std::vector<std::string> argv = profilers::ncu_profile_command("/opt/ncu", {}, {}, "/out", {"app"});
  for (const char* option : {"--set", "--section", "--metrics", "--kernel-name", "--launch-skip",
                             "--launch-count", "--nvtx-include"}) {
    EXPECT_THAT(argv, Not(Contains(option)));
  }
}

TEST(ncu_commands, counts_between_the_programs_own_calls) {
  profilers::ncu_options options;
  options.between_profiler_calls = true;
  EXPECT_EQ(value_of(profilers::ncu_profile_command("/opt/ncu", options, {}, "/out", {"app"}),
                     "--profile-from-start"),
            "off");
}

/// ncu compares demangled names after it has simplified them, unless told not to.
TEST(ncu_commands, switches_simplification_off_for_demangled_names) {
  const std::vector<std::string> argv = profilers::ncu_profile_command(
      "/opt/ncu", {}, {{}, {"f(int)"}, profilers::kernel_name_base::demangled, 0, 0}, "/out", {"app"});
  EXPECT_EQ(value_of(argv, "--rename-kernels"), "off");
  EXPECT_EQ(value_of(argv, "--kernel-name-base"), "demangled");
  EXPECT_EQ(value_of(argv, "--kernel-name"), "regex:^(f\\(int\\))$");
}

/// std::regex on names of this test only.
TEST(ncu_commands, hostile_names_match_themselves_and_nothing_else) {
  const std::vector<std::string> names = {
      "a|b",
      "a.b",
      "a+b",
      "void f<(int)2, g[3]>(T1 *, const char \"x\")",
      "^start",
      "end$",
      "back\\slash",
      "{1,2}?",
      "operator()(int)",
      "a\nb",
      "_ZN8profgate3llm4cuda6tokens13choose_kernelEPKfiiNS1_14sequence_stateE"};
  for (const std::string& name : names) {
    const std::regex one(profilers::ncu_kernel_regex({name}));
    EXPECT_TRUE(std::regex_search(name, one)) << name;
    EXPECT_FALSE(std::regex_search("x" + name, one)) << name;
    EXPECT_FALSE(std::regex_search(name + "x", one)) << name;
    for (const std::string& other : names) EXPECT_EQ(std::regex_search(other, one), other == name) << name;
  }
  const std::regex all(profilers::ncu_kernel_regex(names));
  for (const std::string& name : names) EXPECT_TRUE(std::regex_search(name, all)) << name;
  EXPECT_FALSE(std::regex_search(std::string("a"), all));
  EXPECT_FALSE(std::regex_search(std::string("axb"), all)) << "the dot is no wildcard";
}

TEST(ncu_commands, names_ranges_as_ncu_wants_them) {
  EXPECT_EQ(profilers::ncu_range_filter({"decode_all", "LLM"}), "LLM@decode_all/");
  EXPECT_EQ(profilers::ncu_range_filter({"vision.sam", ""}), "vision.sam/");
  EXPECT_EQ(profilers::ncu_range_filter({"a/b[1]*+,x", "d@e"}), "d\\@e@a\\/b\\[1\\]\\*\\+\\,x/");
  EXPECT_THROW(profilers::ncu_range_filter({"a\\b", ""}), core::bad_input);
}

TEST(ncu_commands, imports_base_units_and_unambiguous_names) {
  const std::vector<std::string> raw = profilers::ncu_raw_page_command("/opt/ncu", "/run/ncu/run.ncu-rep");
  EXPECT_THAT(raw, ElementsAre("/opt/ncu", "--config-file", "off", "--import", "/run/ncu/run.ncu-rep",
                               "--csv", "--page", "raw", "--print-units", "base", "--rename-kernels", "off"));
  const std::vector<std::string> columns = profilers::ncu_columns_command("/opt/ncu", "/r", {"a__b", "c__d"});
  EXPECT_EQ(value_of(columns, "--print-kernel-base"), "mangled");
  EXPECT_EQ(value_of(columns, "--metrics"), "a__b,c__d");
  EXPECT_EQ(value_of(columns, "--print-units"), "base");
}

}  // namespace
}  // namespace profgate::test
