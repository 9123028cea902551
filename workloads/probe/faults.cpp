#include "faults.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace profgate::probe {
namespace {

[[noreturn]] void wait_for_ever() {
  for (;;) pause();
}

[[noreturn]] void die_by(int signal_number) {
  std::fflush(nullptr);
  std::signal(signal_number, SIG_DFL);
  raise(signal_number);
  std::abort();
}

void flood(std::int64_t bytes) {
  const std::string line = std::string(4095, 'x') + '\n';
  for (std::int64_t written = 0; written < bytes; written += static_cast<std::int64_t>(line.size()))
    std::fwrite(line.data(), 1, line.size(), stdout);
}

/// The daemon ends by itself after a minute, so that a harness that fails to end it leaves nothing for good.
void leave_daemon() {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) {
    std::printf("daemon: %d\n", static_cast<int>(child));
    return;
  }
  setsid();
  std::signal(SIGINT, SIG_IGN);
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, descriptor);
  alarm(60);
  wait_for_ever();
}

/// Adds this start to the file; how many it holds now. -1 where that fails.
std::int64_t count_start(const std::string& file) {
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const bool is_counted = descriptor >= 0 && write(descriptor, "x", 1) == 1;
  const off_t starts = is_counted ? lseek(descriptor, 0, SEEK_CUR) : -1;
  if (descriptor >= 0) close(descriptor);
  return starts;
}

}  // namespace

void misbehave_at_start(const options& chosen) {
  if (!chosen.starts_file.empty() && count_start(chosen.starts_file) == chosen.hanging_start) wait_for_ever();
  if (chosen.misbehaviour == fault::flood) flood(chosen.flood_bytes);
  if (chosen.misbehaviour == fault::daemon) leave_daemon();
}

void misbehave_in_range(const options& chosen) {
  switch (chosen.misbehaviour) {
    case fault::exit_3_in_range:
      std::exit(3);
    case fault::crash_in_range:
      die_by(SIGABRT);
    case fault::segv_in_range:
      die_by(SIGSEGV);
    case fault::hang_ignoring_sigint:
      std::signal(SIGINT, SIG_IGN);
      std::signal(SIGTERM, SIG_IGN);
      [[fallthrough]];
    case fault::hang_in_range:
      std::puts("hanging");  // a test that waits for the hang waits for this line
      std::fflush(stdout);
      wait_for_ever();
    default:
      return;
  }
}

}  // namespace profgate::probe
