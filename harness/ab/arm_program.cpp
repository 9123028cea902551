#include "arm_program.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "core/error.h"
#include "workload/contract.h"
#include "workload/server_settings.h"

namespace profgate::ab {
namespace fs = std::filesystem;
namespace {

void require_uninterrupted(const process::outcome& outcome) {
  if (outcome.how != process::ending::interrupted) return;
  throw core::interrupted(fmt::format(
      "interrupted by {}; the same command goes on after the last whole block of runs", outcome.stop_reason));
}

}  // namespace

arm_program::arm_program(const surroundings& where, const arm_build& build, fs::path folder)
    : m_where(where), m_build(build), m_folder(std::move(folder)) {}

bool arm_program::is_server() const {
  return workload::is_server(m_build.config);
}

fs::path arm_program::pid_file() const {
  return fs::absolute(m_folder) / "server.pid";
}

fs::path arm_program::client_log_of(const fs::path& log_file) {
  return log_file.parent_path() / (log_file.stem().string() + ".client.log");
}

std::vector<std::string> arm_program::words(const fs::path& config, const std::string& mode,
                                            const fs::path& result) const {
  const std::vector<std::string> all =
      m_build.command_has_placeholders ? workload::fill_placeholders(m_build.command, config, mode, result)
                                       : m_build.command;
  return is_server() ? workload::with_pid_file(all, m_where.process_noter, pid_file()) : all;
}

process::run_options arm_program::options_of(const fs::path& log_file) const {
  process::run_options options;
  options.log_file = log_file;
  options.deadline = std::chrono::seconds(m_build.config.integer(process_timeout_key));
  options.grace = std::chrono::seconds(m_build.config.integer("run.interrupt_grace_s"));
  options.stop_request = [this]() -> std::optional<std::string> {
    if (m_where.refresh) m_where.refresh();
    return std::nullopt;
  };
  return options;
}

arm_program::end arm_program::run(const start& wanted) const {
  process::run_options options = options_of(wanted.log_file);
  options.capture_stdout = wanted.captures_output;
  options.captured_max_bytes = wanted.captured_max_bytes;
  if (is_server()) return run_server(wanted, nullptr, options);
  end done{process::run(wanted.command, options), {}};
  require_uninterrupted(done.program);
  return done;
}

profilers::command_runner arm_program::tool_runner() const {
  return [this](const profilers::tool_command& tool) {
    process::run_options options = options_of(tool.log_file);
    options.capture_stdout = tool.capture_stdout;
    if (tool.deadline_ms > 0) options.deadline = std::chrono::milliseconds(tool.deadline_ms);
    const process::command command{tool.argv, tool.set_environment, tool.unset_environment,
                                   m_build.working_directory};
    if (tool.runs_workload && is_server())
      return workload::as_tool_run(run_server({command, tool.log_file}, &tool, options).program);
    const process::outcome outcome = process::run(command, options);
    require_uninterrupted(outcome);
    return workload::as_tool_run(outcome);
  };
}

arm_program::end arm_program::run_server(const start& wanted, const profilers::tool_command* tool,
                                         process::run_options& options) const {
  workload::server_start as_server{wanted.command, wanted.log_file, client_log_of(wanted.log_file),
                                   process_timeout_key};
  as_server.captures_client = wanted.captures_output;
  as_server.captured_max_bytes = wanted.captured_max_bytes;
  if (tool != nullptr) {
    as_server.is_profiled = true;
    as_server.argv_that_ends_recording = tool->argv_that_ends_recording;
  }
  fs::remove(as_server.client_log);  // of a process that was interrupted
  workload::server_run server(workload::server_rules_of(m_build.config, as_server), pid_file(),
                              [this](const std::string& line) {
                                if (m_where.now_running) m_where.now_running(line);
                              });
  server.watch_through(options);
  if (tool != nullptr && tool->deadline_ms > 0)
    options.deadline = std::chrono::milliseconds(tool->deadline_ms);
  end done{process::run(wanted.command, options), {}};
  require_uninterrupted(done.program);
  // A tool whose time was over took the server with it: that is not the server's fault.
  if (done.program.how == process::ending::timed_out) return done;
  done.client = server.finish(done.program, wanted.log_file);
  if (tool != nullptr && !server.note().empty() && m_where.say) m_where.say("note: " + server.note());
  return done;
}

}  // namespace profgate::ab
