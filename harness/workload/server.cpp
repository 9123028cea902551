#include "workload/server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/error.h"
#include "core/owned_fd.h"
#include "workload/contract.h"

namespace profgate::workload {
namespace fs = std::filesystem;
namespace {

constexpr int connect_patience_ms = 100;
// A client that told its server to end may still have to write its results.
constexpr std::chrono::seconds time_without_server{2};
// What a profiler that never started the server, or does not notice its end, has beyond stop_within.
constexpr std::chrono::seconds tool_patience{5};
constexpr std::chrono::seconds told_after{10};  ///< whoever waits longer for a server is told for what

/// A socket that looks for a port among those from which the system takes its own may get this very port, and
/// then it is connected with itself.
bool is_own_end(int fd) {
  sockaddr_in6 own{};  // the larger of both
  sockaddr_in6 other{};
  socklen_t own_bytes = sizeof own;
  socklen_t other_bytes = sizeof other;
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_bytes) == 0 &&
         ::getpeername(fd, reinterpret_cast<sockaddr*>(&other), &other_bytes) == 0 &&
         own_bytes == other_bytes && std::memcmp(&own, &other, own_bytes) == 0;
}

bool connects(const sockaddr* address, socklen_t bytes) {
  const core::owned_fd fd(::socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return false;
  if (::connect(fd.get(), address, bytes) == 0) return !is_own_end(fd.get());
  if (errno != EINPROGRESS) return false;
  pollfd waiting{fd.get(), POLLOUT, 0};
  int failure = 0;
  socklen_t failure_bytes = sizeof failure;
  return ::poll(&waiting, 1, connect_patience_ms) > 0 &&
         ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failure, &failure_bytes) == 0 && failure == 0 &&
         !is_own_end(fd.get());
}

bool takes_connections(std::uint16_t port) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  v6.sin6_addr = in6addr_loopback;
  return connects(reinterpret_cast<const sockaddr*>(&v4), sizeof v4) ||
         connects(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
}

/// Nothing where it is not written, or not to its end.
std::optional<pid_t> read_pid(const fs::path& file) {
  std::ifstream in(file);
  pid_t pid = 0;
  if (!(in >> pid) || in.get() != '\n' || pid <= 1) return std::nullopt;
  return pid;
}

bool ended_well(const process::outcome& outcome) {
  return outcome.how == process::ending::exited && outcome.exit_code == 0;
}

/// That it died by; 0: by none. A profiler passes a death by a signal on as 128 + its number.
int signal_of(const process::outcome& server) {
  return server.signal != 0 ? server.signal : server.exit_code > 128 ? server.exit_code - 128 : 0;
}

std::string all_it_said_is_in(const fs::path& log_file) {
  return fmt::format("all it said is in {}", log_file.string());
}

constexpr const char* while_client_ran = "while its client ran";

/// `when`: "before it was ready".
[[noreturn]] void fail_for_ended_server(const char* when, const process::outcome& server,
                                        const fs::path& server_log) {
  throw core::step_failure(fmt::format("the server ended {}: it {}", when, describe_with_last_line(server)),
                           all_it_said_is_in(server_log));
}

/// One of those by which a server is stopped.
bool is_stop_signal(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGKILL;
}

}  // namespace

