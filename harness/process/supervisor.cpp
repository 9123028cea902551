#include "supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "program_start.h"

namespace profgate::process {
namespace {

constexpr std::int64_t ns_per_second = 1'000'000'000;
constexpr std::int64_t ns_per_millisecond = 1'000'000;
constexpr std::int64_t never = INT64_MAX;
// A killed process that is still there after this long hangs in the kernel (a stuck driver).
constexpr std::int64_t kill_patience_ns = 10 * ns_per_second;
// Of a tree that must go, because it fills the disk: enough to remove what is temporary.
constexpr std::int64_t tree_grace_ns = ns_per_second / 2;
// Bounds the messages: all of them fit into a pipe that nobody reads.
constexpr std::size_t max_named_leftovers = 64;

std::int64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * ns_per_second + now.tv_nsec;
}

std::int64_t to_ns(const timeval& time) {
  return std::int64_t{time.tv_sec} * ns_per_second + std::int64_t{time.tv_usec} * 1000;
}

/// `delay_ns` from now, where -1 means never and huge delays do not wrap around.
std::int64_t moment_after(std::int64_t now_ns, std::int64_t delay_ns) {
  return delay_ns < 0 || delay_ns > never - now_ns ? never : now_ns + delay_ns;
}

enum class phase {
  running,
  asked,      ///< the child got SIGINT; its grace period runs
  lingering,  ///< the child is gone, what it left has a short time to go by itself
  killing,
};

class supervisor {
 public:
  explicit supervisor(const supervisor_setup& setup) : m_setup(setup) {}

  void run() {
    watch_for_children();
    m_started_ns = monotonic_ns();
    const pid_t self = ::getpid();
    m_child = ::fork();
    if (m_child == 0) start_program(m_setup, self);
    if (m_child < 0) {
      report_start_failure(m_setup.report_fd, start_step::fork, errno);
      return;
    }
    ::setpgid(m_child, m_child);  // the child does it too: whoever comes first
    ::close(m_setup.stdout_fd);   // so that the reader sees the end of the output
    if (m_setup.stderr_fd != m_setup.stdout_fd) ::close(m_setup.stderr_fd);
    m_phase_ends_ns = moment_after(m_started_ns, m_setup.deadline_ns);
    while (reap() && advance(monotonic_ns())) wait_for_event();
    finish();
  }

 private:
  void watch_for_children() {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;  // an inherited SIG_IGN would reap the children behind our back
    ::sigaction(SIGCHLD, &action, nullptr);
    sigset_t only_sigchld;
    sigemptyset(&only_sigchld);
    sigaddset(&only_sigchld, SIGCHLD);
    m_signal_fd = ::signalfd(-1, &only_sigchld, SFD_CLOEXEC | SFD_NONBLOCK);
  }

