#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

namespace profgate::cli {

/// What a person sees while a step runs. On a terminal one line is rewritten in place: the step, the time it
/// has taken, what runs now and the last line it printed. Elsewhere only plain lines, one an event. May be
/// called from several threads at once.
class progress {
 public:
  explicit progress(std::string title);
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  void now_running(std::string what);
  void show(std::string what);  ///< the same on a terminal; elsewhere nothing: somebody says how it ended
  void saw_line(std::string_view line);
  void refresh();  ///< call a few times a second
  void note(std::string_view line);

 private:
  // Both with m_showing held.
  void draw_live_line();
  void erase_live_line();

  std::mutex m_showing;
  std::string m_title;
  std::string m_what;
  std::string m_last_line;
  std::chrono::steady_clock::time_point m_started;
  bool m_on_terminal;
  bool m_live_line_shown = false;
};

}  // namespace profgate::cli
