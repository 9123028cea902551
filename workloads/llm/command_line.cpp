#include "llm/command_line.h"

#include <map>

#include "llm/failure.h"

namespace profgate::llm {
namespace {

constexpr const char* usage = "profgate-llm --config <resolved.yaml> --mode bench|profile --result <json>";

failure misuse(const std::string& what_is_wrong) {
  return bad_input(what_is_wrong, std::string("call it as ") + usage);
}

}  // namespace

command_line parse_command_line(std::span<const char* const> arguments) {
  std::map<std::string, std::string> values = {{"--config", ""}, {"--mode", ""}, {"--result", ""}};
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const auto option = values.find(arguments[i]);
    if (option == values.end()) throw misuse(std::string("unknown argument '") + arguments[i] + "'");
    if (!option->second.empty()) throw misuse(option->first + " is given twice");
    if (i + 1 == arguments.size() || *arguments[i + 1] == '\0') throw misuse(option->first + " has no value");
    option->second = arguments[i + 1];
  }
  for (const auto& [option, value] : values)
    if (value.empty()) throw misuse(option + " is missing");
  const std::string& mode = values["--mode"];
  if (mode != "bench" && mode != "profile") throw misuse("--mode is '" + mode + "', not bench or profile");
  return {values["--config"], mode == "bench" ? run_mode::bench : run_mode::profile, values["--result"]};
}

}  // namespace profgate::llm
