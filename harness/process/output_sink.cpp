#include "output_sink.h"

#include <algorithm>

namespace profgate::process {
namespace {

constexpr std::size_t max_line_bytes = 4096;
constexpr std::size_t max_message_tail_bytes = 4096;
constexpr std::size_t max_captured_bytes = std::size_t{1} << 20;

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
      m_wants_lines(static_cast<bool>(options.on_line)) {}

void output_sink::take(stream from, std::string_view bytes) {
  m_bytes += bytes.size();
  m_log.write(bytes);

  m_tail += bytes.substr(bytes.size() - std::min(bytes.size(), max_message_tail_bytes));
  if (m_tail.size() > max_message_tail_bytes) m_tail.erase(0, m_tail.size() - max_message_tail_bytes);

  if (from == stream::captured) {
    const std::size_t room = max_captured_bytes - m_captured.size();
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
