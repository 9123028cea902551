#include "artifacts/owner.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_folder.h"

namespace profgate::artifacts {
namespace {

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
  EXPECT_TRUE(is_alive(owner));
  ::close(ends[1]);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(is_alive(owner)) << "a zombie does nothing any more";
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(is_alive(owner));
  EXPECT_THAT(error_of([&] { owner_of(child); }), ::testing::StartsWith("2: there is no process"));
}

TEST(owner, a_later_process_with_the_same_number_is_another) {
  process_owner owner = owner_of(::getpid());
  EXPECT_TRUE(is_alive(owner));
  owner.start_ticks -= 1;
  EXPECT_FALSE(is_alive(owner));
}

TEST(owner, a_reboot_ends_it) {
  process_owner owner = owner_of(::getpid());
  owner.boot_id = "another boot";
  EXPECT_FALSE(is_alive(owner));
}

TEST(owner, of_another_host_or_container_counts_as_alive) {
  process_owner elsewhere = owner_of(::getpid());
  elsewhere.boot_id = "another kernel";
  elsewhere.host = "another-host";
  EXPECT_TRUE(is_alive(elsewhere));
  process_owner in_container = owner_of(::getpid());
  in_container.pid_namespace = "pid:[1]";
  in_container.start_ticks = 1;
  EXPECT_TRUE(is_alive(in_container));
}

}  // namespace
}  // namespace profgate::artifacts
