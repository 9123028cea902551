#include "steps/run_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "ad_hoc_pair.h"
#include "artifacts/disk.h"
#include "core/error.h"
#include "core/stage_names.h"
#include "core/units.h"
#include "parsers/adapter_report.h"
#include "process/runner.h"
#include "workload/contract.h"
#include "workload/server.h"
#include "workload/server_settings.h"
#include "workload/torch_watch.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

artifacts::command_status as_command_status(const std::vector<std::string>& argv,
                                            const process::outcome& outcome) {
  artifacts::command_status command{argv};
  if (outcome.wall_ns >= 0) command.seconds = static_cast<double>(outcome.wall_ns) / core::ns_per_s;
  if (outcome.exit_code >= 0) command.exit_code = outcome.exit_code;
  if (outcome.signal != 0) command.signal = outcome.signal;
  return command;
}

/// What the step's children before this one have left of its time. Waiting for others costs a step nothing.
std::chrono::milliseconds time_left(step_context& context) {
  const std::lock_guard noting(context.noting);
  std::chrono::duration<double> left = std::chrono::seconds(context.config.integer("run.step_timeout_s"));
  for (const artifacts::command_status& command : context.status.commands)
    left -= std::chrono::duration<double>(command.seconds.value_or(0));
  return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(left), std::chrono::milliseconds(1));
}

void add_note_once(artifacts::step_status& status, const std::string& note) {
  if (std::find(status.notes.begin(), status.notes.end(), note) == status.notes.end())
    status.notes.push_back(note);
}

/// nsys that is to record for some time only ends before the program does, and leaves it running with the
/// processes of its own that watch it: no news to somebody who asked for that.
void note_leftovers(step_context& context, const step_command& wanted,
                    const std::vector<std::string>& leftovers) {
  if (leftovers.empty()) return;
  const bool is_asked_for =
      context.status.step == "timeline" && wanted.runs_workload && !context.config.is_null("nsys.duration_s");
  if (is_asked_for) {
    context.status.notes.push_back(
        fmt::format("nsys stopped recording after {} s (nsys.duration_s); the program was ended then",
                    context.config.integer("nsys.duration_s")));
    return;
  }
  // What the program left behind the unprofiled run has told; nsys's own helpers wait for it.
  const std::vector<std::string>& argv = wanted.command.argv;
  if (context.status.step == "timeline" &&
      std::find(argv.begin(), argv.end(), "--wait=primary") != argv.end()) {
    context.status.notes.emplace_back(
        "what the program left running was ended with it, as in the unprofiled run");
    return;
  }
  context.status.left_processes = true;
  context.status.notes.push_back(
      fmt::format("ended {} that {} left behind: {}",
                  leftovers.size() == 1 ? "a process" : fmt::format("{} processes", leftovers.size()),
                  wanted.command.argv.front(), fmt::join(leftovers, "; ")));
}

fs::path pid_file_of(const step_context& context) {
  return fs::absolute(context.run_dir) / "server.pid";
}

void require_program(const process::command& command, const std::string& whose, const std::string& remedy) {
  const std::optional<std::string> why = process::why_not_startable(command);
  if (!why) return;
  const bool lacks_permission = why->find("not executable") != std::string::npos;
  throw core::bad_input(fmt::format("{} cannot be started: {}", whose, *why),
                        lacks_permission ? fmt::format("chmod +x {}, or put its interpreter in front of it",
                                                       command.argv.front())
                                         : remedy);
}

}  // namespace

void require_programs(const pair_manifest& manifest, const config::resolved& config) {
  require_program({manifest.command, {}, {}, manifest.working_directory}, "the program",
                  manifest.config == ad_hoc_config
                      ? "correct the command"
                      : "build it, or correct its COMMAND in profgate_add_workload()");
  if (workload::is_server(config)) {
    require_program({config.list("workload.client"), {}, {}, manifest.working_directory}, "the client",
                    "correct workload.client (typed: what stands after the second --)");
  }
}

