#include "nsys_agents.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

/// The words of /proc/<pid>/cmdline, which are separated by NUL; empty where the process is gone.
std::string command_line(const fs::path& process) {
  std::ifstream file(process / "cmdline");
  std::string text = (std::ostringstream() << file.rdbuf()).str();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

bool is_number(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::vector<std::string> leftover_nsys_agents(const fs::path& proc) {
  std::vector<std::string> agents;
  bool nsys_at_work = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(proc)) {
    const std::string pid = entry.path().filename().string();
    if (!is_number(pid)) continue;
    const std::string command = command_line(entry.path());
    const bool is_nsys = command.find("nsys") != std::string::npos;
    if (is_nsys && command.find("--start-agent") != std::string::npos)
      agents.push_back(fmt::format("{} {}", pid, command));
    if (is_nsys && command.find(" profile ") != std::string::npos) nsys_at_work = true;
  }
  // An agent beside a running `nsys profile` is that one's.
  if (nsys_at_work) agents.clear();
  return agents;
}

}  // namespace profgate::cli
