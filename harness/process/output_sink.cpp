#include "output_sink.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace profgate::process {
namespace {

constexpr std::uint64_t max_kept_tail_bytes = std::uint64_t{1} << 20;

}  // namespace

bounded_log::bounded_log(const std::filesystem::path& file, bool append, std::uint64_t max_bytes)
    : m_file(file), m_tail_capacity(std::min(max_bytes / 2, max_kept_tail_bytes)) {
  m_head_left = max_bytes - m_tail_capacity;
  if (file.empty()) return;
  m_fd = core::owned_fd(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC), 0666));
  if (!m_fd.is_open()) {
    throw core::step_failure(fmt::format("cannot create the log {}: {}", file.string(), std::strerror(errno)),
                             "make its directory exist and writable, on a disk with room");
  }
}

void bounded_log::write(std::string_view bytes) {
  if (!m_fd.is_open()) return;
  const auto to_head = static_cast<std::size_t>(std::min<std::uint64_t>(m_head_left, bytes.size()));
  if (to_head > 0) {
    write_to_file(bytes.substr(0, to_head));
    m_head_left -= to_head;
    bytes.remove_prefix(to_head);
  }
  if (!bytes.empty()) keep_in_tail(bytes);
}

void bounded_log::finish() {
  if (!m_fd.is_open()) return;
  if (truncated()) {
    write_to_file(fmt::format("\n[... {} bytes left out here ...]\n", m_tail_offered - m_tail.size()));
  }
  write_to_file(std::string_view(m_tail).substr(m_tail_begin));
  write_to_file(std::string_view(m_tail).substr(0, m_tail_begin));
  m_fd.reset();
}

void bounded_log::write_to_file(std::string_view bytes) {
  // After a failure nothing more is written: a hole in the middle would look like the whole.
  while (!bytes.empty() && m_error.empty()) {
    const ssize_t count = ::write(m_fd.get(), bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      m_error = fmt::format("cannot write {}: {}", m_file.string(), std::strerror(errno));
    }
  }
}

void bounded_log::keep_in_tail(std::string_view bytes) {
  m_tail_offered += bytes.size();
  const auto capacity = static_cast<std::size_t>(m_tail_capacity);
  if (bytes.size() >= capacity) {
    m_tail = bytes.substr(bytes.size() - capacity);
    m_tail_begin = 0;
    return;
  }
  const std::size_t appended = std::min(capacity - m_tail.size(), bytes.size());
  m_tail += bytes.substr(0, appended);
  for (bytes.remove_prefix(appended); !bytes.empty();) {
    const std::size_t count = std::min(bytes.size(), capacity - m_tail_begin);
    m_tail.replace(m_tail_begin, count, bytes.substr(0, count));
    m_tail_begin = (m_tail_begin + count) % capacity;
    bytes.remove_prefix(count);
  }
}

namespace {

constexpr std::size_t max_line_bytes = 4096;
constexpr std::size_t max_message_tail_bytes = 4096;

std::string from_start_of_line(std::string tail, bool is_everything) {
  if (is_everything) return tail;
  const std::size_t newline = tail.find('\n');
  // A lone newline at the very end separates nothing.
  if (newline != std::string::npos && newline + 1 < tail.size()) tail.erase(0, newline + 1);
  return tail;
}

}  // namespace

void line_splitter::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, newline);
    const std::string_view kept =
        piece.substr(0, max_line_bytes - std::min(max_line_bytes, m_partial.size()));
    if (newline == std::string_view::npos) {
      m_partial += kept;
      return;
    }
    if (m_partial.empty()) {
      emit(kept);
    } else {
      m_partial += kept;
      emit(m_partial);
      m_partial.clear();
    }
    bytes.remove_prefix(newline + 1);
  }
}

void line_splitter::finish() {
  if (!m_partial.empty()) emit(m_partial);
  m_partial.clear();
}

void line_splitter::emit(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  m_on_line(line);
}

output_sink::output_sink(const run_options& options)
    : m_log(options.log_file, options.append_to_log, options.log_max_bytes),
      m_merged_lines(options.on_line),
      m_captured_lines(options.on_line),
      m_wants_lines(static_cast<bool>(options.on_line)),
      m_captured_max_bytes(options.captured_max_bytes) {}

void output_sink::take(stream from, std::string_view bytes) {
  m_bytes += bytes.size();
  m_log.write(bytes);

  m_tail += bytes.substr(bytes.size() - std::min(bytes.size(), max_message_tail_bytes));
  if (m_tail.size() > max_message_tail_bytes) m_tail.erase(0, m_tail.size() - max_message_tail_bytes);

  if (from == stream::captured) {
    const std::size_t room = m_captured_max_bytes - m_captured.size();
    m_captured += bytes.substr(0, room);
    m_captured_truncated = m_captured_truncated || bytes.size() > room;
  }
  if (m_wants_lines) (from == stream::captured ? m_captured_lines : m_merged_lines).feed(bytes);
}

void output_sink::finish(outcome& result) {
  if (m_wants_lines) {
    m_captured_lines.finish();
    m_merged_lines.finish();
  }
  m_log.finish();
  result.output_bytes = m_bytes;
  result.tail = from_start_of_line(std::move(m_tail), m_bytes <= max_message_tail_bytes);
  result.captured = std::move(m_captured);
  result.captured_truncated = m_captured_truncated;
  result.log_truncated = m_log.truncated();
  result.log_error = m_log.error();
}

}  // namespace profgate::process
