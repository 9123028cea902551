#include <fstream>
#include <thread>

#include "pair_fixture.h"

/// Baselines and history through the real program, several of it at once among them.
namespace profgate::integration {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class baseline_commands : public pair_fixture {
 protected:
  void SetUp() override {
    pair_fixture::SetUp();
    use_git_identity();
  }
  static fs::path runs_of(const std::string& recorded_case, const std::string& arm = "candidate") {
    return fs::path(PROFGATE_TEST_DATA) / "gate" / recorded_case / (arm + ".runs.json");
  }
  command_result accept(const fs::path& source, const std::string& reason,
                        const std::vector<std::string>& further = {}) const {
    std::vector<std::string> words = {"baseline", "accept", source.string(), "--reason", reason};
    words.insert(words.end(), further.begin(), further.end());
    return profgate(words);
  }
  fs::path baseline_file() const {
    return m_project / "conf/baselines/qwen3-0.6b/decode-b1/9d1c6f0f4b0a-nvidia-h200x132.json";
  }
  std::string baseline_text() const {
    std::ifstream stream(baseline_file());
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }
  void git(std::vector<std::string> words) const {
    words.insert(words.begin(), "git");
    ASSERT_EQ(run(words).exit_code, 0);
  }
  static std::size_t count_of(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
    return count;
  }
};

TEST_F(baseline_commands, accept_list_and_show) {
  const command_result accepted = accept(runs_of("stored-same-build"), "first build");
  EXPECT_EQ(accepted.exit_code, 0) << accepted.output;
  ASSERT_TRUE(fs::exists(baseline_file())) << accepted.output;
  EXPECT_THAT(profgate({"baseline", "list"}).output,
              AllOf(HasSubstr("NVIDIA H200 (132 SMs)"), HasSubstr("Ada <ada@example.org>: first build")));
  const command_result shown = profgate({"baseline", "show", "qwen3-0.6b.decode-b1"});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_THAT(shown.output, AllOf(HasSubstr("commit           2222222"), HasSubstr("decode_all"),
                                  HasSubstr("ms"), HasSubstr("driver")));
  const command_result judged = profgate({"gate", "--baseline", baseline_file().string(), "--candidate",
                                          runs_of("stored-slower-15-percent").string()});
  EXPECT_EQ(judged.exit_code, 1) << judged.output;
}

TEST_F(baseline_commands, accept_says_of_which_stages_the_processes_lie_far_apart) {
  const command_result wide = accept(runs_of("noisy"), "on a busy machine");
  EXPECT_EQ(wide.exit_code, 0);
  EXPECT_THAT(wide.output, HasSubstr("the middle half of them spreads over 11.5 %, as on a busy machine"));
  EXPECT_THAT(accept(runs_of("stored-same-build"), "first build").output, Not(HasSubstr("busy")));
}

TEST_F(baseline_commands, an_anchor_stays_until_somebody_moves_it) {
  ASSERT_EQ(accept(runs_of("stored-same-build"), "first build").exit_code, 0);
  const std::vector<std::string> words = {"baseline", "anchor", "qwen3-0.6b.decode-b1", "--name", "v1.0"};
  const command_result set = profgate(words);
  EXPECT_EQ(set.exit_code, 0) << set.output;
  EXPECT_THAT(set.output, AllOf(HasSubstr("conf/baselines/@v1.0/qwen3-0.6b/decode-b1/9d1c6f0f4b0a"),
                                HasSubstr("gate.anchor=v1.0")));
  ASSERT_EQ(accept(runs_of("stored-slower-15-percent"), "slower").exit_code, 0);
  const command_result again = profgate(words);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.output, HasSubstr("is the anchor 'v1.0' already"));
  EXPECT_THAT(profgate({"baseline", "list"}).output, HasSubstr("@v1.0/qwen3-0.6b/decode-b1/"));
  EXPECT_THAT(profgate({"baseline", "show", "qwen3-0.6b.decode-b1"}).output, HasSubstr("slower"))
      << "the pair is still its baseline";
  EXPECT_EQ(profgate({"baseline", "anchor", "qwen3-0.6b.decode-b1", "--name", "v1.0", "--force"}).exit_code,
            0);
}

TEST_F(baseline_commands, accept_refuses_what_has_no_reason_and_leaves_nothing) {
  const command_result refused = accept(runs_of("stored-same-build"), "  ");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.output, HasSubstr("needs a reason"));
  EXPECT_EQ(profgate({"baseline", "accept", runs_of("stored-same-build").string()}).exit_code, 2);
  EXPECT_EQ(accept(runs_of("same-build"), "too short").exit_code, 2) << "6 runs are no baseline";
  std::ofstream(m_project / "gitconfig") << "";
  EXPECT_THAT(accept(runs_of("stored-same-build"), "who am I").output, HasSubstr("git config user.name"));
  EXPECT_FALSE(fs::exists(m_project / "conf/baselines"));
}

