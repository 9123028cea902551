#include "llm/machine.h"

#include <sys/utsname.h>

#include <fstream>
#include <sstream>

namespace profgate::llm {
namespace {

/// The text after "<key> : " on its first line in a file of /proc.
std::optional<std::string> proc_value(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto key_end = line.find_last_not_of(" \t", colon == 0 ? 0 : colon - 1);
    if (line.substr(0, key_end + 1) != key) continue;
    const auto begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return std::nullopt;
}

std::optional<std::int64_t> proc_kilobytes(const char* path, const std::string& key) {
  const auto text = proc_value(path, key);
  if (!text) return std::nullopt;
  std::istringstream stream(*text);
  std::int64_t kilobytes = 0;
  if (!(stream >> kilobytes)) return std::nullopt;
  return kilobytes * 1024;
}

/// Arm CPUs give numbers instead of a name.
const char* arm_part_name(const std::string& implementer, const std::string& part) {
  struct row {
    const char* part;
    const char* name;
  };
  constexpr row parts[] = {{"0xd0c", "ARM Neoverse-N1"}, {"0xd40", "ARM Neoverse-V1"},
                           {"0xd49", "ARM Neoverse-N2"}, {"0xd4f", "ARM Neoverse-V2"},
                           {"0xd08", "ARM Cortex-A72"},  {"0xd0b", "ARM Cortex-A76"}};
  if (implementer == "0x41")
    for (const auto& known : parts)
      if (part == known.part) return known.name;
  return nullptr;
}

}  // namespace

std::string cpu_name() {
  constexpr const char* path = "/proc/cpuinfo";
  if (const auto name = proc_value(path, "model name")) return *name;
  const auto implementer = proc_value(path, "CPU implementer");
  const auto part = proc_value(path, "CPU part");
  if (implementer && part) {
    if (const char* name = arm_part_name(*implementer, *part)) return name;
  }
  utsname system{};
  uname(&system);
  std::string name = system.machine;
  if (implementer && part) name += " (implementer " + *implementer + ", part " + *part + ")";
  return name;
}

std::optional<std::int64_t> available_memory_bytes() {
  return proc_kilobytes("/proc/meminfo", "MemAvailable");
}

// VmHWM and not getrusage: the latter also remembers the process that forked us.
std::optional<std::int64_t> peak_memory_bytes() {
  return proc_kilobytes("/proc/self/status", "VmHWM");
}

}  // namespace profgate::llm
