#include "workload/torch_watch.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace profgate::workload {
namespace fs = std::filesystem;
namespace {

/// What `import torch` loads, and no program in C++ does.
constexpr std::string_view library_of_import = "/libtorch_python.";

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::error_code gone;
  const fs::path threads = fs::path("/proc") / std::to_string(parent) / "task";
  for (fs::directory_iterator it(threads, gone), end; !gone && it != end; it.increment(gone)) {
    std::ifstream list(it->path() / "children");
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

bool has_imported_torch(pid_t process) {
  std::ifstream maps(fs::path("/proc") / std::to_string(process) / "maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(library_of_import) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

void torch_watch::look() {
  if (m_has_seen_torch) return;
  std::vector<pid_t> below = children_of(::getpid());
  // Grows while it is walked through.
  for (std::size_t i = 0; i < below.size() && !m_has_seen_torch; ++i) {
    m_has_seen_torch = has_imported_torch(below[i]);
    for (const pid_t child : children_of(below[i])) below.push_back(child);
  }
}

}  // namespace profgate::workload
