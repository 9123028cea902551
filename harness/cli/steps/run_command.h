#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "process/runner.h"
#include "profilers/tool_command.h"
#include "steps/step.h"
#include "workload/adapter.h"

/// How steps and commands start programs, their own and those that the profilers ask for.
namespace profgate::cli {

struct step_command {
  process::command command;
  std::string what;  ///< for people: "nsys on decode_all"
  std::filesystem::path log_file;
  bool capture_stdout = false;
  std::size_t captured_max_bytes = std::size_t{1} << 20;
  std::chrono::milliseconds time_at_least{0};  ///< that it has, even if the step's own is over
  /// Its words hold those of workload_argv(): where they are a server's, the client runs beside it.
  bool runs_workload = false;
  bool is_profiled = false;  ///< a tool fetches what the workload did until its end, or until this:
  std::vector<std::string> argv_that_ends_recording{};
  bool captures_client = false;        ///< the client's standard output
  process::outcome* client = nullptr;  ///< where its end is wanted
};

/// Runs a child of a step: logged, shown, within what is left of run.step_timeout_s and
/// artifacts.max_run_bytes, its argv, time and end noted in the status. How the child ended is the caller's
/// to judge; an interrupt and a run that grew too large are thrown here.
process::outcome run_command(step_context& context, const step_command& wanted);

/// The workload's words with {config}, {mode} and {result} filled in; a server's leave its process number.
/// `config` empty: the run's config.yaml.
std::vector<std::string> workload_argv(const step_context& context, const std::string& mode,
                                       const std::filesystem::path& result,
                                       const std::filesystem::path& config = {});

/// bad_input where the workload's program or its client's is none that could be started: told before anything
/// runs or is written.
void require_programs(const pair_manifest& manifest, const config::resolved& config);

/// The environment by which the workload gets its adapter, if it has one; its reports go to `folder`.
std::map<std::string, std::string> adapter_environment_of(const step_context& context,
                                                          workload::adapter_mode mode,
                                                          const std::filesystem::path& folder);
/// Notes where no process of the workload got its adapter, or where the adapter stopped. What has run is
/// measured as a whole then.
void note_adapter(step_context& context, const std::filesystem::path& folder);

/// For a step: logged, shown, bounded, noted in its status.
profilers::command_runner step_tool_runner(step_context& context);

/// For short questions such as `nsys --version`, outside of a step.
profilers::command_runner plain_tool_runner();

}  // namespace profgate::cli
