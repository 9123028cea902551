#include "options.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace profgate::probe {
namespace {

struct fault_row {
  const char* name;
  fault value;
};
constexpr fault_row faults[] = {
    {"none", fault::none},
    {"exit-3", fault::exit_3},
    {"exit-3-in-range", fault::exit_3_in_range},
    {"crash-in-range", fault::crash_in_range},
    {"segv-in-range", fault::segv_in_range},
    {"hang-in-range", fault::hang_in_range},
    {"hang-ignoring-sigint", fault::hang_ignoring_sigint},
    {"no-range", fault::no_range},
    {"other-domain", fault::other_domain},
    {"unregistered", fault::unregistered},
    {"no-result", fault::no_result},
    {"truncated-result", fault::truncated_result},
    {"flood", fault::flood},
    {"daemon", fault::daemon},
};

[[noreturn]] void misuse(const std::string& what_is_wrong) {
  std::fprintf(stderr,
               "profgate-probe: %s\n"
               "  to fix it: call it as profgate-probe --config <yaml> --mode bench|profile --result <json>\n"
               "    [--fault <name>] [--fault-mode bench|profile] [--steps <n>] [--repetitions <n>]\n"
               "    [--spin-iterations <n>] [--flood-bytes <n>] [--starts-file <file> --hanging-start <n>]\n"
               "  faults:",
               what_is_wrong.c_str());
  for (const auto& row : faults) std::fprintf(stderr, " %s", row.name);
  std::fputc('\n', stderr);
  std::exit(2);
}

fault fault_named(const std::string& name) {
  for (const auto& row : faults)
    if (name == row.name) return row.value;
  misuse("there is no fault '" + name + "'");
}

std::int64_t count_of(const std::string& option, const char* text) {
  char* end = nullptr;
  errno = 0;
  const std::int64_t value = std::strtoll(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || value < 1) misuse(option + " is not a positive number");
  return value;
}

void require_mode(const std::string& option, const std::string& mode) {
  if (mode != "bench" && mode != "profile") misuse(option + " is '" + mode + "', not bench or profile");
}

}  // namespace

options parse_options(std::span<char* const> arguments) {
  options result;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string option = arguments[i];
    if (i + 1 == arguments.size()) misuse(option + " has no value");
    const char* value = arguments[i + 1];
    if (option == "--config")
      result.config_path = value;
    else if (option == "--mode")
      result.mode = value;
    else if (option == "--result")
      result.result_path = value;
    else if (option == "--fault")
      result.misbehaviour = fault_named(value);
    else if (option == "--fault-mode")
      result.fault_mode = value;
    else if (option == "--steps")
      result.decode_steps = count_of(option, value);
    else if (option == "--repetitions")
      result.repetitions = count_of(option, value);
    else if (option == "--spin-iterations")
      result.spin_iterations = count_of(option, value);
    else if (option == "--flood-bytes")
      result.flood_bytes = count_of(option, value);
    else if (option == "--starts-file")
      result.starts_file = value;
    else if (option == "--hanging-start")
      result.hanging_start = count_of(option, value);
    else
      misuse("unknown argument '" + option + "'");
  }
  require_mode("--mode", result.mode);
  if (!result.fault_mode.empty()) require_mode("--fault-mode", result.fault_mode);
  if (result.result_path.empty()) misuse("--result is missing");
  if (result.starts_file.empty() != (result.hanging_start == 0))
    misuse("--starts-file and --hanging-start go together");
  if (!result.fault_mode.empty() && result.fault_mode != result.mode) result.misbehaviour = fault::none;
  return result;
}

}  // namespace profgate::probe
