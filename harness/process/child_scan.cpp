#include "child_scan.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/owned_fd.h"

namespace profgate::process {
namespace {

/// A record of getdents64, before the name that follows it.
struct directory_record {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t length;
  std::uint8_t type;
};
constexpr std::size_t name_offset = 19;  // the structure is packed in the kernel: 8 + 8 + 2 + 1

/// 0 where `text` is no positive decimal number.
pid_t parse_pid(const char* text) {
  pid_t value = 0;
  for (; *text >= '0' && *text <= '9'; ++text) value = value * 10 + (*text - '0');
  return *text == '\0' ? value : 0;
}

/// Reads /proc/<name>/stat, where `name` is a process's number.
ssize_t read_stat(int proc_fd, const char* name, char* buffer, std::size_t size) {
  std::array<char, 32> path{};
  const std::size_t length = std::strlen(name);
  constexpr const char* suffix = "/stat";
  if (length + std::strlen(suffix) + 1 > path.size()) return -1;
  std::memcpy(path.data(), name, length);
  std::memcpy(path.data() + length, suffix, std::strlen(suffix) + 1);
  const core::owned_fd fd(::openat(proc_fd, path.data(), O_RDONLY | O_CLOEXEC));
  return fd.is_open() ? ::read(fd.get(), buffer, size) : -1;
}

}  // namespace

bool parse_stat_line(const char* text, std::size_t length, stat_line& parsed) {
  const char* const end = text + length;
  const char* const open = std::find(text, end, '(');
  const char* close = end;
  while (close != open && *(close - 1) != ')') --close;  // the last one: the name may contain others
  // After it: " S 123 "
  if (open == end || close == open || end - close < 4 || close[0] != ' ' || close[2] != ' ') return false;
  parsed.name.fill('\0');
  const auto name_length = static_cast<std::size_t>(close - 1 - (open + 1));
  std::memcpy(parsed.name.data(), open + 1, std::min(name_length, parsed.name.size() - 1));
  parsed.state = close[1];
  parsed.parent = 0;
  const char* digit = close + 3;
  for (; digit != end && *digit >= '0' && *digit <= '9'; ++digit) {
    parsed.parent = parsed.parent * 10 + (*digit - '0');
  }
  return digit != close + 3;
}

void for_each_child(pid_t parent, void (*visit)(const child_entry&, void* context), void* context) {
  const core::owned_fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!proc.is_open()) return;
  alignas(directory_record) std::array<char, 32768> records;
  for (;;) {
    const long filled = ::syscall(SYS_getdents64, proc.get(), records.data(), records.size());
    if (filled <= 0) break;
    for (long at = 0; at < filled;) {
      directory_record record{};
      std::memcpy(&record, records.data() + at, name_offset);
      const char* const name = records.data() + at + name_offset;
      at += record.length;
      child_entry child;
      child.pid = parse_pid(name);
      if (child.pid == 0) continue;
      std::array<char, 256> text;  // pid, name, state and ppid come first and are far shorter
      const ssize_t length = read_stat(proc.get(), name, text.data(), text.size());
      stat_line line;
      if (length <= 0 || !parse_stat_line(text.data(), static_cast<std::size_t>(length), line)) continue;
      if (line.parent != parent || line.state == 'Z' || line.state == 'X') continue;
      child.name = line.name;
      visit(child, context);
    }
  }
}

}  // namespace profgate::process