  /// Collects the dead; false once there is no child left at all.
  bool reap() {
    for (;;) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, WNOHANG);
      if (pid < 0) return errno != ECHILD;
      if (pid == 0) return true;
      if (pid != m_child) continue;
      m_child_gone = true;
      m_wait_status = status;
      m_ended_ns = monotonic_ns();
      if (m_phase == phase::killing) continue;
      // Nobody is left to whom a longer wait would be of use, or it would do harm.
      enter(phase::lingering, m_control_closed || m_ends_tree ? 0 : m_setup.leftover_grace_ns);
    }
  }

  /// Moves on where a phase's time is over; false when there is nothing more that could be done.
  bool advance(std::int64_t now_ns) {
    if (now_ns >= m_phase_ends_ns) {
      switch (m_phase) {
        case phase::running:
          m_cause = end_cause::deadline;
          ask_to_end();
          break;
        case phase::asked:
        case phase::lingering:
          enter(phase::killing, kill_patience_ns);
          break;
        case phase::killing:
          return false;
      }
    }
    if (m_phase == phase::killing) kill_children();
    return true;
  }

  void enter(phase next, std::int64_t duration_ns) {
    m_phase = next;
    m_phase_ends_ns = moment_after(monotonic_ns(), duration_ns);
  }

  void ask_to_end() {
    // Only the child itself: nsys passes the request on to what it started in its own time.
    ::kill(m_child, SIGINT);
    ::kill(m_child, SIGCONT);  // a stopped process would not see it
    enter(phase::asked, m_setup.grace_ns);
  }

  void end_tree() {
    m_ends_tree = true;
    ::kill(-m_child, SIGINT);
    ::kill(-m_child, SIGCONT);
    enter(phase::asked, std::min(m_setup.grace_ns, tree_grace_ns));
  }

  void kill_children() {
    // The group at once, which a process that keeps forking cannot outrun. Its number cannot belong to
    // anyone else before the child is reaped.
    if (!m_child_gone) ::kill(-m_child, SIGKILL);
    for_each_child(
        ::getpid(),
        [](const child_entry& child, void* self) { static_cast<supervisor*>(self)->kill_one(child); }, this);
  }

  void kill_one(const child_entry& child) {
    ::kill(child.pid, SIGKILL);
    if (child.pid == m_child || !m_child_gone) return;
    const auto named_end = m_named.begin() + static_cast<std::ptrdiff_t>(m_named_count);
    if (std::find(m_named.begin(), named_end, child.pid) != named_end) return;
    report_message message;
    message.kind = report_kind::leftover_killed;
    message.pid = child.pid;
    message.name = child.name;
    if (m_named_count < m_named.size()) {
      m_named[m_named_count++] = child.pid;
      send_report(m_setup.report_fd, message);
    } else if (!m_more_leftovers) {
      m_more_leftovers = true;
      message.kind = report_kind::more_leftovers;
      send_report(m_setup.report_fd, message);
    }
  }

  void wait_for_event() {
    std::array<pollfd, 2> events{
        {{m_signal_fd, POLLIN, 0}, {m_control_closed ? -1 : m_setup.control_fd, POLLIN, 0}}};
    int timeout_ms = -1;
    if (m_phase_ends_ns != never) {
      const std::int64_t left_ns = std::max<std::int64_t>(0, m_phase_ends_ns - monotonic_ns());
      timeout_ms = static_cast<int>(std::min<std::int64_t>(left_ns / ns_per_millisecond + 1, 60'000));
    }
    if (::poll(events.data(), events.size(), timeout_ms) <= 0) return;
    signalfd_siginfo drained;
    while (::read(m_signal_fd, &drained, sizeof drained) > 0) continue;
    if (events[1].revents != 0) read_control();
  }

  void read_control() {
    char request = control_ask_to_end;
    const ssize_t count = ::read(m_setup.control_fd, &request, 1);
    if (count < 0) return;
    m_control_closed = count == 0;  // whoever wanted the child to run is gone
    if (m_phase == phase::running) {
      m_cause = end_cause::asked;
      if (request == control_end_tree) {
        end_tree();
      } else {
        ask_to_end();
      }
    } else if (m_phase == phase::lingering || request == control_kill) {
      enter(phase::killing, kill_patience_ns);
    }
  }

  void finish() {
    report_message message;
    message.kind = report_kind::finished;
    message.wait_status = m_child_gone ? m_wait_status : SIGKILL;
    message.cause = m_cause;
    message.wall_ns = (m_child_gone ? m_ended_ns : monotonic_ns()) - m_started_ns;
    for_each_child(
        ::getpid(),
        [](const child_entry& child, void* self) {
          report_message survivor;
          survivor.kind = report_kind::survivor;
          survivor.pid = child.pid;
          survivor.name = child.name;
          send_report(static_cast<supervisor*>(self)->m_setup.report_fd, survivor);
        },
        this);
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    message.user_ns = to_ns(usage.ru_utime);
    message.system_ns = to_ns(usage.ru_stime);
    message.peak_rss_bytes = std::int64_t{usage.ru_maxrss} * 1024;
    send_report(m_setup.report_fd, message);
  }

  const supervisor_setup& m_setup;
  int m_signal_fd = -1;
  pid_t m_child = -1;
  phase m_phase = phase::running;
  end_cause m_cause = end_cause::by_itself;
  bool m_child_gone = false;
  bool m_control_closed = false;
  bool m_ends_tree = false;
  bool m_more_leftovers = false;
  int m_wait_status = 0;
  std::int64_t m_started_ns = 0;
  std::int64_t m_ended_ns = 0;
  std::int64_t m_phase_ends_ns = never;
  std::array<pid_t, max_named_leftovers> m_named{};
  std::size_t m_named_count = 0;
};

}  // namespace

void supervise(const supervisor_setup& setup) {
  // Out of reach of the terminal's signals and of whoever ends our process group: it must outlive us.
  ::setsid();
  ::prctl(PR_SET_NAME, "profgate-watch");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  close_all_but(setup);
  supervisor(setup).run();
  ::_exit(0);
}

}  // namespace profgate::process
