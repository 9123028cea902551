#include "artifacts/host_facts.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string_view>

#include "artifacts/files.h"
#include "core/error.h"

namespace profgate::artifacts {

namespace fs = std::filesystem;

namespace {

/// The text of a small system file, or the reason why there is none.
core::measured<std::string> system_file(const fs::path& path) {
  try {
    return read_file(path, 4 << 20);
  } catch (const core::error& failure) {
    return core::measured<std::string>::absent(failure.what());
  }
}

/// The value behind the first line "<key> <separator> <value>"; surrounding blanks and quotes removed.
std::optional<std::string> field(const std::string& text, std::string_view key, char separator) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t split = line.find(separator);
    if (split == std::string::npos) continue;
    const std::size_t key_end = line.find_last_not_of(" \t", split == 0 ? 0 : split - 1);
    if (std::string_view(line).substr(0, key_end + 1) != key) continue;
    const std::size_t start = line.find_first_not_of(" \t\"", split + 1);
    if (start == std::string::npos) return std::string();
    return line.substr(start, line.find_last_not_of(" \t\"\r") + 1 - start);
  }
  return std::nullopt;
}

core::measured<std::string> field_of_file(const fs::path& path, std::string_view key, char separator) {
  const core::measured<std::string> text = system_file(path);
  if (!text) return text;
  if (const auto found = field(*text, key, separator)) return *found;
  return core::measured<std::string>::absent(path.string() + " has no '" + std::string(key) + "'");
}

/// "MemTotal:  16384 kB"
core::measured<std::int64_t> memory_field(const fs::path& root, std::string_view key) {
  const core::measured<std::string> text = field_of_file(root / "proc/meminfo", key, ':');
  if (!text) return core::measured<std::int64_t>::absent(text.reason());
  const std::int64_t kibibytes = std::atoll(text->c_str());
  if (kibibytes <= 0) return core::measured<std::int64_t>::absent("/proc/meminfo gives no number: " + *text);
  return kibibytes * 1024;
}

/// x86 kernels spell the model; arm64 kernels give two numbers, of which the common servers' are named here.
core::measured<std::string> cpu_model(const fs::path& root) {
  const core::measured<std::string> text = system_file(root / "proc/cpuinfo");
  if (!text) return text;
  if (const auto model = field(*text, "model name", ':')) return *model;
  const auto implementer = field(*text, "CPU implementer", ':');
  const auto part = field(*text, "CPU part", ':');
  if (!implementer || !part) return core::measured<std::string>::absent("/proc/cpuinfo names no model");
  struct named_part {
    std::string_view part;
    const char* name;
  };
  static constexpr std::array<named_part, 4> arm_parts{{{"0xd0c", "Arm Neoverse-N1"},
                                                        {"0xd40", "Arm Neoverse-V1"},
                                                        {"0xd49", "Arm Neoverse-N2"},
                                                        {"0xd4f", "Arm Neoverse-V2"}}};
  for (const named_part& entry : arm_parts) {
    if (*implementer == "0x41" && *part == entry.part) return std::string(entry.name);
  }
  return "implementer " + *implementer + ", part " + *part;
}

core::measured<std::int64_t> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) {
    return core::measured<std::int64_t>::absent("sched_getaffinity failed (more than 1024 CPUs?)");
  }
  return std::int64_t{CPU_COUNT(&set)};
}

/// "32768K", "36M"; 0: it is no such text.
std::int64_t cache_size_bytes(const std::string& text) {
  char* end = nullptr;
  const std::int64_t count = std::strtoll(text.c_str(), &end, 10);
  constexpr std::int64_t most_count = std::int64_t{1} << 32;
  if (count <= 0 || count > most_count) return 0;
  return *end == 'K' ? count << 10 : *end == 'M' ? count << 20 : *end == '\n' || *end == '\0' ? count : 0;
}

core::measured<std::int64_t> last_level_cache(const fs::path& root) {
  const fs::path folder = root / "sys/devices/system/cpu/cpu0/cache";
  std::int64_t largest_bytes = 0;
  constexpr int most_caches = 10;  // three levels, and one of them split in two
  for (int index = 0; index < most_caches; ++index) {
    if (const auto size = system_file(folder / ("index" + std::to_string(index)) / "size"))
      largest_bytes = std::max(largest_bytes, cache_size_bytes(*size));
  }
  if (largest_bytes == 0)
    return core::measured<std::int64_t>::absent(folder.string() + " does not tell the size of a cache");
  return largest_bytes;
}

core::measured<double> load_average(const fs::path& root) {
  const core::measured<std::string> text = system_file(root / "proc/loadavg");
  if (!text) return core::measured<double>::absent(text.reason());
  std::istringstream numbers(*text);
  numbers.imbue(std::locale::classic());
  double one_minute = 0;
  if (!(numbers >> one_minute)) return core::measured<double>::absent("/proc/loadavg gives no number");
  return one_minute;
}

}  // namespace

host_facts gather_host_facts(const fs::path& root) {
  host_facts facts;
  struct utsname names {};
  if (::uname(&names) == 0) {
    facts.host_name = std::string(names.nodename);
    facts.kernel = std::string(names.sysname) + " " + names.release;
    facts.architecture = std::string(names.machine);
  }
  facts.operating_system = field_of_file(root / "etc/os-release", "PRETTY_NAME", '=');
  facts.cpu_model = cpu_model(root);
  const std::int64_t cpus_online = ::sysconf(_SC_NPROCESSORS_ONLN);
  facts.cpus_online_count = cpus_online > 0 ? core::measured<std::int64_t>(cpus_online)
                                            : core::measured<std::int64_t>::absent("sysconf does not tell");
  facts.cpus_usable_count = usable_cpus();
  facts.cpu_governor = system_file(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (facts.cpu_governor) facts.cpu_governor = facts.cpu_governor->substr(0, facts.cpu_governor->find('\n'));
  facts.last_level_cache_bytes = last_level_cache(root);
  facts.memory_bytes = memory_field(root, "MemTotal");
  facts.memory_available_bytes = memory_field(root, "MemAvailable");
  facts.load_average_1min_count = load_average(root);
  return facts;
}

}  // namespace profgate::artifacts
