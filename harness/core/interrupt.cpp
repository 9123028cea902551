#include "core/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "core/error.h"

namespace profgate::core {
namespace {

constexpr std::array<int, 3> handled_signals{SIGINT, SIGTERM, SIGHUP};

// A signal handler can reach nothing but globals; lock-free atomics are safe in it.
std::atomic<int> signals_seen{0};
std::atomic<int> read_end{-1};
std::atomic<int> write_end{-1};
std::array<struct sigaction, handled_signals.size()> previous_actions;

}  // namespace

std::atomic<int> interrupt_guard::s_first_signal{0};

void interrupt_guard::note(int signal) {
  const int saved_errno = errno;
  int none = 0;
  s_first_signal.compare_exchange_strong(none, signal);
  signals_seen.fetch_add(1);
  // Nobody drains the pipe, so it stays readable for all who wait; once it is full there is nothing to add.
  const char byte = 0;
  [[maybe_unused]] const ssize_t written = ::write(write_end.load(), &byte, 1);
  errno = saved_errno;
}

interrupt_guard::interrupt_guard() {
  if (read_end.load() >= 0) {
    throw bad_input("a second interrupt_guard was made while the first exists",
                    "make one, in main, and let it live as long as the program");
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    throw step_failure(std::string("cannot make a pipe for signals: ") + std::strerror(errno),
                       "close files or raise the limit (ulimit -n)");
  }
  read_end = ends[0];
  write_end = ends[1];
  for (std::size_t i = 0; i < handled_signals.size(); ++i) {
    ::sigaction(handled_signals[i], nullptr, &previous_actions[i]);
    if (handled_signals[i] == SIGHUP && previous_actions[i].sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = note;
    action.sa_flags = SA_RESTART;  // code that knows nothing of the guard need not handle EINTR
    sigfillset(&action.sa_mask);
    ::sigaction(handled_signals[i], &action, nullptr);
  }
}

interrupt_guard::~interrupt_guard() {
  for (std::size_t i = 0; i < handled_signals.size(); ++i) {
    ::sigaction(handled_signals[i], &previous_actions[i], nullptr);
  }
  ::close(read_end.exchange(-1));
  ::close(write_end.exchange(-1));
  s_first_signal = 0;
  signals_seen = 0;
}

int interrupt_guard::count() {
  return signals_seen.load();
}
int interrupt_guard::wait_fd() {
  return read_end.load();
}

void throw_interrupted() {
  const int signal = interrupt_guard::first_signal();
  throw interrupted(std::string("interrupted by SIG") + ::sigabbrev_np(signal));
}

void sleep_unless_interrupted(std::chrono::milliseconds duration) {
  // Without a guard the descriptor is -1, which poll() overlooks.
  struct pollfd signal_came {
    interrupt_guard::wait_fd(), POLLIN, 0
  };
  ::poll(&signal_came, 1, static_cast<int>(duration.count()));
}

}  // namespace profgate::core