TEST_F(baseline_commands, a_folder_without_run_sets_says_what_to_run) {
  fs::create_directories(m_project / "some-run");
  const command_result refused = accept(m_project / "some-run", "why not");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.output, AllOf(HasSubstr("candidate.runs.json"), HasSubstr("gate")));
  fs::create_directories(m_project / "some-run/gate");
  fs::copy_file(runs_of("stored-same-build"), m_project / "some-run/gate/candidate.runs.json");
  EXPECT_EQ(accept(m_project / "some-run", "now it has").exit_code, 0);
  EXPECT_THAT(baseline_text(), HasSubstr("\"run_id\": \"some-run\""));
}

TEST_F(baseline_commands, a_run_is_the_same_with_a_slash_behind_its_name) {
  fs::create_directories(m_project / "some-run/gate");
  fs::copy_file(runs_of("stored-same-build"), m_project / "some-run/gate/candidate.runs.json");
  EXPECT_THAT(profgate({"history", "append", "some-run"}).output, HasSubstr("some-run appended"));
  EXPECT_THAT(profgate({"history", "append", "some-run/"}).output, HasSubstr("some-run was there already"));
}

TEST_F(baseline_commands, record_replaces_nothing_unasked_and_runs_nothing_before_it_says_so) {
  const fs::path file = m_project / "first.runs.json";
  std::ofstream(file) << "precious";
  const fs::path manifest =
      register_probe({"--repetitions", "23", "--steps", "2", "--spin-iterations", "20000"});
  std::vector<std::string> words = {"baseline",        "record", "--manifest",
                                    manifest.string(), "--out",  file.string()};
  const command_result refused = profgate(words);
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_THAT(refused.output, AllOf(HasSubstr("first.runs.json exists"), HasSubstr("--force")));
  EXPECT_FALSE(fs::exists(stage2_dir()));
  EXPECT_EQ(fs::file_size(file), std::string("precious").size());

  words.insert(words.end(), {"--force", "--processes", "8"});
  const command_result recorded = profgate(words);
  EXPECT_EQ(recorded.exit_code, 0) << recorded.output;
  EXPECT_THAT(recorded.output, HasSubstr("is not in git: which code is recorded cannot be said"));
  const command_result accepted = accept(file, "a project outside of git");
  EXPECT_EQ(accepted.exit_code, 0) << accepted.output;
  EXPECT_THAT(accepted.output, HasSubstr("note: the run set names no commit"));
}

TEST_F(baseline_commands, record_refuses_code_that_git_does_not_tell_of) {
  std::ofstream(m_project / ".git") << "gitdir: /nowhere\n";
  const command_result refused =
      profgate({"baseline", "record", "--manifest", register_probe({}).string(), "--out", "runs.json"});
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_THAT(refused.output, AllOf(HasSubstr("not a git repository: "), HasSubstr("--add safe.directory")));
  EXPECT_FALSE(fs::exists(stage2_dir()));
  EXPECT_FALSE(fs::exists(m_project / "runs.json"));
}

TEST_F(baseline_commands, the_run_that_a_baseline_comes_from_is_not_cleaned_away) {
  ASSERT_EQ(run_pair(register_probe({})).exit_code, 0);
  fs::create_directories(latest_run() / "gate");
  fs::copy_file(runs_of("stored-same-build"), latest_run() / "gate/candidate.runs.json");
  ASSERT_EQ(accept(latest_run(), "first").exit_code, 0);
  const fs::path kept = latest_run();
  ASSERT_EQ(run_pair(register_probe({})).exit_code, 0);
  const command_result cleaned = profgate({"clean", "--all", "--yes"});
  EXPECT_EQ(cleaned.exit_code, 0);
  EXPECT_THAT(runs(), ::testing::ElementsAre(kept)) << cleaned.output;
}

