#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "core/owned_fd.h"
#include "process/runner.h"

namespace profgate::process {

/// A log file that never grows past a limit: what comes first goes straight to the file; past it only the
/// latest end is kept, in memory (at most 1 MiB), and written by finish().
class bounded_log {
 public:
  /// An empty path: no log. Throws step_failure where the file cannot be created.
  bounded_log(const std::filesystem::path& file, bool append, std::uint64_t max_bytes);

  /// Never throws for a full disk: see error().
  void write(std::string_view bytes);
  void finish();

  bool truncated() const { return m_tail_offered > m_tail_capacity; }
  /// Why the file is incomplete; empty: it is not.
  const std::string& error() const { return m_error; }

 private:
  void write_to_file(std::string_view bytes);
  void keep_in_tail(std::string_view bytes);

  std::filesystem::path m_file;
  core::owned_fd m_fd;
  std::uint64_t m_head_left = 0;
  std::uint64_t m_tail_capacity = 0;
  std::string m_tail;                ///< a ring once it has reached m_tail_capacity
  std::size_t m_tail_begin = 0;      ///< where the ring's oldest byte is
  std::uint64_t m_tail_offered = 0;  ///< bytes that came after the head
  std::string m_error;
};

/// Cuts a stream into lines for run_options::on_line.
class line_splitter {
 public:
  explicit line_splitter(const std::function<void(std::string_view)>& on_line) : m_on_line(on_line) {}
  void feed(std::string_view bytes);
  void finish();  ///< hands out a last line without a newline

 private:
  void emit(std::string_view line);

  const std::function<void(std::string_view)>& m_on_line;
  std::string m_partial;  ///< of a line whose end has not come; never longer than a line may be
};

/// Where a child's output goes: log, tail, live lines, captured stdout. Memory is bounded.
class output_sink {
 public:
  enum class stream { merged, captured };

  explicit output_sink(const run_options& options);
  void take(stream from, std::string_view bytes);
  void finish(outcome& result);

 private:
  bounded_log m_log;
  line_splitter m_merged_lines;
  line_splitter m_captured_lines;
  bool m_wants_lines;
  std::size_t m_captured_max_bytes;
  std::uint64_t m_bytes = 0;
  std::string m_tail;
  std::string m_captured;
  bool m_captured_truncated = false;
};

}  // namespace profgate::process
