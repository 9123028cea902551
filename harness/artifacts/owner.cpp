#include "artifacts/owner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
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

bool is_alive(const process_owner& owner) {
  const process_owner self = owner_of(::getpid());
  const bool same_kernel = owner.boot_id == self.boot_id;
  if (same_kernel && owner.pid_namespace == self.pid_namespace) {
    const std::optional<process_stat> stat = read_process_stat(owner.pid);
    return stat && stat->start_ticks == owner.start_ticks && stat->state != 'Z' && stat->state != 'X';
  }
  const bool rebooted = !same_kernel && owner.host == self.host;
  return !rebooted;
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