TEST_F(baseline_commands, the_history_is_where_the_run_was_told_to_have_it) {
  ASSERT_EQ(run_pair(register_probe({}), {"gate.history_file=kept/times.sqlite"}).exit_code, 0);
  fs::create_directories(latest_run() / "gate");
  fs::copy_file(runs_of("stored-same-build"), latest_run() / "gate/candidate.runs.json");
  ASSERT_EQ(accept(latest_run(), "first").exit_code, 0);
  EXPECT_TRUE(fs::exists(m_project / "kept/times.sqlite"));
  EXPECT_FALSE(fs::exists(m_project / "tmp/history.sqlite"));
  const command_result elsewhere =
      profgate({"history", "append", latest_run().string(), "--history-file", "other.sqlite"});
  EXPECT_EQ(elsewhere.exit_code, 0) << elsewhere.output;
  EXPECT_TRUE(fs::exists(m_project / "other.sqlite")) << "what is asked for goes first";
  fs::remove(m_project / "kept/times.sqlite");
  std::ofstream(m_project / "kept/times.sqlite") << "no history";
  EXPECT_THAT(profgate({"history", "probe.probe"}).output, HasSubstr("kept/times.sqlite"));
}

TEST_F(baseline_commands, save_writes_what_can_be_read_again_and_replaces_nothing_unasked) {
  const fs::path copy = m_project / "copies/one.json";
  const std::vector<std::string> words = {"baseline", "save", runs_of("same-build").string(), "--out",
                                          copy.string()};
  EXPECT_EQ(profgate(words).exit_code, 0);
  std::ifstream a(copy);
  std::ifstream b(runs_of("same-build"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(a), {}),
            std::string(std::istreambuf_iterator<char>(b), {}));
  const command_result again = profgate(words);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.output, HasSubstr("--force"));
}

TEST_F(baseline_commands, the_same_measurement_is_accepted_once) {
  ASSERT_EQ(accept(runs_of("stored-same-build"), "first").exit_code, 0);
  const std::string text = baseline_text();
  const command_result again = accept(runs_of("stored-same-build"), "again");
  EXPECT_EQ(again.exit_code, 3) << again.output;
  EXPECT_THAT(again.output, HasSubstr("already is this measurement"));
  EXPECT_EQ(baseline_text(), text);
}

TEST_F(baseline_commands, one_that_was_just_accepted_is_no_uncommitted_code) {
  git({"init", "--quiet"});
  ASSERT_EQ(accept(runs_of("stored-same-build"), "first").exit_code, 0);
  const fs::path manifest = register_probe({});
  git({"add", "conf"});
  git({"commit", "--quiet", "--message", "first"});
  ASSERT_EQ(accept(runs_of("stored-slower-15-percent"), "slower").exit_code, 0);
  const auto is_dirty = [&] {
    EXPECT_EQ(run_pair(manifest).exit_code, 0);
    return nlohmann::json::parse(text_of("env.json"))["git"]["dirty"];
  };
  EXPECT_EQ(is_dirty(), false);
  std::ofstream(m_project / "conf/more.yaml") << "";
  git({"add", "conf/more.yaml"});
  EXPECT_EQ(is_dirty(), true);
}

TEST_F(baseline_commands, those_of_two_commits_are_compared) {
  git({"init", "--quiet"});
  for (const char* build : {"stored-same-build", "stored-slower-15-percent"}) {
    ASSERT_EQ(accept(runs_of(build), build).exit_code, 0);
    git({"add", "conf"});
    git({"commit", "--quiet", "--message", build});
  }
  const command_result commits = profgate({"compare", "HEAD~1", "HEAD"});
  EXPECT_EQ(commits.exit_code, 0) << commits.output;
  EXPECT_THAT(commits.output, AllOf(HasSubstr("baseline at HEAD\\~1"), HasSubstr("+15.")));
  const command_result with_pair = profgate({"compare", "HEAD~1", "qwen3-0.6b.decode-b1"});
  EXPECT_EQ(with_pair.exit_code, 0) << with_pair.output;
  EXPECT_THAT(with_pair.output, HasSubstr("baseline of qwen3-0.6b.decode-b1"));
  const command_result other = profgate({"compare", "HEAD~1", "HEAD", "--pair", "no.such"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.output, HasSubstr("nor has it a baseline in conf/baselines"));
}

TEST_F(baseline_commands, of_many_who_accept_at_once_each_is_recorded_or_told) {
  constexpr int people = 8;
  std::vector<command_result> results(people);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < people; ++i) {
      threads.emplace_back([&, i] {
        results[static_cast<std::size_t>(i)] =
            accept(runs_of(i % 2 == 0 ? "stored-same-build" : "stored-slower-15-percent"),
                   "person " + std::to_string(i));
      });
    }
  }
  const std::string text = baseline_text();
  std::size_t recorded = 0;
  for (int i = 0; i < people; ++i) {
    const command_result& result = results[static_cast<std::size_t>(i)];
    const bool is_recorded = text.find("person " + std::to_string(i)) != std::string::npos;
    EXPECT_EQ(result.exit_code, is_recorded ? 0 : 3) << result.output;
    if (!is_recorded) {
      EXPECT_THAT(result.output, AllOf(HasSubstr("nothing was written"), HasSubstr("Ada")));
    }
    recorded += is_recorded ? 1U : 0U;
  }
  EXPECT_GE(recorded, 1U);
  EXPECT_EQ(count_of(text, "\"accepted_utc\""), recorded);
  EXPECT_EQ(profgate({"baseline", "show", "qwen3-0.6b.decode-b1"}).exit_code, 0) << "the file is whole";
}

