#include "artifacts/owner.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_folder.h"

namespace profgate::artifacts {
namespace {

const std::filesystem::path nowhere = "no file";  ///< whose age tells nothing

TEST(owner, is_alive_as_long_as_its_process_runs) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    char byte = 0;
    static_cast<void>(!::read(ends[0], &byte, 1));  // until the parent closes its end
    ::_exit(0);
  }
  ::close(ends[0]);
  const process_owner owner = owner_of(child);
  EXPECT_EQ(owner.pid, child);
  EXPECT_TRUE(is_alive(owner, nowhere));
  ::close(ends[1]);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(is_alive(owner, nowhere)) << "a zombie does nothing any more";
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(is_alive(owner, nowhere));
  EXPECT_THAT(error_of([&] { owner_of(child); }), ::testing::StartsWith("2: there is no process"));
}

TEST(owner, a_later_process_with_the_same_number_is_another) {
  process_owner owner = owner_of(::getpid());
  EXPECT_TRUE(is_alive(owner, nowhere));
  owner.start_ticks -= 1;
  EXPECT_FALSE(is_alive(owner, nowhere));
}

TEST(owner, a_reboot_ends_it) {
  process_owner owner = owner_of(::getpid());
  owner.boot_id = "another boot";
  EXPECT_FALSE(is_alive(owner, nowhere));
}

using recorded_owner = folder_test;

TEST_F(recorded_owner, of_another_host_counts_as_alive_for_a_week) {
  process_owner elsewhere = owner_of(::getpid());
  elsewhere.boot_id = "another kernel";
  elsewhere.host = "another-host";
  EXPECT_TRUE(is_alive(elsewhere, nowhere));
  const std::filesystem::path record = folder() / "status.json";
  put(record, "{}");
  EXPECT_TRUE(is_alive(elsewhere, record));
  std::filesystem::last_write_time(
      record, std::filesystem::file_time_type::clock::now() - std::chrono::hours(8 * 24));
  EXPECT_FALSE(is_alive(elsewhere, record));
}

TEST(owner, in_a_container_is_seen_from_outside_and_counts_as_alive_from_within_another) {
  process_owner in_container = owner_of(::getpid());
  const bool is_outside = in_container.pid_namespace == "pid:[4026531836]";
  in_container.pid_namespace = "pid:[1]";
  EXPECT_TRUE(is_alive(in_container, nowhere)) << "this very process";
  in_container.start_ticks = 1;
  EXPECT_EQ(is_alive(in_container, nowhere), !is_outside) << "one that has died";
}

}  // namespace
}  // namespace profgate::artifacts
