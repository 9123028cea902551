#include "process/runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/error.h"
#include "core/interrupt.h"
#include "core/units.h"
#include "launch.h"
#include "output_sink.h"

namespace profgate::process {
namespace {

std::string wall_time(const outcome& result) {
  return core::format_duration(static_cast<double>(result.wall_ns));
}

/// How a child went that was asked to end.
std::string last_act(const outcome& result) {
  if (result.signal == SIGKILL) return "killed because it did not end on SIGINT";
  if (result.signal != 0) return "ended by " + signal_name(result.signal);
  return fmt::format("exited with code {} on SIGINT", result.exit_code);
}

std::string main_clause(const outcome& result) {
  switch (result.how) {
    case ending::exited:
      return fmt::format("exited with code {} after {}", result.exit_code, wall_time(result));
    case ending::signalled:
      return fmt::format("killed by {} ({}) after {}", signal_name(result.signal), ::strsignal(result.signal),
                         wall_time(result));
    case ending::timed_out:
      return fmt::format("timed out after {}, {}", wall_time(result), last_act(result));
    case ending::stopped:
      return fmt::format("stopped after {} ({}), {}", wall_time(result), result.stop_reason,
                         last_act(result));
    case ending::interrupted:
      if (result.wall_ns < 0) return "interrupted by " + result.stop_reason + " before it was started";
      return fmt::format("interrupted by {} after {}, {}", result.stop_reason, wall_time(result),
                         last_act(result));
    case ending::not_started:
      return "not started: " + result.start_error;
  }
  return {};
}

}  // namespace

std::string signal_name(int signal) {
  const char* const abbreviation = ::sigabbrev_np(signal);
  if (abbreviation != nullptr) return std::string("SIG") + abbreviation;
  return fmt::format("signal {}", signal);
}

std::string describe(const outcome& result) {
  std::string line = main_clause(result);
  if (!result.killed_leftovers.empty()) {
    line += fmt::format("; it left processes that had to be killed: {}",
                        fmt::join(result.killed_leftovers, ", "));
  }
  if (!result.survivors.empty()) {
    line += fmt::format("; these could not be killed: {}", fmt::join(result.survivors, ", "));
  }
  if (!result.log_error.empty()) line += "; its log is incomplete: " + result.log_error;
  return line;
}

namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds stop_request_period{200};
constexpr std::size_t read_bytes = std::size_t{256} << 10;

std::string name_leftover(const report_message& message) {
  return fmt::format("{} {}", message.pid, message.name.data());
}

/// Follows one child from our side: moves its output, reads the supervisor's reports, passes on requests.
class watch {
 public:
  watch(const prepared_command& prepared, const run_options& options)
      : m_prepared(prepared), m_options(options), m_sink(options), m_child(prepared, options) {
    m_result.how = ending::exited;
    m_polled[output_slot].fd = m_child.output_fd();
    m_polled[captured_slot].fd = m_child.captured_fd();
    m_polled[report_slot].fd = m_child.report_fd();
    m_polled[interrupt_slot].fd = core::interrupt_guard::wait_fd();
    for (pollfd& entry : m_polled) entry.events = POLLIN;
  }

  outcome run_to_end() {
    while (!m_finished) {
      const int ready = ::poll(m_polled.data(), m_polled.size(), poll_timeout_ms());
      if (ready > 0) {
        if (m_polled[interrupt_slot].revents != 0) on_interrupt();
        if (m_polled[output_slot].revents != 0) move_output(output_slot);
        if (m_polled[captured_slot].revents != 0) move_output(captured_slot);
        if (m_polled[report_slot].revents != 0) read_report();
      }
      on_tick();
    }
    drain(output_slot);
    drain(captured_slot);
    m_sink.finish(m_result);
    return std::move(m_result);
  }

 private:
  static constexpr std::size_t output_slot = 0;
  static constexpr std::size_t captured_slot = 1;
  static constexpr std::size_t report_slot = 2;
  static constexpr std::size_t interrupt_slot = 3;

  bool asked_to_end() const { return m_asked_for != ending::exited; }

  /// Without anything to ask regularly, only events wake us.
  int poll_timeout_ms() const {
    const bool waits_for_second_interrupt = m_asked_for == ending::interrupted;
    const bool waits_for_reason = m_options.stop_request && !asked_to_end();
    return waits_for_second_interrupt || waits_for_reason ? static_cast<int>(stop_request_period.count())
                                                          : -1;
  }

  void on_interrupt() {
    m_polled[interrupt_slot].fd = -1;  // it stays readable for good
    if (asked_to_end()) return;
    m_asked_for = ending::interrupted;
    m_result.stop_reason = signal_name(core::interrupt_guard::first_signal());
    m_child.ask_to_end();
  }

