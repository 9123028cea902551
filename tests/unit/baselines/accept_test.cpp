#include <gmock/gmock.h>

#include <csignal>
#include <fstream>

#include "artifacts/files.h"
#include "baselines/history.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "store_test.h"

namespace profgate::baselines {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class accepting : public store_test {
 protected:
  static std::string refusal_of(gate::run_set runs, const accept_request& wanted) {
    return error_of([&] { accept_baseline(runs_of(std::move(runs)), wanted); });
  }
};

TEST_F(accepting, leaves_one_file_a_key_and_a_record) {
  const accepted_baseline first = accept_baseline(runs_of(made_runs(9e6)), request());
  EXPECT_EQ(first.file.lexically_relative(m_store), "qwen3-0.6b/decode-b1/cccccccccccc-nvidia-h200x132.json");
  const accepted_baseline second = accept_baseline(runs_of(made_later(8e6)), request("faster"));
  EXPECT_EQ(second.file, first.file);
  const stored_run_set now = read_run_set(first.file);
  ASSERT_EQ(now.accepted.size(), 2U);
  EXPECT_EQ(now.accepted[0].reason, "first build");
  EXPECT_EQ(now.accepted[0].previous_sha256, "");
  EXPECT_EQ(now.accepted[1].reason, "faster");
  EXPECT_EQ(now.accepted[1].author, "Ada <ada@example.org>");
  EXPECT_EQ(now.accepted[1].commit, std::string(40, 'b'));
  EXPECT_EQ(now.accepted[1].previous_sha256, first.stored.content_sha256);
  EXPECT_THAT(list_baselines(m_store),
              ElementsAre(fs::path("qwen3-0.6b/decode-b1/cccccccccccc-nvidia-h200x132.json")));
}

TEST_F(accepting, in_the_place_of_a_damaged_file_says_what_helps_and_that_does) {
  const fs::path file = accept_baseline(runs_of(made_runs(9e6)), request()).file;
  for (const std::string& damaged :
       {std::string("{"), artifacts::read_file(file).replace(1, 0, "\"a\": 1,")}) {
    std::ofstream(file) << damaged;
    EXPECT_THAT(refusal_of(made_later(8e6), request()),
                HasSubstr("restore the file from git; or remove it, measure the build again"));
  }
  fs::remove(file);
  EXPECT_EQ(accept_baseline(runs_of(made_later(8e6)), request()).file, file);
}

TEST_F(accepting, keys_do_not_collide) {
  gate::run_set other = made_runs(9e6);
  other.identity.multiprocessors = 114;
  EXPECT_NE(baseline_name(made_runs(9e6).identity), baseline_name(other.identity));
  other = made_runs(9e6);
  other.identity.config_sha256 = std::string(64, 'd');
  EXPECT_NE(baseline_name(made_runs(9e6).identity), baseline_name(other.identity));
  other.identity.pair = "../../etc.passwd";
  const std::string hostile = baseline_name(other.identity).string();
  EXPECT_EQ(hostile.find(".."), hostile.rfind("..", 3)) << hostile;
  EXPECT_THAT((fs::path("a") / hostile).lexically_normal().string(), HasSubstr("a/"));
}

TEST_F(accepting, needs_a_reason_and_an_author) {
  EXPECT_THAT(refusal_of(made_runs(9e6), request("")), HasSubstr("--reason"));
  EXPECT_THAT(refusal_of(made_runs(9e6), request(" \n\t")), HasSubstr("--reason"));
  accept_request nobody = request();
  nobody.author.clear();
  EXPECT_THAT(refusal_of(made_runs(9e6), nobody), HasSubstr("git config user.name"));
  EXPECT_FALSE(fs::exists(m_store));
}

TEST_F(accepting, refuses_what_nothing_could_be_compared_with) {
  gate::run_set dirty = made_runs(9e6);
  dirty.identity.is_dirty = true;
  EXPECT_THAT(refusal_of(dirty, request()),
              AllOf(HasSubstr("uncommitted"), HasSubstr("commit, measure again")));
  gate::run_set unknown = dirty;
  unknown.identity.commit.clear();
  EXPECT_THAT(refusal_of(unknown, request()),
              AllOf(HasSubstr("no commit is known"), HasSubstr("git config --global --add safe.directory")));
  gate::run_set profiled = made_runs(9e6);
  profiled.identity.is_profiled = true;
  EXPECT_THAT(refusal_of(profiled, request()), HasSubstr("profiler"));
  EXPECT_THAT(refusal_of(made_runs(9e6, 8), request()), HasSubstr("7 processes of decode_all that count"));
  EXPECT_THAT(refusal_of(made_runs(9e6, 0), request()), HasSubstr("no samples"));
  gate::run_set disturbed = made_runs(9e6);
  disturbed.processes[2].conditions.foreign_processes = {"4711 python"};
  EXPECT_THAT(refusal_of(disturbed, request()), HasSubstr("4711 python"));
  gate::run_set disturbed_while_warming_up = made_runs(9e6);
  disturbed_while_warming_up.processes[0].conditions.foreign_processes = {"4711 python"};
  EXPECT_EQ(refusal_of(disturbed_while_warming_up, request()), "no error");
}

TEST_F(accepting, tells_the_second_of_two_who_was_first_and_loses_nothing) {
  accept_request mine = request("mine");
  mine.replaces_sha256 = current_checksum(mine.baselines_dir, made_runs(9e6).identity);  // none yet
  const accepted_baseline theirs = accept_baseline(runs_of(made_later(8e6)), request("theirs"));
  EXPECT_THAT(refusal_of(made_runs(9e6), mine),
              AllOf(HasSubstr("Ada"), HasSubstr("theirs"), HasSubstr("nothing was written"),
                    HasSubstr("baseline show")));
  EXPECT_EQ(read_run_set(theirs.file).content_sha256, theirs.stored.content_sha256);
  mine.replaces_sha256 = theirs.stored.content_sha256;
  EXPECT_EQ(accept_baseline(runs_of(made_runs(9e6)), mine).stored.accepted.size(), 2U);
}

TEST_F(accepting, names_the_folder_that_cannot_be_made) {
  std::ofstream(folder() / "file") << "in the way";
  accept_request below_a_file = request();
  below_a_file.baselines_dir = folder() / "file" / "baselines";
  EXPECT_THAT(refusal_of(made_runs(9e6), below_a_file),
              HasSubstr("cannot create the folder " + below_a_file.baselines_dir.string()));
  accept_request history_below_a_file = request();
  history_below_a_file.history_file = folder() / "file" / "history.db";
  EXPECT_THAT(refusal_of(made_runs(9e6), history_below_a_file),
              HasSubstr("history.db: its folder cannot be made: "));
}

TEST_F(accepting, does_not_write_over_a_damaged_baseline) {
  const accepted_baseline first = accept_baseline(runs_of(made_runs(9e6)), request());
  const std::string damaged = "<<<<<<< HEAD\n" + artifacts::read_file(first.file);
  std::ofstream(first.file) << damaged;
  EXPECT_THAT(refusal_of(made_later(8e6), request()),
              AllOf(HasSubstr(":1: "), HasSubstr("unfinished merge")));
  EXPECT_EQ(artifacts::read_file(first.file), damaged);
}

TEST_F(accepting, a_file_under_another_key_s_name_is_found_out) {
  const accepted_baseline first = accept_baseline(runs_of(made_runs(9e6)), request());
  gate::run_set other = made_runs(9e6);
  other.identity.device_name = "NVIDIA H100";
  const fs::path wrong = m_store / baseline_name(other.identity);
  fs::copy_file(first.file, wrong);
  EXPECT_THROW(find_baseline(m_store, other.identity), core::bad_input);
}

TEST_F(accepting, a_baseline_is_found_by_pair_name_or_path) {
  const accepted_baseline first = accept_baseline(runs_of(made_runs(9e6)), request());
  const fs::path folder = m_store;
  EXPECT_EQ(resolve_baseline(folder, "qwen3-0.6b.decode-b1"), first.file);
  EXPECT_EQ(resolve_baseline(folder, "qwen3-0.6b/decode-b1/cccc"), first.file);
  EXPECT_EQ(resolve_baseline(folder, first.file.string()), first.file);
  EXPECT_THROW(resolve_baseline(folder, "llama"), core::bad_input);
  gate::run_set other = made_runs(9e6);
  other.identity.multiprocessors = 114;
  accept_baseline(runs_of(other), request());
  EXPECT_THROW(resolve_baseline(folder, "qwen3-0.6b.decode-b1"), core::bad_input);
}

TEST_F(accepting, a_baseline_is_found_by_a_pair_that_its_file_name_does_not_spell) {
  gate::run_set runs = made_runs(9e6);
  runs.identity.pair = "Org+Qwen3-0.6B.Decode_B1";
  const accepted_baseline first = accept_baseline(runs_of(runs), request());
  EXPECT_THAT(first.file.string(), HasSubstr("/org-qwen3-0.6b/decode_b1/"));
  EXPECT_EQ(resolve_baseline(m_store, "Org+Qwen3-0.6B.Decode_B1"), first.file);
  runs.identity.pair = "my program";
  const accepted_baseline second = accept_baseline(runs_of(runs), request());
  EXPECT_EQ(resolve_baseline(m_store, "my program"), second.file) << "a pair without a configuration";
}

TEST_F(accepting, what_is_in_no_repository_is_accepted) {
  gate::run_set runs = made_runs(9e6);
  runs.identity.commit.clear();
  EXPECT_EQ(refusal_of(runs, request()), "no error");
}

TEST_F(accepting, the_run_directories_of_baselines_are_known_to_retention) {
  const stored_run_set stored = runs_of(made_runs(9e6), "20261115-090000-qwen3-0.6b.decode-b1");
  accept_baseline(stored, request());
  std::ofstream(m_store / "broken.json") << "{";
  EXPECT_THAT(run_ids_of_baselines(m_store), ElementsAre(stored.run_id));
}

TEST_F(accepting, is_one_act_with_the_history) {
  const accepted_baseline first = accept_baseline(runs_of(made_runs(9e6)), request());
  const auto rows = [&] { return read_history(m_history, first.stored.runs.identity.pair); };
  ASSERT_EQ(rows().size(), 2U);  // stages
  EXPECT_EQ(rows().front().kind, history_kind::accepted);

  // A history that refuses: the baseline stays the one it was.
  const std::string before = artifacts::read_file(first.file);
  accept_request elsewhere = request("faster");
  elsewhere.history_file = m_store;  // a folder
  EXPECT_NE(refusal_of(made_later(8e6), elsewhere), "no error");
  EXPECT_EQ(artifacts::read_file(first.file), before);

  // Killed after the baseline was written and before the history was: the same command finishes it, once.
  fs::remove(m_history);
  EXPECT_EQ(refusal_of(made_runs(9e6), request("again")), "no error");
  EXPECT_EQ(rows().size(), 2U);
  EXPECT_EQ(artifacts::read_file(first.file), before);
  EXPECT_THAT(refusal_of(made_runs(9e6), request("again")), HasSubstr("already is this measurement"));
}

TEST_F(accepting, an_interrupt_leaves_neither) {
  const core::interrupt_guard guard;
  std::raise(SIGINT);
  EXPECT_THAT(refusal_of(made_runs(9e6), request()), HasSubstr("interrupted by SIGINT"));
  EXPECT_TRUE(list_baselines(m_store).empty());
}

}  // namespace
}  // namespace profgate::baselines
