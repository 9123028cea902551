#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <ctime>
#include <vector>

#include "misbehave.h"

namespace misbehave {
namespace {

/// Holds the FIFO's writing end for as long as this process lives: its reader so sees who is left.
void hold(const char* fifo) {
  const int fd = ::open(fifo, O_WRONLY);
  if (fd < 0 || ::write(fd, "+", 1) != 1) ::_exit(9);
}

/// Returns once `process` has called done(), in a fork or in a fork of a fork, or has ended without.
template <typename F>
void fork_and_wait_until_ready(const F& process) {
  std::array<int, 2> ready{};
  if (::pipe(ready.data()) != 0) ::_exit(9);
  const pid_t pid = ::fork();
  if (pid == 0) {
    process([&] {
      // A byte, since the end of the pipe would come only when the last that inherited it is gone.
      if (::write(ready[1], "+", 1) != 1) ::_exit(9);
    });
    ::_exit(0);
  }
  ::close(ready[1]);
  char byte = 0;
  [[maybe_unused]] const ssize_t count = ::read(ready[0], &byte, 1);
  ::close(ready[0]);
}

/// A daemon by the book: two forks and a session of its own between them, its output left open.
void start_daemon(const char* fifo) {
  fork_and_wait_until_ready([&](const auto& done) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    ::prctl(PR_SET_NAME, "test-daemon");
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);
    hold(fifo);
    done();
    wait_forever();
  });
}

}  // namespace

int leave_daemon(const char* fifo) {
  start_daemon(fifo);
  say("daemon started\n");
  return 0;
}

int leave_zombies() {
  for (int i = 0; i < 5; ++i) {
    fork_and_wait_until_ready([](const auto& done) {
      done();
      ::_exit(1);
    });
  }
  return 0;
}

int stubborn_tree(const char* fifo) {
  std::signal(SIGINT, SIG_IGN);
  hold(fifo);
  start_daemon(fifo);
  fork_and_wait_until_ready([&](const auto& done) {
    hold(fifo);
    start_daemon(fifo);
    done();
    wait_forever();
  });
  say("ready\n");
  wait_forever();
}

int keep_forking(const char* fifo) {
  constexpr int enough_to_begin = 10;
  constexpr int most = 400;  // a test that fails must not take the machine with it
  std::signal(SIGINT, SIG_IGN);
  for (int i = 0; i < most; ++i) {
    if (::fork() == 0) {
      ::setsid();
      hold(fifo);
      wait_forever();
    }
    if (i == enough_to_begin) say("ready\n");
  }
  wait_forever();
}

int kill_parent(const char* fifo) {
  hold(fifo);
  ::kill(::getppid(), SIGKILL);
  wait_forever();
}

int use_resources_in_grandchild(std::size_t megabytes) {
  fork_and_wait_until_ready([&](const auto&) {
    std::vector<char> memory(megabytes << 20, 'm');
    // At least 50 ms of CPU time, by the process's own CPU clock.
    volatile std::size_t at = 0;
    while (std::clock() < CLOCKS_PER_SEC / 20)
      at = (at + static_cast<std::size_t>(memory[at])) % memory.size();
    ::_exit(0);
  });
  return 0;
}

}  // namespace misbehave
