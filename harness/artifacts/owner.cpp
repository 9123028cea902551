#include "artifacts/owner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "artifacts/files.h"
#include "core/error.h"
#include "owner_json.h"

namespace profgate::artifacts {
namespace {

struct process_stat {
  char state = '?';
  std::uint64_t start_ticks = 0;
};

std::optional<process_stat> read_process_stat(std::int64_t pid) {
  std::string text;
  try {
    text = read_file(fmt::format("/proc/{}/stat", pid));
  } catch (const core::error&) {
    return std::nullopt;  // ended, perhaps while we were reading
  }
  // "<pid> (<name>) <state> ...": the name may hold spaces and brackets, so count from its last bracket.
  const std::size_t after_name = text.rfind(')');
  if (after_name == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(after_name + 1));
  process_stat result;
  fields >> result.state;  // field 3
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  fields >> result.start_ticks;  // field 22
  if (!fields) return std::nullopt;
  return result;
}

std::string first_line_of(const char* path) {
  try {
    const std::string text = read_file(path);
    return text.substr(0, text.find('\n'));
  } catch (const core::error&) {
    return {};
  }
}

std::string own_pid_namespace() {
  std::error_code failure;
  const std::filesystem::path link = std::filesystem::read_symlink("/proc/self/ns/pid", failure);
  return failure ? std::string() : link.string();
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

/// The kernel gives its first namespace this number; who is in it sees every process.
constexpr const char* first_pid_namespace = "pid:[4026531836]";

bool runs_as(std::int64_t pid, const process_owner& owner) {
  const std::optional<process_stat> stat = read_process_stat(pid);
  return stat && stat->start_ticks == owner.start_ticks && stat->state != 'Z' && stat->state != 'X';
}

/// A process's number in its own namespace, the last of "NSpid: <here> … <innermost>".
std::optional<std::int64_t> innermost_pid(const std::filesystem::path& process) {
  std::string text;
  try {
    text = read_file(process / "status");
  } catch (const core::error&) {
    return std::nullopt;  // ended meanwhile
  }
  const std::size_t line = text.find("NSpid:");
  if (line == std::string::npos) return std::nullopt;
  std::istringstream numbers(text.substr(line + 6, text.find('\n', line) - line - 6));
  std::optional<std::int64_t> last;
  for (std::int64_t number = 0; numbers >> number;) last = number;
  return last;
}

/// Asks only what /proc tells everybody: which namespace a process is in it tells its owner alone.
bool runs_in_a_container(const process_owner& owner) {
  std::error_code failure;
  auto entry = std::filesystem::directory_iterator("/proc", failure);
  for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    const bool is_process = name.find_first_not_of("0123456789") == std::string::npos;
    if (is_process && innermost_pid(entry->path()) == owner.pid && runs_as(std::stoll(name), owner))
      return true;
  }
  return static_cast<bool>(failure);  // what cannot be looked at may run
}

bool is_a_week_old(const std::filesystem::path& file) {
  std::error_code failure;
  const auto written = std::filesystem::last_write_time(file, failure);
  return !failure && std::filesystem::file_time_type::clock::now() - written > std::chrono::hours(7 * 24);
}

}  // namespace

process_owner owner_of(pid_t pid) {
  const std::optional<process_stat> stat = read_process_stat(pid);
  if (!stat) {
    throw core::bad_input(fmt::format("there is no process {}", pid),
                          "name a process that runs on this machine, or leave it out");
  }
  return {pid, stat->start_ticks, first_line_of("/proc/sys/kernel/random/boot_id"), own_pid_namespace(),
          host_name()};
}

bool is_alive(const process_owner& owner, const std::filesystem::path& written_in) {
  const process_owner self = owner_of(::getpid());
  const bool same_kernel = owner.boot_id == self.boot_id;
  if (same_kernel && owner.pid_namespace == self.pid_namespace) return runs_as(owner.pid, owner);
  if (same_kernel && self.pid_namespace == first_pid_namespace) return runs_in_a_container(owner);
  const bool rebooted = !same_kernel && owner.host == self.host;
  return !rebooted && !is_a_week_old(written_in);
}

nlohmann::ordered_json owner_to_json(const process_owner& owner) {
  nlohmann::ordered_json object;
  object["pid"] = owner.pid;
  object["start_ticks"] = owner.start_ticks;
  object["boot_id"] = owner.boot_id;
  object["pid_namespace"] = owner.pid_namespace;
  object["host"] = owner.host;
  return object;
}

process_owner owner_from_json(const core::json_cursor& object) {
  return {object.require("pid").integer(),
          static_cast<std::uint64_t>(object.require("start_ticks").integer()),
          object.require("boot_id").text(), object.require("pid_namespace").text(),
          object.require("host").text()};
}

}  // namespace profgate::artifacts
