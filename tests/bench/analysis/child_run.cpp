#include "child_run.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

namespace profgate::bench {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

pid_t start(const std::vector<std::string>& command, const std::filesystem::path& folder) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  const int log = open((folder / "log.txt").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(log, 1);
  dup2(log, 2);
  if (chdir(folder.c_str()) == 0) execvp(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

outcome run_child(const std::vector<std::string>& command, const std::filesystem::path& folder,
                  unsigned limit_s) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // what a stopped program started counts as well
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = start(command, folder);
  outcome result;
  for (;;) {
    int status = 0;
    rusage usage{};
    const pid_t ended = wait4(-1, &status, WNOHANG, &usage);
    if (ended < 0) break;
    const std::chrono::duration<double> so_far = std::chrono::steady_clock::now() - begin;
    result.wall_s = so_far.count();
    if (ended == 0) {
      if (!result.stopped && result.wall_s > limit_s) result.stopped = kill(-child, SIGKILL) == 0;
      usleep(2000);
      continue;
    }
    result.cpu_s += seconds(usage.ru_utime) + seconds(usage.ru_stime);
    if (ended != child) continue;
    result.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    result.peak_bytes = std::int64_t{usage.ru_maxrss} * 1024;
  }
  return result;
}

}  // namespace profgate::bench
