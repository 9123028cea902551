#include "ad_hoc_pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "artifacts/gpu_choice.h"
#include "core/error.h"
#include "core/program_name.h"
#include "installation.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

/// As a part of a folder's and of a test's name.
std::string as_word(const std::string& text) {
  std::string word;
  for (const char c : text) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    word += is_plain ? c : '-';
  }
  word.erase(0, word.find_first_not_of("-_"));
  constexpr std::size_t longest = 60;
  return word.empty() ? "program" : word.substr(0, longest);
}

/// As YAML reads it back.
std::string quoted_for_override(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "\'\'" : std::string(1, c);
  return quoted + "'";
}

bool has_dashes(const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), "--") != words.end();
}

/// What stands before and after the first `--`; without one the second is empty.
two_commands part_at_dashes(const std::vector<std::string>& words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  return {{words.begin(), dashes}, {dashes == words.end() ? dashes : dashes + 1, words.end()}};
}

}  // namespace

std::string name_of_program(const std::vector<std::string>& command) {
  const core::started_program program = core::program_of(command);
  return as_word(program.is_module ? program.name : fs::path(program.name).stem().string());
}

two_commands split_commands(const std::vector<std::string>& words) {
  const two_commands commands = part_at_dashes(words);
  if (has_dashes(commands.candidate)) {
    throw core::bad_input("more than one '--' stands after the first: which of them parts the two commands?",
                          "give a command that holds one of its own to a shell, in one word: "
                          "profgate ab -- sh -c 'exec bench -- x' -- sh -c 'exec bench -- y'");
  }
  if (commands.baseline.empty() || commands.candidate.empty()) {
    throw core::bad_input("two commands are to be compared, and only one was given",
                          "profgate ab [settings] -- <baseline's words> -- <candidate's words>");
  }
  return commands;
}

void split_server_command(pair_options& options) {
  std::vector<std::string>& words = options.command;
  std::vector<std::string>& overrides = options.overrides;
  if (!options.ready_port && options.ready_text.empty()) {
    if (!has_dashes(words)) return;
    throw core::bad_input(
        "a second '--' stands among the program's words",
        "for a server and its client say when it is ready: --ready-port or --ready-text before the first --; "
        "two commands are compared by profgate ab; a program that wants -- as a word of its own gets it from "
        "a shell, in one word: -- sh -c 'exec bench -- x'");
  }
  if (options.ready_port)
    overrides.push_back(fmt::format("workload.server.ready_port={}", *options.ready_port));
  if (!options.ready_text.empty())
    overrides.push_back("workload.server.ready_text=" + quoted_for_override(options.ready_text));
  if (words.empty()) return;  // a registered pair has its own client
  const auto [server, client_words] = part_at_dashes(words);
  if (server.empty() || client_words.empty() || has_dashes(client_words)) {
    throw core::bad_input("a server is typed with its client, '-- <server> -- <client>', and no further --",
                          "put a command that has a -- of its own into a script, or into sh -c '…'");
  }
  std::string client;
  for (const std::string& word : client_words)
    client += (client.empty() ? "" : ", ") + quoted_for_override(word);
  overrides.push_back("workload.client=[" + client + "]");
  words = server;
}

pair_manifest ad_hoc_pair(const std::vector<std::string>& command) {
  const fs::path here = fs::current_path();
  pair_manifest manifest;
  manifest.model = name_of_program(command);
  manifest.config = ad_hoc_config;
  manifest.pair = manifest.model + "." + manifest.config;
  const bool has_gpu = static_cast<bool>(artifacts::chosen_gpu(artifacts::gather_gpu_facts()));
  manifest.device = has_gpu ? "cuda" : "cpu";
  manifest.overrides = {"workload.device=" + manifest.device};
  manifest.command = command;
  manifest.command_has_placeholders =
      std::any_of(command.begin(), command.end(),
                  [](const std::string& word) { return word.find("{result}") != std::string::npos; });
  manifest.working_directory = here;
  manifest.project_dir = here;
  if (fs::is_directory(here / "conf")) manifest.conf_dirs.push_back(here / "conf");
  manifest.conf_dirs.push_back(find_installation().conf_dir);
  return manifest;
}

}  // namespace profgate::cli
