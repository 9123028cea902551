#include "tool_runner.h"

#include <chrono>
#include <filesystem>

#include "process/runner.h"
#include "steps/run_command.h"
#include "workload/contract.h"

namespace profgate::cli {
namespace {

/// "nsys profile", "nsys export": the program and its verb.
std::string short_name(const std::vector<std::string>& argv) {
  const std::string program = std::filesystem::path(argv.front()).filename().string();
  const bool has_verb =
      argv.size() > 1 && !argv[1].starts_with("-") && argv[1].find('/') == std::string::npos;
  return has_verb ? program + " " + argv[1] : program;
}

}  // namespace

profilers::command_runner step_tool_runner(step_context& context) {
  return [&context](const profilers::tool_command& tool) {
    step_command wanted;
    wanted.command = {tool.argv, tool.set_environment, tool.unset_environment,
                      context.manifest.working_directory};
    wanted.what = short_name(tool.argv);
    wanted.log_file = tool.log_file;
    wanted.capture_stdout = tool.capture_stdout;
    return workload::as_tool_run(run_command(context, wanted));
  };
}

profilers::command_runner plain_tool_runner() {
  return [](const profilers::tool_command& tool) {
    process::run_options options;
    options.capture_stdout = tool.capture_stdout;
    options.deadline = std::chrono::milliseconds(tool.deadline_ms > 0 ? tool.deadline_ms : 60000);
    return workload::as_tool_run(
        process::run({tool.argv, tool.set_environment, tool.unset_environment, {}}, options));
  };
}

}  // namespace profgate::cli