process::outcome run_command(step_context& context, const step_command& wanted) {
  context.display.now_running(wanted.what);

  const auto max_run_bytes = static_cast<std::uint64_t>(context.config.integer("artifacts.max_run_bytes"));
  artifacts::run_size_guard too_large(context.run_dir, max_run_bytes, std::chrono::milliseconds(500));
  process::run_options options;
  options.log_file = wanted.log_file;
  options.append_to_log = true;
  options.deadline = std::max(time_left(context), wanted.time_at_least);
  options.grace = std::chrono::seconds(context.config.integer("run.interrupt_grace_s"));
  options.capture_stdout = wanted.capture_stdout;
  options.captured_max_bytes = wanted.captured_max_bytes;
  options.on_line = [&](std::string_view line) { context.display.saw_line(line); };
  const bool is_of_server = wanted.runs_workload && workload::is_server(context.config);
  // Never while times are taken, and once is enough. A server with stages has those of its recipe.
  const bool is_named = is_of_server && context.config.list("workload.stages") !=
                                            std::vector<std::string>{core::whole_process_stage};
  const bool looks_for_torch = context.status.step == "timeline" && wanted.runs_workload && !is_named &&
                               !config::has_adapter(context.config);
  workload::torch_watch torch;
  options.stop_request = [&] {
    context.display.refresh();
    if (looks_for_torch) torch.look();
    return too_large();
  };
  std::optional<workload::server_run> server;
  if (is_of_server) {
    const workload::server_start start{
        wanted.command,         wanted.log_file,          wanted.log_file.parent_path() / "client_log.txt",
        "run.step_timeout_s",   wanted.is_profiled,       wanted.argv_that_ends_recording,
        wanted.captures_client, wanted.captured_max_bytes};
    server.emplace(workload::server_rules_of(context.config, start), pid_file_of(context),
                   [&](const std::string& line) { context.display.now_running(line); });
    // How long it takes to start is bounded elsewhere, and the client has the time of the step.
    server->watch_through(options);
  }

  process::outcome outcome = process::run(wanted.command, options);
  const std::lock_guard noting(context.noting);
  context.status.commands.push_back(as_command_status(wanted.command.argv, outcome));
  if (outcome.peak_rss_bytes > context.status.peak_rss_bytes.value_or(0)) {
    context.status.peak_rss_bytes = outcome.peak_rss_bytes;
  }
  if (outcome.signal != 0) context.status.signal = outcome.signal;
  if (torch.has_seen_torch()) add_note_once(context.status, workload::unasked_adapter_words());
  note_leftovers(context, wanted, outcome.killed_leftovers);
  if (!outcome.log_error.empty()) {
    context.status.notes.push_back(
        fmt::format("{} is incomplete: {}", wanted.log_file.string(), outcome.log_error));
  }
  if (outcome.how == process::ending::interrupted) {
    throw core::interrupted(
        fmt::format("interrupted by {} while running {}", outcome.stop_reason, wanted.what));
  }
  if (server) {
    const process::outcome client = server->finish(outcome, wanted.log_file);
    if (wanted.client != nullptr) *wanted.client = client;
    if (!server->note().empty()) context.status.notes.push_back(server->note());
  }
  // A quick child may be done before the guard has looked a second time.
  const std::optional<std::string> outgrown =
      outcome.how == process::ending::stopped ? outcome.stop_reason
                                              : artifacts::run_size_guard(context.run_dir, max_run_bytes)();
  if (outgrown) throw core::step_failure(*outgrown, "raise artifacts.max_run_bytes, or profile fewer tokens");
  return outcome;
}

std::vector<std::string> workload_argv(const step_context& context, const std::string& mode,
                                       const fs::path& result, const fs::path& config) {
  const fs::path config_file = config.empty() ? context.run_dir / "config.yaml" : config;
  const std::vector<std::string> words =
      context.manifest.command_has_placeholders
          ? workload::fill_placeholders(context.manifest.command, config_file, mode, result)
          : context.manifest.command;
  return workload::is_server(context.config)
             ? workload::with_pid_file(words, context.parts.process_noter, pid_file_of(context))
             : words;
}

std::map<std::string, std::string> adapter_environment_of(const step_context& context,
                                                          workload::adapter_mode mode,
                                                          const fs::path& folder) {
  return workload::adapter_environment(context.config, context.parts.pytorch_adapter, mode, folder);
}

