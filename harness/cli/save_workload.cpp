#include "save_workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "artifacts/files.h"
#include "steps/step.h"
#include "terminal.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

/// Those of profgate_add_workload: as a word of COMMAND each would end it, quoted or not.
constexpr std::array<std::string_view, 11> keywords = {
    "NAME",    "ENGINE",  "MODEL",  "ADAPTER",  "TIMEOUT", "CONF_DIR", "WORKING_DIRECTORY",
    "COMMAND", "CONFIGS", "STAGES", "OVERRIDES"};

/// What is written before and after a word, so that each square bracket has its other half there: CMake's
/// lists do not end an element within brackets. Nothing of it reaches the program.
struct other_halves {
  std::string before;
  std::string after;
};

other_halves other_halves_of(const std::string& word) {
  other_halves halves;
  int open = 0;
  for (const char c : word) {
    if (c == '[') ++open;
    if (c != ']') continue;
    if (open > 0) {
      --open;
    } else {
      halves.before += "$<0:[>";
    }
  }
  for (; open > 0; --open) halves.after += "$<0:]>";
  return halves;
}

/// Between quotes. Expressions for the generator, which writes what the steps read, stand for what CMake's
/// lists cannot hold: a semicolon, a backslash at the end of an element, and the beginning of such an
/// expression.
std::string quoted_character(char c, char next) {
  switch (c) {
    case ';':
      return "$<SEMICOLON>";
    case '\\':
      return next == '\0' || next == ';' ? R"($<1:\\>)" : R"(\\)";
    case '$':
      return next == '<' ? "$<1:$>" : "\\$";
    case '"':
      return "\\\"";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return {c};
  }
}

/// As CMake hands it to the program in the end.
std::string cmake_word(const std::string& word) {
  if (std::find(keywords.begin(), keywords.end(), word) != keywords.end())
    return fmt::format("\"$<1:{}>\"", word);
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_./=:+,-").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  const other_halves halves = other_halves_of(word);
  std::string quoted = "\"" + halves.before;
  for (std::size_t i = 0; i < word.size(); ++i)
    quoted += quoted_character(word[i], i + 1 < word.size() ? word[i + 1] : '\0');
  return quoted + halves.after + "\"";
}

/// An interpreter, which no project builds: by its name, as a virtual environment's is a link.
bool runs_scripts(const fs::path& program) {
  const std::string name = program.filename().string();
  constexpr std::array<std::string_view, 8> interpreters = {"python", "pypy", "sh",   "bash",
                                                            "dash",   "perl", "ruby", "node"};
  return std::any_of(interpreters.begin(), interpreters.end(), [&](std::string_view each) {
    return name.starts_with(each) && name.find_first_not_of("0123456789.", each.size()) == std::string::npos;
  });
}

/// Of the overrides, those that a file of group workload cannot hold.
std::string other_overrides(const std::vector<std::string>& command_line) {
  std::vector<std::string> all;
  if (const char* overrides = std::getenv("PROFGATE_OVERRIDES")) all = config::split_overrides(overrides);
  all.insert(all.end(), command_line.begin(), command_line.end());
  std::string words;
  for (const std::string& item : all) {
    if (item.starts_with("workload.") || item.starts_with("workload=")) continue;
    words += " " + cmake_word(item);
  }
  return words.empty() ? "" : "\n                      OVERRIDES" + words;
}

/// A comment, so that it may stay where the line goes.
void add_hint(saved_workload& saved, const std::string& words) {
  saved.hints.push_back("# " + words);
}

void require_config_name(const std::string& name) {
  const bool is_word = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  });
  const auto& steps = all_steps();
  const bool is_step =
      std::any_of(steps.begin(), steps.end(), [&](const step_definition& step) { return step.name == name; });
  if (is_word && !is_step) return;
  throw core::bad_input(fmt::format("'{}' cannot be the name of a configuration", name),
                        "take letters, digits, - and _, and no name of a step");
}

}  // namespace

saved_workload plan_saving(const pair_options& options, const pair_manifest& manifest) {
  if (options.command.empty()) {
    throw core::bad_input("--save is for a command that is typed after --; this pair is registered already",
                          "leave --save away");
  }
  require_config_name(options.save);
  saved_workload saved;
  saved.file = manifest.project_dir / "conf" / "workload" / (options.save + ".yaml");
  if (fs::exists(fs::symlink_status(saved.file))) {
    throw core::bad_input(saved.file.string(), 0, "is there already, and is not overwritten",
                          "give --save another name, or remove the file");
  }
  const config::resolved settings = compose_for(manifest, options.overrides);
  saved.yaml = settings.section_yaml("workload");
  std::string command;
  std::string arguments;
  for (std::size_t i = 0; i < manifest.command.size(); ++i) {
    command += " " + cmake_word(manifest.command[i]);
    if (i > 0) arguments += " " + cmake_word(manifest.command[i]);
  }
  const fs::path program = manifest.command.front();
  if (program.is_relative() && program.has_parent_path() && !runs_scripts(program))
    add_hint(saved,
             fmt::format("{} is run as it lies there; where CMake builds it, name its target: COMMAND {}{}",
                         program.string(), cmake_word(program.filename().string()), arguments));
  saved.cmake_line = fmt::format(
      "profgate_add_workload(NAME {} CONFIGS {} WORKING_DIRECTORY \"${{CMAKE_CURRENT_SOURCE_DIR}}\"{}\n"
      "                      COMMAND{})",
      manifest.model, options.save, other_overrides(options.overrides), command);
  return saved;
}

void save_workload(const saved_workload& saved) {
  artifacts::make_folder(saved.file.parent_path());
  artifacts::write_file_atomically(saved.file, saved.yaml);
  print("saved as {}; in CMakeLists.txt of this folder it becomes a pair by\n{}\n", saved.file.string(),
        saved.cmake_line);
  for (const std::string& hint : saved.hints) print("{}\n", hint);
}

}  // namespace profgate::cli
