#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "bounded_log.h"
#include "process/runner.h"

namespace profgate::process {

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
  std::uint64_t m_bytes = 0;
  std::string m_tail;
  std::string m_captured;
  bool m_captured_truncated = false;
};

}  // namespace profgate::process
