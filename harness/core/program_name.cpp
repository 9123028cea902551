#include "core/program_name.h"

#include <algorithm>
#include <array>
#include <filesystem>

namespace profgate::core {
namespace fs = std::filesystem;
namespace {

std::string file_name_of(const std::string& word) {
  return fs::path(word).filename().string();
}

/// The first word of the command that env starts: past its options and the variables that it sets.
std::size_t first_word_after_env(const std::vector<std::string>& command) {
  std::size_t at = 1;
  for (; at < command.size(); ++at) {
    const std::string& word = command[at];
    const bool takes_next = word == "-u" || word == "-C";
    if (takes_next) ++at;
    if (!takes_next && !word.starts_with("-") && word.find('=') == std::string::npos) break;
  }
  return at;
}

}  // namespace

bool runs_another_program(const std::string& name) {
  constexpr std::array known = {"python", "pypy", "bash",     "sh",  "perl",
                                "ruby",   "node", "torchrun", "env", "mpirun"};
  const std::string program = file_name_of(name);
  return std::any_of(known.begin(), known.end(), [&](const std::string& each) {
    if (!program.starts_with(each)) return false;
    return program.find_first_not_of("0123456789.", each.size()) == std::string::npos;  // python3.11
  });
}

started_program program_of(const std::vector<std::string>& command) {
  if (command.empty()) return {};
  const std::string program = file_name_of(command.front());
  if (program == "env") {
    const std::size_t first = first_word_after_env(command);
    if (first < command.size())
      return program_of({command.begin() + static_cast<std::ptrdiff_t>(first), command.end()});
  } else if (runs_another_program(program)) {
    // The first word that is a file; `python3 -m vllm.bench` names a module, what follows -c is a program.
    for (std::size_t i = 1; i < command.size() && command[i] != "-c"; ++i) {
      if (command[i] == "-m" && i + 1 < command.size()) return {command[i + 1], true};
      if (!command[i].starts_with("-") && fs::path(command[i]).has_extension())
        return {file_name_of(command[i])};
    }
  }
  return {program};
}

}  // namespace profgate::core