TEST_F(baseline_commands, of_many_who_would_replace_the_same_baseline_one_does) {
  constexpr int people = 6;
  ASSERT_EQ(accept(runs_of("stored-same-build"), "first").exit_code, 0);
  const std::string text = baseline_text();
  const std::size_t at = text.find("\"content_sha256\": \"") + std::string("\"content_sha256\": \"").size();
  const std::string checksum = text.substr(at, 64);
  std::vector<command_result> results(people);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < people; ++i) {
      threads.emplace_back([&, i] {
        results[static_cast<std::size_t>(i)] = accept(
            runs_of("stored-slower-15-percent"), "person " + std::to_string(i), {"--replaces", checksum});
      });
    }
  }
  int winners = 0;
  for (const command_result& result : results) winners += result.exit_code == 0 ? 1 : 0;
  EXPECT_EQ(winners, 1);
  EXPECT_EQ(count_of(baseline_text(), "\"accepted_utc\""), 2U);
  EXPECT_THAT(baseline_text(), HasSubstr("\"previous_sha256\": \"" + checksum));
}

TEST_F(baseline_commands, a_damaged_baseline_is_listed_as_such_beside_the_others) {
  ASSERT_EQ(accept(runs_of("stored-same-build"), "first").exit_code, 0);
  std::ofstream(m_project / "conf/baselines/broken.json") << "{\n=======\n";
  const command_result listed = profgate({"baseline", "list"});
  EXPECT_EQ(listed.exit_code, 2);
  EXPECT_THAT(listed.output, AllOf(HasSubstr("broken.json:2"), HasSubstr("first")));
}

TEST_F(baseline_commands, history_is_appended_once_and_drawn) {
  ASSERT_EQ(accept(runs_of("stored-same-build"), "first").exit_code, 0);
  const auto append = [&](const std::string& name) {
    return profgate({"history", "append", runs_of(name).string()});
  };
  EXPECT_THAT(append("stored-slower-15-percent").output, HasSubstr("appended"));
  EXPECT_THAT(append("stored-slower-15-percent").output, HasSubstr("was there already"));
  const command_result table = profgate({"history", "qwen3-0.6b.decode-b1", "--stage", "decode_all"});
  EXPECT_EQ(table.exit_code, 0) << table.output;
  EXPECT_EQ(count_of(table.output, "| 2026-"), 2U) << table.output;
  EXPECT_THAT(table.output, AllOf(HasSubstr("accepted"), HasSubstr("nightly"), HasSubstr("1.0000"),
                                  HasSubstr("anchor"), Not(HasSubstr("prefill"))));
  EXPECT_EQ(profgate({"history", "qwen3-0.6b.decode-b1", "--out", "trend.svg"}).exit_code, 0);
  std::ifstream drawn(m_project / "trend.svg");
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(drawn), {}), HasSubstr("<polyline"));
  EXPECT_EQ(profgate({"history", "qwen3-0.6b.decode-b1", "--out", "trend.pdf"}).exit_code, 2);
  EXPECT_EQ(profgate({"history", "no-such.pair"}).exit_code, 2);
  EXPECT_EQ(profgate({"history"}).exit_code, 2);
}

TEST_F(baseline_commands, a_foreign_history_file_is_refused_and_stays) {
  std::ofstream(m_project / "notes.sqlite") << "precious";
  const command_result refused =
      profgate({"history", "append", runs_of("same-build").string(), "--history-file", "notes.sqlite"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.output, HasSubstr("not an SQLite database"));
  EXPECT_EQ(accept(runs_of("stored-same-build"), "first", {"--history-file", "notes.sqlite"}).exit_code, 2);
  EXPECT_FALSE(fs::exists(baseline_file())) << "accepted, although it could not be recorded";
  std::ifstream kept(m_project / "notes.sqlite");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "precious");
}

}  // namespace
}  // namespace profgate::integration
