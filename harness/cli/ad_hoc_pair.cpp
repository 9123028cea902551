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

using command_words = std::vector<std::string>;

/// What stands between the `--`; of n of them n + 1 commands, each of which may be empty.
std::vector<command_words> part_at_dashes(const command_words& all) {
  std::vector<command_words> parts(1);
  for (const std::string& word : all) {
    if (word == "--") {
      parts.emplace_back();
    } else {
      parts.back().push_back(word);
    }
  }
  return parts;
}

bool has_empty(const std::vector<command_words>& commands) {
  return std::any_of(commands.begin(), commands.end(),
                     [](const command_words& command) { return command.empty(); });
}

std::string as_client_override(const command_words& client) {
  std::string list;
  for (const std::string& word : client) list += (list.empty() ? "" : ", ") + quoted_for_override(word);
  return "workload.client=[" + list + "]";
}

constexpr const char* own_dashes_remedy =
    "put a command that has a -- of its own into a script, or into sh -c '…'";

/// False: the program is no server, or is a registered pair, which has its own client.
bool is_typed_server(pair_options& options) {
  if (options.ready_port)
    options.overrides.push_back(fmt::format("workload.server.ready_port={}", *options.ready_port));
  if (!options.ready_text.empty())
    options.overrides.push_back("workload.server.ready_text=" + quoted_for_override(options.ready_text));
  return (options.ready_port || !options.ready_text.empty()) && !options.command.empty();
}

}  // namespace

std::string name_of_program(const std::vector<std::string>& command) {
  const core::started_program program = core::program_of(command);
  return as_word(program.is_module ? program.name : fs::path(program.name).stem().string());
}

two_commands split_commands(const std::vector<std::string>& typed) {
  const std::vector<command_words> commands = part_at_dashes(typed);
  if (commands.size() > 2) {
    throw core::bad_input("more than one '--' stands after the first: which of them parts the two commands?",
                          "give a command that holds one of its own to a shell, in one word: "
                          "profgate ab -- sh -c 'exec bench -- x' -- sh -c 'exec bench -- y'; servers with "
                          "their client are compared with --ready-port or --ready-text");
  }
  if (commands.size() < 2 || has_empty(commands)) {
    throw core::bad_input("two commands are to be compared, and only one was given",
                          "profgate ab [settings] -- <baseline's words> -- <candidate's words>");
  }
  return {commands[0], commands[1]};
}

void split_server_command(pair_options& options) {
  const std::vector<command_words> commands = part_at_dashes(options.command);
  if (!is_typed_server(options)) {
    const bool is_server = options.ready_port || !options.ready_text.empty();
    if (is_server || commands.size() == 1) return;
    throw core::bad_input(
        "a second '--' stands among the program's words",
        "for a server and its client say when it is ready: --ready-port or --ready-text before the first --; "
        "two commands are compared by profgate ab; a program that wants -- as a word of its own gets it from "
        "a shell, in one word: -- sh -c 'exec bench -- x'");
  }
  if (commands.size() != 2 || has_empty(commands)) {
    throw core::bad_input("a server is typed with its client, '-- <server> -- <client>', and no further --",
                          own_dashes_remedy);
  }
  options.command = commands[0];
  options.overrides.push_back(as_client_override(commands[1]));
}

void split_server_commands(ab_options& options) {
  if (!is_typed_server(options.pair)) return;
  const std::vector<command_words> commands = part_at_dashes(options.pair.command);
  if (commands.size() < 3 || commands.size() > 4 || has_empty(commands)) {
    throw core::bad_input(
        fmt::format("two servers are typed with one client or two, '-- <server A> -- <client> -- <server B> "
                    "[-- <client B>]', and {}",
                    has_empty(commands) ? "one of these commands is empty"
                                        : fmt::format("{} command{} given", commands.size(),
                                                      commands.size() == 1 ? " was" : "s were")),
        own_dashes_remedy);
  }
  options.baseline_overrides.push_back(as_client_override(commands[1]));
  options.candidate_overrides.push_back(as_client_override(commands.size() == 4 ? commands[3] : commands[1]));
  options.pair.command = commands[0];
  options.pair.command.emplace_back("--");
  options.pair.command.insert(options.pair.command.end(), commands[2].begin(), commands[2].end());
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