  void on_tick() {
    if (m_asked_for == ending::interrupted && core::interrupt_guard::count() > 1 && !m_kill_sent) {
      m_kill_sent = true;
      m_child.kill_now();
    }
    if (!m_options.stop_request || asked_to_end() || clock::now() < m_next_stop_request) return;
    m_next_stop_request = clock::now() + stop_request_period;
    if (const std::optional<std::string> reason = m_options.stop_request()) {
      m_asked_for = ending::stopped;
      m_result.stop_reason = *reason;
      m_child.end_tree();
    }
  }

  /// Reads once; the number of bytes, 0 where there is nothing now or any more.
  std::size_t move_output(std::size_t slot) {
    const ssize_t count = ::read(m_polled[slot].fd, m_buffer.data(), m_buffer.size());
    if (count > 0) {
      const auto from = slot == captured_slot ? output_sink::stream::captured : output_sink::stream::merged;
      m_sink.take(from, {m_buffer.data(), static_cast<std::size_t>(count)});
      return static_cast<std::size_t>(count);
    }
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    m_polled[slot].fd = -1;  // closed by the child and all it started; they may well run on
    return 0;
  }

  /// What was in the pipe when the last process ended, and no more: a survivor could write forever.
  void drain(std::size_t slot) {
    if (m_polled[slot].fd < 0) return;
    const int capacity = ::fcntl(m_polled[slot].fd, F_GETPIPE_SZ);
    std::size_t left = capacity > 0 ? static_cast<std::size_t>(capacity) : read_bytes;
    while (left > 0) {
      const std::size_t count = move_output(slot);
      if (count == 0) return;
      left -= std::min(left, count);
    }
  }

  void read_report() {
    report_message message;
    const ssize_t count = ::read(m_child.report_fd(), &message, sizeof message);
    if (count < 0 && errno == EINTR) return;
    if (count != static_cast<ssize_t>(sizeof message)) {
      if (m_result.how != ending::not_started) {
        throw core::step_failure(
            fmt::format("the process that watches over {} was killed", m_prepared.program),
            "look in the system's log for the out-of-memory killer, then run it again");
      }
      m_finished = true;
      return;
    }
    switch (message.kind) {
      case report_kind::start_failed:
        on_start_failed(message);
        break;
      case report_kind::leftover_killed:
        m_result.killed_leftovers.push_back(name_leftover(message));
        break;
      case report_kind::more_leftovers:
        m_result.killed_leftovers.emplace_back("and others");
        break;
      case report_kind::survivor:
        m_result.survivors.push_back(name_leftover(message));
        break;
      case report_kind::finished:
        on_finished(message);
        break;
    }
  }

  void on_start_failed(const report_message& message) {
    m_result.how = ending::not_started;
    switch (message.failed_step) {
      case start_step::fork:
        m_result.start_error =
            fmt::format("no process for {}: {}", m_prepared.program, std::strerror(message.error));
        break;
      case start_step::change_directory:
        m_result.start_error = fmt::format("cannot enter the working directory {}: {}",
                                           m_prepared.working_directory, std::strerror(message.error));
        break;
      case start_step::execute:
        m_result.start_error = explain_exec_failure(m_prepared, message.error);
        break;
    }
  }

  void on_finished(const report_message& message) {
    m_finished = true;
    if (m_result.how == ending::not_started) return;
    m_result.wall_ns = message.wall_ns;
    m_result.user_ns = message.user_ns;
    m_result.system_ns = message.system_ns;
    m_result.peak_rss_bytes = message.peak_rss_bytes;
    if (WIFEXITED(message.wait_status)) {
      m_result.exit_code = WEXITSTATUS(message.wait_status);
      m_result.how = ending::exited;
    } else {
      m_result.signal = WTERMSIG(message.wait_status);
      m_result.how = ending::signalled;
    }
    if (message.cause == end_cause::deadline) m_result.how = ending::timed_out;
    if (message.cause == end_cause::asked) m_result.how = m_asked_for;
    // A request that came too late to matter leaves no reason behind.
    if (message.cause != end_cause::asked) m_result.stop_reason.clear();
  }

  const prepared_command& m_prepared;
  const run_options& m_options;
  outcome m_result;
  output_sink m_sink;
  supervised_child m_child;
  std::array<pollfd, 4> m_polled{};
  std::vector<char> m_buffer = std::vector<char>(read_bytes);
  ending m_asked_for = ending::exited;  ///< `stopped` or `interrupted` once the child was asked to end
  bool m_kill_sent = false;
  bool m_finished = false;
  clock::time_point m_next_stop_request;
};

}  // namespace

outcome run(const command& what, const run_options& options) {
  const prepared_command prepared = prepare(what);
  outcome result;
  if (const int signal = core::interrupt_guard::first_signal(); signal != 0) {
    result.how = ending::interrupted;
    result.stop_reason = signal_name(signal);
    return result;
  }
  if (!prepared.start_error.empty()) {
    result.start_error = prepared.start_error;
    return result;
  }
  return watch(prepared, options).run_to_end();
}

}  // namespace profgate::process
