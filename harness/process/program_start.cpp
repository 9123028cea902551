#include "program_start.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace profgate::process {
namespace {

constexpr int exec_failed_exit_code = 127;  // nobody sees it: the report says more

/// Closes first..last, both included.
void close_between(int first, int last) {
  if (first > last) return;
  if (::close_range(static_cast<unsigned>(first), static_cast<unsigned>(last), 0) == 0) return;
  rlimit limit{};  // Linux before 5.9
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t end = std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(last) + 1);
  for (rlim_t fd = static_cast<rlim_t>(first); fd < end; ++fd) ::close(static_cast<int>(fd));
}

/// The lowest descriptor of `setup` that is at least `from`; INT_MAX where there is none.
int next_needed(const supervisor_setup& setup, int from) {
  int next = INT32_MAX;
  const auto consider = [&](int fd) {
    if (fd >= from) next = std::min(next, fd);
  };
  consider(setup.control_fd);
  consider(setup.report_fd);
  consider(setup.null_fd);
  consider(setup.stdout_fd);
  consider(setup.stderr_fd);
  consider(setup.held_fd);
  return next;
}

void reset_signals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

void close_all_but(const supervisor_setup& setup) {
  for (int fd = 0; fd < first_free_fd; ++fd) ::dup2(setup.null_fd, fd);
  int from = first_free_fd;
  for (;;) {
    const int needed = next_needed(setup, from);
    if (needed == INT32_MAX) break;
    close_between(from, needed - 1);
    from = needed + 1;
  }
  close_between(from, INT32_MAX);
}

void start_program(const supervisor_setup& setup, pid_t supervisor) {
  ::setpgid(0, 0);
  // The last resort: should the supervisor itself be killed, at least the program goes with it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(exec_failed_exit_code);  // it was killed just before
  if (setup.working_directory != nullptr && ::chdir(setup.working_directory) != 0) {
    report_start_failure(setup.report_fd, start_step::change_directory, errno);
    ::_exit(exec_failed_exit_code);
  }
  ::dup2(setup.stdout_fd, STDOUT_FILENO);
  ::dup2(setup.stderr_fd, STDERR_FILENO);
  reset_signals();
  ::execve(setup.program, setup.argv, setup.environment);  // closes the rest: all are close-on-exec
  report_start_failure(setup.report_fd, start_step::execute, errno);
  ::_exit(exec_failed_exit_code);
}

void send_report(int report_fd, const report_message& message) {
  // Fails only when our reader is gone; SIGPIPE is blocked then.
  [[maybe_unused]] const ssize_t written = ::write(report_fd, &message, sizeof message);
}

void report_start_failure(int report_fd, start_step step, int error) {
  report_message message;
  message.kind = report_kind::start_failed;
  message.failed_step = step;
  message.error = error;
  send_report(report_fd, message);
}

}  // namespace profgate::process
