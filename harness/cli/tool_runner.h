#pragma once

#include "profilers/tool_command.h"
#include "steps/step.h"

/// Binds what the profilers call "run a command" to the process library.
namespace profgate::cli {

/// For a step: logged, shown, bounded, noted in its status.
profilers::command_runner step_tool_runner(step_context& context);

/// For short questions such as `nsys --version`, outside of a step.
profilers::command_runner plain_tool_runner();

}  // namespace profgate::cli
