#include "misbehave.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

/// A child with bad habits. Usage: process_misbehave <verb> [argument...]
namespace misbehave {

void say(const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
    if (count < 0) return;
    done += static_cast<std::size_t>(count);
  }
}

void wait_forever() {
  for (;;) ::pause();
}

namespace {

void flood(std::size_t megabytes) {
  const std::string line = std::string(99, 'x') + '\n';
  std::string block;
  while (block.size() < 1'000'000) block += line;
  say("first line\n");
  for (std::size_t i = 0; i < megabytes; ++i) say(block);
  say("last line\n");
}

void list_descriptors() {
  DIR* const directory = ::opendir("/proc/self/fd");
  std::vector<int> open;
  while (const dirent* const entry = ::readdir(directory)) {
    if (entry->d_name[0] != '.' && std::atoi(entry->d_name) != ::dirfd(directory)) {
      open.push_back(std::atoi(entry->d_name));
    }
  }
  ::closedir(directory);
  std::sort(open.begin(), open.end());
  for (const int fd : open) say(std::to_string(fd) + " ");
}

void show_signals() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigBlk") || line.starts_with("SigIgn")) say(line + "\n");
  }
}

int run(const std::vector<std::string>& words) {
  const std::string verb = words.empty() ? "" : words[0];
  const std::string argument = words.size() > 1 ? words[1] : "";
  if (verb == "exit") return std::atoi(argument.c_str());
  if (verb == "say") {
    for (std::size_t i = 1; i < words.size(); ++i) say(words[i] + "\n");
    return 0;
  }
  if (verb == "say-twice") {
    say("to stdout\n");
    return ::write(STDERR_FILENO, "to stderr\n", 10) == 10 ? 0 : 1;
  }
  if (verb == "environment") {
    const char* const value = std::getenv(argument.c_str());
    say(value == nullptr ? "unset" : value);
    return 0;
  }
  if (verb == "directory") {
    const std::string path(::getcwd(nullptr, 0));
    say(path);
    return 0;
  }
  if (verb == "group") {
    say(::getpgrp() == ::getpid() ? "own group" : "inherited group");
    return 0;
  }
  if (verb == "raise") return std::raise(std::atoi(argument.c_str()));
  if (verb == "descriptors") return list_descriptors(), 0;
  if (verb == "signals") return show_signals(), 0;
  if (verb == "flood") return flood(std::stoul(argument)), 0;
  if (verb == "repeat") return say(std::string(std::stoul(argument), 'y')), 0;
  if (verb == "binary") return say(std::string("a\0\xFF\nb\r\n\x1B[31mend", 15)), 0;
  if (verb == "close-output") {
    ::close(STDOUT_FILENO);
    ::close(STDERR_FILENO);
    return 5;
  }
  if (verb == "hang") {
    say("ready\n");
    wait_forever();
  }
  if (verb == "ignore-sigint") {
    std::signal(SIGINT, SIG_IGN);
    say("ready\n");
    wait_forever();
  }
  if (verb == "exit-on-sigint") {
    std::signal(SIGINT, [](int) { ::_exit(7); });
    say("ready\n");
    wait_forever();
  }
  if (verb == "stop-itself") {
    std::signal(SIGINT, [](int) { ::_exit(8); });
    say("ready\n");
    std::raise(SIGSTOP);
    wait_forever();
  }
  if (verb == "leave-daemon") return leave_daemon(argument.c_str());
  if (verb == "leave-zombies") return leave_zombies();
  if (verb == "stubborn-tree") return stubborn_tree(argument.c_str());
  if (verb == "keep-forking") return keep_forking(argument.c_str());
  if (verb == "kill-parent") return kill_parent(argument.c_str());
  if (verb == "use-resources") return use_resources_in_grandchild(std::stoul(argument));
  say("unknown verb: " + verb + "\n");
  return 2;
}

}  // namespace
}  // namespace misbehave

int main(int argc, char** argv) {
  return misbehave::run(std::vector<std::string>(argv + 1, argv + argc));
}
