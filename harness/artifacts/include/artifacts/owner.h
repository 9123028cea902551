#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace profgate::artifacts {

/// One process, told apart from any later one with the same number.
struct process_owner {
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;  ///< since boot, field 22 of /proc/<pid>/stat
  std::string boot_id;            ///< of the kernel; a reboot ends every owner
  std::string pid_namespace;      ///< a process number means nothing in another container
  std::string host;

  bool operator==(const process_owner&) const = default;
};

/// Who `pid` is right now; bad_input where there is no such process.
process_owner owner_of(pid_t pid);

/// Whether the owner still runs. A zombie does not. Outside of all containers those in one are seen, too. Of
/// any other owner, on another host or in a container beside this one, nothing can be known: it counts as
/// alive, so that nobody's run is taken away by mistake, until `written_in`, the file in which it stands, is
/// a week old.
bool is_alive(const process_owner& owner, const std::filesystem::path& written_in);

}  // namespace profgate::artifacts