void note_adapter(step_context& context, const fs::path& folder) {
  if (!config::has_adapter(context.config)) return;
  const std::vector<parsers::adapter_report> reports =
      parsers::read_adapter_reports(parsers::adapter_report_files(folder));
  if (reports.empty()) context.status.notes.push_back(workload::silent_adapter_words());
  const bool saw_nothing = std::all_of(
      reports.begin(), reports.end(),
      [](const parsers::adapter_report& report) { return report.roots.empty() && report.errors.empty(); });
  if (!reports.empty() && saw_nothing) {
    context.status.notes.emplace_back(
        "torch was imported, but no model was called, so nothing is known of stages; ranges of the program's "
        "own "
        "(nvtx) can be named in workload.stages");
  }
  if (const std::string raised = parsers::raised_calls_words(reports); !raised.empty())
    context.status.notes.push_back(raised);
  for (const parsers::adapter_report& report : reports) {
    for (const std::string& error : report.errors)
      context.status.notes.push_back(fmt::format(
          "the PyTorch adapter stopped in a process with torch {}, and the program went on without "
          "it: {}",
          report.torch_version, error));
  }
}

namespace {

/// "nsys profile", "nsys export": the program and its verb; of a server that no tool starts, what it is.
std::string short_name(const std::vector<std::string>& argv, const fs::path& process_noter) {
  constexpr std::size_t words_of_noter = 2;  // itself and its file
  const std::size_t first = argv.front() == process_noter ? words_of_noter : 0;
  const std::string program = fs::path(argv.at(first)).filename().string();
  if (first > 0 || argv.size() < 2) return program;
  const bool has_verb = !argv[1].starts_with("-") && argv[1].find('/') == std::string::npos;
  return has_verb ? program + " " + argv[1] : program;
}

/// For a helper of a profiler to stand in: nobody else writes there, and it goes with this object.
class empty_folder {
 public:
  empty_folder() {
    std::string name = (fs::temp_directory_path() / "profgate-tool-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw core::step_failure(fmt::format("cannot make the folder {}: {}", name, std::strerror(errno)),
                               "make room there, or set TMPDIR to a folder that you may write to");
    }
    m_path = name;
  }
  ~empty_folder() {
    std::error_code ignored;
    fs::remove_all(m_path, ignored);
  }
  empty_folder(const empty_folder&) = delete;
  empty_folder& operator=(const empty_folder&) = delete;
  const fs::path& path() const { return m_path; }

 private:
  fs::path m_path;
};

/// Calls `run` with the command as it is to be started.
template <typename runner>
profilers::tool_run run_in_folder(const profilers::tool_command& tool, const fs::path& workload_folder,
                                  const runner& run) {
  const auto run_in = [&](const fs::path& folder) {
    return workload::as_tool_run(
        run(process::command{tool.argv, tool.set_environment, tool.unset_environment, folder}));
  };
  return tool.runs_workload ? run_in(workload_folder) : run_in(empty_folder().path());
}

}  // namespace

profilers::command_runner step_tool_runner(step_context& context) {
  return [&context](const profilers::tool_command& tool) {
    return run_in_folder(tool, context.manifest.working_directory, [&](const process::command& command) {
      // What was recorded until the time was over is still worth reading.
      const std::chrono::seconds time_at_least(tool.runs_workload ? 0 : 60);
      step_command wanted{command, short_name(tool.argv, context.parts.process_noter), tool.log_file,
                          tool.capture_stdout};
      wanted.is_profiled = tool.runs_workload;
      wanted.argv_that_ends_recording = tool.argv_that_ends_recording;
      wanted.time_at_least = time_at_least;
      wanted.runs_workload = tool.runs_workload;
      return run_command(context, wanted);
    });
  };
}

profilers::command_runner plain_tool_runner() {
  return [](const profilers::tool_command& tool) {
    process::run_options options;
    options.capture_stdout = tool.capture_stdout;
    options.deadline = std::chrono::milliseconds(tool.deadline_ms > 0 ? tool.deadline_ms : 60000);
    return run_in_folder(tool, {},
                         [&](const process::command& command) { return process::run(command, options); });
  };
}

}  // namespace profgate::cli
