#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/expression.h"
#include "process/process_tree.h"
#include "process/runner.h"

/// A workload that never stops by itself: once it is ready a client runs beside it, and after the client it
/// is asked to stop.
namespace profgate::workload {

struct server_rules {
  std::optional<std::uint16_t> ready_port;  ///< of this machine; it is ready once that takes connections
  std::string ready_text{};                 ///< or: once a line of its output has this expression
  std::string origin{};                     ///< of ready_text, for messages
  std::chrono::seconds ready_within{600};
  std::chrono::seconds stop_within{30};  ///< SIGINT at once, SIGTERM after half of it, SIGKILL at its end
  /// From the client's end to the first signal: time for a profiler to fetch the last of it.
  std::chrono::milliseconds rest{0};
  /// After the client and before the first signal: ends a profiler's recording; no words: nothing to do. Its
  /// output goes to `server_log`.
  process::command before_stop{};
  std::filesystem::path server_log{};
  process::command client{};
  std::chrono::milliseconds client_within{0};
  std::string client_timeout_key = "run.step_timeout_s";  ///< the setting that says so, for messages
  std::filesystem::path client_log{};
  bool captures_client = false;
  std::size_t captured_max_bytes = 0;
};

/// The words that start a server so that it leaves its process number in `pid_file`: a profiler may stand
/// between us and it, and must not get the signals that are meant for it.
std::vector<std::string> with_pid_file(const std::vector<std::string>& words,
                                       const std::filesystem::path& process_noter,
                                       const std::filesystem::path& pid_file);

/// One run of a server that somebody else starts by process::run and keeps informed.
class server_run {
 public:
  /// step_failure where the port is taken already: another program would be asked.
  server_run(server_rules rules, std::filesystem::path pid_file, std::function<void(const std::string&)> say);
  ~server_run();
  server_run(const server_run&) = delete;
  server_run& operator=(const server_run&) = delete;

  /// Before process::run(): what `options` has of these callbacks is called as well. The server gets all the
  /// time that it and its client may take.
  void watch_through(process::run_options& options);
  void saw_line(std::string_view line);  ///< run_options::on_line
  /// run_options::stop_request: moves on from waiting to the client to the stop. A reason: it does not end.
  std::optional<std::string> look();

  /// Once the server has ended, which makes `server` a good end where it was asked to. step_failure where it
  /// did not get ready or ended too early, and where the client did not end well. Returns the client's end.
  process::outcome finish(process::outcome& server, const std::filesystem::path& server_log);
  /// What is to be known of its end; empty: nothing.
  const std::string& note() const { return m_note; }

 private:
  using clock = std::chrono::steady_clock;
  enum class phase { starting, serving, stopping };

  bool is_ready() const;
  std::string waited_for() const;  ///< in words, as long as it is not ready
  void start_client();
  void begin_stop();
  void go_on_stopping();
  void end_client();
  void require_good_client(const process::outcome& server, const std::filesystem::path& server_log) const;
  void require_own_end(const process::outcome& server, const std::filesystem::path& server_log) const;

  const server_rules m_rules;
  const std::filesystem::path m_pid_file;
  const std::function<void(const std::string&)> m_say;
  std::optional<core::expression> m_ready_text;
  phase m_phase = phase::starting;
  clock::time_point m_phase_began = clock::now();
  std::optional<clock::time_point> m_client_ended{};
  bool m_saw_ready_text = false;
  bool m_is_too_slow = false;  ///< it was not ready in time
  bool m_has_told_wait = false;
  int m_last_signal = 0;
  std::string m_note;
  std::optional<process::process_tree> m_server;

  std::thread m_client_thread;
  process::outcome m_client;
  process::outcome m_before_stop;
  std::exception_ptr m_client_fault;
  std::atomic<bool> m_is_client_done{false};
  std::atomic<bool> m_is_server_gone{false};
};

}  // namespace profgate::workload
