#include "child_program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "support.h"

namespace profgate::llm::testing_support {

finished_program run_program(const std::string& directory, const std::vector<std::string>& arguments,
                             const std::map<std::string, std::string>& environment) {
  const std::string out_path = directory + "/stdout.txt";
  const std::string err_path = directory + "/stderr.txt";
  std::vector<char*> argument_pointers;
  for (const auto& argument : arguments) argument_pointers.push_back(const_cast<char*>(argument.c_str()));
  argument_pointers.push_back(nullptr);

  const pid_t child = fork();
  if (child == 0) {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    dup2(open(out_path.c_str(), flags, 0600), STDOUT_FILENO);
    dup2(open(err_path.c_str(), flags, 0600), STDERR_FILENO);
    execv(argument_pointers[0], argument_pointers.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  finished_program finished;
  if (WIFEXITED(status)) finished.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) finished.signal = WTERMSIG(status);
  finished.out = read_text(out_path);
  finished.err = read_text(err_path);
  return finished;
}

}  // namespace profgate::llm::testing_support
