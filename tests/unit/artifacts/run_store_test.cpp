#include "artifacts/run_store.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "artifacts/run_list.h"
#include "small_disk.h"
#include "some_time.h"
#include "test_folder.h"

namespace profgate::artifacts {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string claimed_pair = "llama-tiny.smoke";

process_owner this_process() {
  return owner_of(::getpid());
}

/// Had this process's number once, and is gone.
process_owner dead_owner() {
  process_owner owner = this_process();
  owner.start_ticks -= 1;
  return owner;
}

process_owner living_stranger() {
  return owner_of(::getppid());
}

class run_store_test : public folder_test {
 protected:
  run_store store() const { return run_store(folder() / "stage2"); }
};

TEST_F(run_store_test, a_claim_makes_the_run_directory_and_its_folders) {
  const auto run = store().claim(claimed_pair, this_process(), some_time);
  EXPECT_EQ(run, folder() / "stage2" / "20251115-015206-llama-tiny.smoke");
  for (const char* name : {"stage1", "nsys", "ncu"})
    EXPECT_TRUE(std::filesystem::is_directory(run / name)) << name;
  EXPECT_EQ(store().open_current(claimed_pair, this_process()), run);
  const auto found = read_run(run);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->pair, claimed_pair);
  EXPECT_EQ(found->created_utc, "2025-11-15T01:52:06Z");
}

TEST_F(run_store_test, refuses_while_another_living_owner_holds_the_pair) {
  const auto run = store().claim(claimed_pair, living_stranger(), some_time);
  EXPECT_THAT(
      error_of([&] { store().claim(claimed_pair, this_process()); }),
      AllOf(StartsWith("2: another run of llama-tiny.smoke is in progress (process " +
                       std::to_string(::getppid())),
            HasSubstr("started 2025-11-15T01:52:06Z"), HasSubstr(run.string()), HasSubstr("wait for it")));
  EXPECT_EQ(list_runs(store().stage2_dir()).size(), 1U) << "a refused claim must leave no directory";
  EXPECT_EQ(error_of([&] { store().claim("other.smoke", this_process()); }), "no error");
}

TEST_F(run_store_test, replaces_a_dead_owner_and_keeps_its_run) {
  const auto before = store().claim(claimed_pair, dead_owner(), some_time);
  const auto after = store().claim(claimed_pair, this_process(), some_time);
  EXPECT_EQ(after.filename(), "20251115-015206-llama-tiny.smoke-2");
  EXPECT_EQ(store().open_current(claimed_pair, this_process()), after);
  EXPECT_TRUE(read_run(before).has_value());
}

TEST_F(run_store_test, the_same_owner_may_start_again) {
  store().claim(claimed_pair, this_process(), some_time);
  const auto second = store().claim(claimed_pair, this_process(), some_time);
  EXPECT_EQ(store().open_current(claimed_pair, this_process()), second);
}

TEST_F(run_store_test, later_steps_are_told_what_to_run_first) {
  EXPECT_THAT(error_of([&] { store().open_current(claimed_pair, this_process()); }),
              AllOf(StartsWith("2: no run of llama-tiny.smoke is in progress"),
                    HasSubstr("profgate run llama-tiny.smoke")));
  store().claim(claimed_pair, living_stranger());
  EXPECT_THAT(error_of([&] { store().open_current(claimed_pair, this_process()); }),
              AllOf(StartsWith("2: "), HasSubstr("belongs to process"), HasSubstr("is still at it")));
  EXPECT_TRUE(store().release(claimed_pair, living_stranger()));
  store().claim(claimed_pair, dead_owner());
  EXPECT_THAT(error_of([&] { store().open_current(claimed_pair, this_process()); }), HasSubstr("has ended"));
}

TEST_F(run_store_test, only_the_owner_releases_and_only_once) {
  EXPECT_FALSE(store().release(claimed_pair, this_process()));
  const auto run = store().claim(claimed_pair, living_stranger());
  EXPECT_FALSE(store().release(claimed_pair, this_process()));
  EXPECT_TRUE(store().is_in_use(claimed_pair, run));
  EXPECT_TRUE(store().release(claimed_pair, living_stranger()));
  EXPECT_FALSE(store().release(claimed_pair, living_stranger()));
  EXPECT_FALSE(store().is_in_use(claimed_pair, run));
  EXPECT_EQ(error_of([&] { store().claim(claimed_pair, this_process()); }), "no error");
}

TEST_F(run_store_test, says_so_when_the_run_directory_is_gone) {
  std::filesystem::remove_all(store().claim(claimed_pair, this_process()));
  EXPECT_THAT(error_of([&] { store().open_current(claimed_pair, this_process()); }), HasSubstr("is gone"));
}

