#include "prepare.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace profgate::process {
namespace {

// Where the child has no PATH at all: what a login shell would have.
constexpr const char* default_path = "/usr/local/bin:/usr/bin:/bin";

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

void check_words(const command& what) {
  if (what.argv.empty() || what.argv.front().empty()) {
    throw core::bad_input("a command to run has no program", "give the program as its first word");
  }
  for (const std::string& word : what.argv) {
    if (has_nul(word)) {
      throw core::bad_input(
          fmt::format("an argument of '{}' contains a NUL byte, which no program can receive",
                      what.argv.front()),
          "remove it from the configuration that gave the argument");
    }
  }
}

void check_variable(const std::string& name, const std::string& value) {
  if (name.empty() || name.find('=') != std::string::npos || has_nul(name) || has_nul(value)) {
    throw core::bad_input(fmt::format("'{}' cannot be set or unset as an environment variable", name),
                          "use a name without '=' and a name and value without NUL bytes");
  }
}

std::vector<std::string> child_environment(const command& what) {
  for (const auto& [name, value] : what.set_environment) check_variable(name, value);
  for (const std::string& name : what.unset_environment) check_variable(name, "");

  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string name(text.substr(0, text.find('=')));
    const bool removed = std::find(what.unset_environment.begin(), what.unset_environment.end(), name) !=
                         what.unset_environment.end();
    if (!removed && !what.set_environment.contains(name)) environment.emplace_back(text);
  }
  for (const auto& [name, value] : what.set_environment) environment.push_back(name + "=" + value);
  return environment;
}

std::string path_of(const std::vector<std::string>& environment) {
  constexpr std::string_view prefix = "PATH=";
  for (const std::string& entry : environment) {
    if (entry.starts_with(prefix)) return entry.substr(prefix.size());
  }
  return default_path;
}

}  // namespace

prepared_command prepare(const command& what) {
  check_words(what);
  prepared_command prepared;
  prepared.arguments = what.argv;
  prepared.environment = child_environment(what);
  prepared.working_directory = what.working_directory.string();
  const std::string& name = what.argv.front();
  if (name.find('/') != std::string::npos) {
    prepared.program = name;
  } else if (const auto found = find_program(name, path_of(prepared.environment))) {
    prepared.program = found->string();
  } else {
    prepared.start_error = fmt::format("no executable file '{}' in the directories of PATH ({})", name,
                                       path_of(prepared.environment));
  }
  return prepared;
}

std::string explain_exec_failure(const prepared_command& prepared, int error) {
  const std::string& program = prepared.program;
  const std::filesystem::path full = std::filesystem::path(prepared.working_directory) / program;
  std::error_code ignored;
  if (error == ENOENT && std::filesystem::exists(full, ignored)) {
    return fmt::format("{} cannot run: the interpreter or loader that it names does not exist", program);
  }
  if (error == ENOENT) return fmt::format("{} does not exist", full.string());
  if (error == EACCES && std::filesystem::is_directory(full, ignored)) {
    return fmt::format("{} is a directory", full.string());
  }
  if (error == EACCES) return fmt::format("{} is not executable (permission denied)", full.string());
  if (error == ENOEXEC) {
    return fmt::format("{} is no program for this machine, or a script without a '#!' line", full.string());
  }
  return fmt::format("{} cannot be executed: {}", full.string(), std::strerror(error));
}

}  // namespace profgate::process
