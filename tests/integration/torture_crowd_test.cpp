#include <algorithm>
#include <nlohmann/json.hpp>

#include "torture_fixture.h"

/// Many of each command at once: each succeeds or says who was first, and what they leave is whole.
namespace profgate::integration {
namespace {

namespace fs = std::filesystem;

class torture_crowd : public torture {
 protected:
  static int crowd() { return is_large() ? 10 : 3; }

  struct command {
    words argv;
    std::vector<int> good_codes;
    std::string excuse;  ///< what one says that was not first; empty: all of them succeed
  };
  /// All of all commands at once.
  void start_together(const std::vector<command>& commands) {
    std::vector<std::pair<const command*, started>> all;
    for (int each = 0; each < crowd(); ++each)
      for (const command& one : commands) all.emplace_back(&one, start(one.argv));
    std::map<const command*, int> successes;
    for (const auto& [one, running] : all) {
      const ending ended = end_of(running);
      const bool is_good = unless_ended(ended, one->good_codes).empty();
      successes[one] += is_good ? 1 : 0;
      const bool is_excused =
          ended.exit_code > 1 && !one->excuse.empty() && ended.output.find(one->excuse) != std::string::npos;
      count_round(!is_good,
                  unless(is_good || is_excused, one->argv.at(1) + " ended with " +
                                                    std::to_string(ended.exit_code) + ": " + ended.output));
    }
    for (const command& one : commands) EXPECT_GE(successes[&one], 1) << one.argv.at(1);
    EXPECT_EQ(left_behind(), "");
  }
};

TEST_F(torture_crowd, of_all_commands_leaves_everything_whole) {
  const fs::path manifest = register_probe({}, "first");
  ASSERT_EQ(run_pair(manifest).exit_code, 0);
  ASSERT_EQ(run_pair(manifest).exit_code, 0);
  const std::string first = runs().front().string();
  const std::string second = runs().back().string();
  const std::string history = (m_project / "history.db").string();
  quick_build("old");
  const fs::path build = quick_build("new");
  const fs::path other = register_probe({}, "other");
  start_together({
      {profgate_words({"run", "--manifest", other.string(), "artifacts.keep_runs=1000"}), {0}, "in progress"},
      {profgate_words({"baseline", "accept", recorded("candidate").string(), "--reason", "torture",
                       "--history-file", history}),
       {0},
       "nothing was written"},
      {ab_words(build, "old"), {0, 77}, ""},
      {profgate_words({"history", "append", recorded("baseline").string(), "--history-file", history}),
       {0},
       ""},
      {profgate_words({"analyze", first}), {0}, ""},
      {profgate_words({"compare", first, second, "--out", "compared"}), {0}, ""},
      {profgate_words({"baseline", "list"}), {0}, ""},
  });
  EXPECT_EQ(damaged_json(m_project), "");
  EXPECT_EQ(damaged_history(history), "");
  const std::string list = profgate({"baseline", "list"}).output;
  EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), 2) << "one baseline: " << list;
  const command_result shown = profgate({"history", "qwen3-0.6b.decode-b1", "--history-file", history});
  EXPECT_THAT(shown.output, ::testing::HasSubstr("| accepted | 9.11 ms |"));
  for (const std::string& run : {first, second}) EXPECT_EQ(profgate({"render", run}).exit_code, 0) << run;
}

TEST_F(torture_crowd, of_accepts_has_one_winner_for_each_baseline) {
  const auto accept = [&](const std::string& arm, const std::string& number) {
    return profgate_words({"baseline", "accept", recorded(arm).string(), "--reason", "number " + number,
                           "--replaces", "", "--history-file", "history.db"});
  };
  // Each says that there is none yet: whoever comes second is told so.
  start_together({{accept("candidate", "one"), {0}, "nothing was written"}});
  const std::string list = profgate({"baseline", "list"}).output;
  EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), 2) << "one baseline: " << list;
  EXPECT_EQ(damaged_history(m_project / "history.db"), "");
}

}  // namespace
}  // namespace profgate::integration
