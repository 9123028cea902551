#include "llm/workload.h"
#include "support.h"

namespace profgate::llm {
namespace {

using namespace testing_support;

command_line parse_words(std::vector<const char*> arguments) {
  return parse_command_line(arguments);
}

TEST(command_line, reads_the_three_options_in_any_order) {
  const auto command = parse_words({"--mode", "profile", "--result", "r.json", "--config", "c.yaml"});
  EXPECT_EQ(command.mode, run_mode::profile);
  EXPECT_EQ(command.result_path, "r.json");
  EXPECT_EQ(command.config_path, "c.yaml");
}

TEST(command_line, says_what_is_wrong_and_how_to_call_it) {
  expect_bad_input("unknown argument '--verbose'", [] { parse_words({"--verbose", "1"}); });
  expect_bad_input("--config has no value", [] { parse_words({"--mode", "bench", "--config"}); });
  expect_bad_input("--mode is given twice", [] { parse_words({"--mode", "bench", "--mode", "bench"}); });
  expect_bad_input("--result is missing", [] { parse_words({"--mode", "bench", "--config", "c"}); });
  expect_bad_input("--mode is 'fast', not bench, profile or count", [] {
    parse_words({"--mode", "fast", "--config", "c", "--result", "r"});
  });
  EXPECT_THAT(failure_of([] { parse_words({}); }).remedy(), ::testing::HasSubstr("--mode bench|profile"));
}

}  // namespace
}  // namespace profgate::llm