std::vector<std::string> with_pid_file(const std::vector<std::string>& words, const fs::path& process_noter,
                                       const fs::path& pid_file) {
  std::vector<std::string> all = {process_noter.string(), pid_file.string()};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

server_run::server_run(server_rules rules, fs::path pid_file, std::function<void(const std::string&)> say)
    : m_rules(std::move(rules)), m_pid_file(std::move(pid_file)), m_say(std::move(say)) {
  if (!m_rules.ready_text.empty())
    m_ready_text.emplace(m_rules.ready_text, m_rules.origin, core::expression::fits::part_of_text);
  if (m_rules.ready_port && takes_connections(*m_rules.ready_port)) {
    throw core::step_failure(
        fmt::format("port {} takes connections before the server was started: another program has it",
                    *m_rules.ready_port),
        "end that program, or let the server use another port and set workload.server.ready_port to it");
  }
  std::error_code ignored;
  fs::remove(m_pid_file, ignored);
}

server_run::~server_run() {
  end_client();
  std::error_code ignored;
  fs::remove(m_pid_file, ignored);
}

void server_run::watch_through(process::run_options& options) {
  options.deadline = m_rules.ready_within + m_rules.client_within + m_rules.stop_within + options.grace;
  options.on_line = [this, others = std::move(options.on_line)](std::string_view line) {
    if (others) others(line);
    saw_line(line);
  };
  options.stop_request = [this, others = std::move(options.stop_request)] {
    const std::optional<std::string> reason = others ? others() : std::nullopt;
    return reason ? reason : look();
  };
}

void server_run::saw_line(std::string_view line) {
  if (m_phase == phase::starting && m_ready_text && m_ready_text->matches(line)) m_saw_ready_text = true;
}

bool server_run::is_ready() const {
  return m_rules.ready_port ? takes_connections(*m_rules.ready_port) : m_saw_ready_text;
}

std::string server_run::waited_for() const {
  return m_rules.ready_port ? fmt::format("port {} took no connection", *m_rules.ready_port)
                            : fmt::format("no line of its output has '{}'", m_rules.ready_text);
}

std::optional<std::string> server_run::look() {
  const clock::duration elapsed = clock::now() - m_phase_began;
  switch (m_phase) {
    case phase::starting:
      if (is_ready()) {
        start_client();
      } else if (elapsed > m_rules.ready_within) {
        m_is_too_slow = true;
        begin_stop();
      } else if (elapsed > told_after && !std::exchange(m_has_told_wait, true)) {
        m_say(fmt::format("the server is not ready yet: {}; {} s at most (workload.server.ready_within_s)",
                          waited_for(), m_rules.ready_within.count()));
      }
      break;
    case phase::serving:
      if (m_is_client_done && !m_client_ended) m_client_ended = clock::now();
      if (m_client_ended && clock::now() - *m_client_ended >= m_rules.rest) begin_stop();
      break;
    case phase::stopping:
      go_on_stopping();
      // Without a failure it is left to the tool how long its report takes.
      if ((m_is_too_slow || !m_server) && elapsed > m_rules.stop_within + tool_patience)
        return "the server could not be stopped";
      break;
  }
  return std::nullopt;
}

void server_run::start_client() {
  m_phase = phase::serving;
  m_say(fmt::format("the server is ready after {:.1f} s, its client runs",
                    std::chrono::duration<double>(clock::now() - m_phase_began).count()));
  m_client_thread = std::thread([this] {
    process::run_options options;
    options.log_file = m_rules.client_log;
    options.append_to_log = true;
    options.deadline = m_rules.client_within;
    options.capture_stdout = m_rules.captures_client;
    options.captured_max_bytes = m_rules.captured_max_bytes;
    std::optional<clock::time_point> alone_since;
    options.stop_request = [&]() -> std::optional<std::string> {
      if (!m_is_server_gone) return std::nullopt;
      if (!alone_since) alone_since = clock::now();
      if (clock::now() - *alone_since < time_without_server) return std::nullopt;
      return "the server has ended";
    };
    try {
      m_client = process::run(m_rules.client, options);
      if (!m_rules.before_stop.argv.empty() && !m_is_server_gone) {
        options.log_file = m_rules.server_log;
        options.capture_stdout = false;
        m_before_stop = process::run(m_rules.before_stop, options);
      }
    } catch (...) {
      m_client_fault = std::current_exception();
    }
    m_is_client_done = true;
  });
}

void server_run::begin_stop() {
  m_phase = phase::stopping;
  m_phase_began = clock::now();
  go_on_stopping();
}

void server_run::go_on_stopping() {
  if (!m_server) {
    const std::optional<pid_t> pid = read_pid(m_pid_file);
    if (!pid) return;
    m_server.emplace(*pid);
  }
  const clock::duration elapsed = clock::now() - m_phase_began;
  const int signal = elapsed > m_rules.stop_within       ? SIGKILL
                     : elapsed > m_rules.stop_within / 2 ? SIGTERM
                                                         : SIGINT;
  if (signal == m_last_signal) return;
  m_last_signal = signal;
  // The first is for the server alone: it knows best how to end what it started.
  if (signal == SIGINT) {
    m_server->signal_root(signal);
  } else {
    m_server->signal_all(signal);
  }
}

void server_run::end_client() {
  m_is_server_gone = true;
  if (m_client_thread.joinable()) m_client_thread.join();
}

process::outcome server_run::finish(process::outcome& server, const fs::path& server_log) {
  const std::string look = all_it_said_is_in(server_log);
  const phase ended_in = m_phase;
  end_client();
  if (m_client_fault) std::rethrow_exception(m_client_fault);
  if (m_client.how == process::ending::interrupted)
    throw core::interrupted(fmt::format("interrupted by {} while the client ran", m_client.stop_reason));
  if (server.how == process::ending::not_started) return m_client;  // the caller says more
  if (m_is_too_slow) {
    throw core::step_failure(
        fmt::format("the server was not ready within {} s: {}", m_rules.ready_within.count(), waited_for()),
        fmt::format("raise workload.server.ready_within_s, or find out what it waits for ({})", look));
  }
  if (ended_in == phase::starting) {
    if (server.how == process::ending::timed_out || server.how == process::ending::stopped) return m_client;
    fail_for_ended_server("before it was ready", server, server_log);
  }
  require_good_client(server, server_log);
  require_own_end(server, server_log);
  if (server.how == process::ending::stopped && !m_server)
    throw core::step_failure("the client ended, and no server was there to be stopped", look);
  const int died_by = signal_of(server);
  const bool is_all_fetched = !m_rules.before_stop.argv.empty() && ended_well(m_before_stop);
  if (!m_rules.before_stop.argv.empty() && !is_all_fetched &&
      m_before_stop.how != process::ending::interrupted)
    m_note = fmt::format("{} {} before the server was stopped: it {}; ", m_rules.before_stop.argv.at(0),
                         m_rules.before_stop.argv.at(1), describe_with_last_line(m_before_stop));
  if (m_last_signal != 0 && died_by == m_last_signal && !is_all_fetched) {
    m_note += fmt::format(
        "the server ended by {}, without its exit handlers: what a tool had not yet fetched from it is "
        "missing; let it end by itself on SIGINT or SIGTERM{}",
        process::signal_name(died_by), died_by == SIGKILL ? ", or raise workload.server.stop_within_s" : "");
  }
  const bool is_our_signal = server.signal == 0 || is_stop_signal(server.signal);
  if (m_last_signal != 0 && is_our_signal &&
      (server.how == process::ending::exited || server.how == process::ending::signalled)) {
    server.how = process::ending::exited;
    server.exit_code = 0;
    server.signal = 0;
  }
  return m_client;
}

/// A client that does not look at its answers ends well beside a server that died.
void server_run::require_own_end(const process::outcome& server, const fs::path& server_log) const {
  if (server.signal == 0 || is_stop_signal(server.signal)) return;
  fail_for_ended_server(
      m_last_signal == 0 ? while_client_ran : "by itself, at the latest as it was to be stopped", server,
      server_log);
}

void server_run::require_good_client(const process::outcome& server, const fs::path& server_log) const {
  if (ended_well(m_client)) return;
  // A client that is left alone fails as well, and perhaps before anybody has seen that it was.
  const int died_by = signal_of(server);
  const bool ended_alone =
      (died_by != 0 && !is_stop_signal(died_by)) || (m_last_signal == 0 && !ended_well(server));
  const std::string look = all_it_said_is_in(m_rules.client_log);
  const bool ended_for_that =
      m_client.how == process::ending::exited || m_client.how == process::ending::signalled;  // SIGPIPE
  switch (ended_for_that && ended_alone ? process::ending::stopped : m_client.how) {
    case process::ending::not_started:
      throw core::step_failure("the client cannot be started: " + m_client.start_error,
                               "correct workload.client");
    case process::ending::stopped:
      fail_for_ended_server(while_client_ran, server, server_log);
    case process::ending::timed_out:
      throw core::step_failure(
          fmt::format("the client {}", process::describe(m_client)),
          fmt::format("raise {}, or find out where it hangs ({})", m_rules.client_timeout_key, look));
    default:
      throw core::step_failure(fmt::format("the client {}", describe_with_last_line(m_client)), look);
  }
}

}  // namespace profgate::workload
