#include "fork_runner.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace profgate::test {
namespace {

[[noreturn]] void become(const profilers::tool_command& command, int output) {
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  for (const std::string& name : command.unset_environment) unsetenv(name.c_str());
  for (const auto& [name, value] : command.set_environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& word : command.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  _exit(127);
}

}  // namespace

profilers::tool_run run_by_fork(const profilers::tool_command& command) {
  std::array<int, 2> output{};
  profilers::tool_run result;
  if (pipe2(output.data(), O_CLOEXEC) != 0) return result;
  const pid_t child = fork();
  if (child == 0) become(command, output[1]);
  close(output[1]);
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t length = 0; (length = read(output[0], buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(length));
  }
  close(output[0]);
  int status = 0;
  waitpid(child, &status, 0);
  result.started = !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  result.description = "status " + std::to_string(status);
  result.tail = text;
  if (command.capture_stdout) result.captured_stdout = text;
  if (!command.log_file.empty()) std::ofstream(command.log_file, std::ios::app) << text;
  return result;
}

}  // namespace profgate::test