TEST_F(run_store_test, refuses_a_damaged_record) {
  store().claim(claimed_pair, this_process());
  for (const char* text : {"", "{", "[]", R"({"run_id": 3})", R"({"run_id": "x", "owner": {}})"}) {
    put(folder() / "stage2" / ".current" / (claimed_pair + ".json"), text);
    EXPECT_THAT(error_of([&] { store().claim(claimed_pair, this_process()); }),
                AllOf(StartsWith("2: "), HasSubstr(claimed_pair + ".json:"), HasSubstr("remove the file")))
        << text;
  }
}

TEST_F(run_store_test, many_threads_get_directories_of_their_own) {
  std::vector<std::filesystem::path> runs(16);
  std::vector<std::thread> threads;
  for (auto& run : runs) {
    threads.emplace_back([&] { run = store().claim(claimed_pair, this_process(), some_time); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<std::filesystem::path>(runs.begin(), runs.end()).size(), runs.size());
  EXPECT_EQ(list_runs(store().stage2_dir(), claimed_pair).size(), runs.size());
}

TEST_F(run_store_test, of_many_processes_at_once_exactly_one_wins) {
  constexpr int process_count = 12;
  int results[2];
  int stay[2];
  ASSERT_EQ(::pipe(results), 0);
  ASSERT_EQ(::pipe(stay), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < process_count; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(stay[1]);
      const std::string error = error_of([&] { store().claim(claimed_pair, this_process(), some_time); });
      const char answer = error == "no error"                              ? 'w'
                          : error.find("in progress") != std::string::npos ? 'r'
                                                                           : '?';
      static_cast<void>(!::write(results[1], &answer, 1));
      char byte = 0;
      static_cast<void>(!::read(stay[0], &byte, 1));  // a living owner until all have tried
      ::_exit(0);
    }
    children.push_back(child);
  }
  std::string answers;
  for (char answer = 0; answers.size() < process_count && ::read(results[0], &answer, 1) == 1;)
    answers += answer;
  for (const int fd : {results[0], results[1], stay[0], stay[1]}) ::close(fd);
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  std::sort(answers.begin(), answers.end());
  EXPECT_EQ(answers, std::string(process_count - 1, 'r') + "w");
  EXPECT_EQ(list_runs(store().stage2_dir()).size(), 1U);
}

TEST_F(run_store_test, a_read_only_place_is_named_with_its_remedy) {
  const auto answer = on_mounted_disk(
      folder(), "", true, [&] { return error_of([&] { store().claim(claimed_pair, this_process()); }); });
  if (!answer) GTEST_SKIP() << "this machine does not let the test mount a read-only disk";
  EXPECT_THAT(*answer, AllOf(StartsWith("2: cannot create the folder"), HasSubstr("read-only"),
                             HasSubstr("artifacts.stage2_dir")));
}

TEST_F(run_store_test, a_folder_without_permission_is_named_with_its_remedy) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  std::filesystem::permissions(folder(),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_THAT(error_of([&] { store().claim(claimed_pair, this_process()); }),
              AllOf(StartsWith("2: "), HasSubstr("permission denied"), HasSubstr("artifacts.stage2_dir")));
  std::filesystem::permissions(folder(), std::filesystem::perms::owner_all);
}

TEST_F(run_store_test, tells_the_second_run_of_a_pair_from_another_pair) {
  const auto first = store().claim(claimed_pair, this_process(), some_time);
  const auto second = store().claim(claimed_pair, this_process(), some_time);        // ends in smoke-2
  const auto other = store().claim(claimed_pair + "-3", this_process(), some_time);  // a pair called smoke-3
  const auto tenth_minute = store().claim(claimed_pair, this_process(), some_time + std::chrono::minutes(10));
  std::vector<std::filesystem::path> found;
  for (const run_info& run : list_runs(store().stage2_dir(), claimed_pair)) found.push_back(run.path);
  EXPECT_EQ(found, (std::vector<std::filesystem::path>{first, second, tenth_minute}));
  EXPECT_EQ(list_runs(store().stage2_dir(), claimed_pair + "-3").at(0).path, other);
  EXPECT_TRUE(list_runs(folder() / "none").empty());
}

TEST_F(run_store_test, a_run_from_the_future_is_never_the_newest) {
  const auto from_the_future = store().claim(claimed_pair, this_process(), some_time + std::chrono::hours(1));
  const auto newest = store().claim(claimed_pair, this_process(), some_time);
  const auto runs = list_runs(store().stage2_dir(), claimed_pair, some_time);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs.front().path, from_the_future);
  EXPECT_EQ(runs.back().path, newest);
  EXPECT_EQ(list_runs(store().stage2_dir(), claimed_pair, some_time + std::chrono::hours(2)).back().path,
            from_the_future)
      << "when that time has come it is one as any other";
}

}  // namespace
}  // namespace profgate::artifacts
