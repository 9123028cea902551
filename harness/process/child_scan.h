#pragma once

#include <sys/types.h>

#include <array>

namespace profgate::process {

constexpr std::size_t process_name_size = 16;  ///< with the NUL; what Linux keeps of a name

struct child_entry {
  pid_t pid = 0;
  std::array<char, process_name_size> name{};
};

/// Calls `visit` for each living child of `parent` (zombies are left out), as /proc shows them. Calls only
/// functions that are safe between fork and exec of a process with threads: no malloc, so no opendir.
void for_each_child(pid_t parent, void (*visit)(const child_entry&, void* context), void* context);

/// Takes "<pid> (<name>) <state> <ppid> …" apart; false where it is not that. The name may contain anything,
/// parentheses and newlines too, and is cut to fit.
struct stat_line {
  std::array<char, process_name_size> name{};
  char state = 0;
  pid_t parent = 0;
};
bool parse_stat_line(const char* text, std::size_t length, stat_line& parsed);

}  // namespace profgate::process
