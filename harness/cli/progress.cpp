#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "core/escape.h"
#include "terminal.h"

namespace profgate::cli {
namespace {

std::size_t terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

/// For a line that is written over again and again.
std::string on_one_line(std::string_view text) {
  std::string out = core::for_terminal(text);
  for (char& c : out) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return out;
}

}  // namespace

progress::progress(std::string title)
    : m_title(std::move(title)),
      m_started(std::chrono::steady_clock::now()),
      m_on_terminal(isatty(STDERR_FILENO) == 1) {}

progress::~progress() {
  erase_live_line();
}

void progress::now_running(std::string what) {
  const std::lock_guard showing(m_showing);
  m_what = std::move(what);
  m_last_line.clear();
  if (m_on_terminal) {
    draw_live_line();
  } else {
    print_error("{}: {}\n", m_title, m_what);
  }
}

void progress::show(std::string what) {
  if (m_on_terminal) now_running(std::move(what));
}

void progress::saw_line(std::string_view line) {
  const std::lock_guard showing(m_showing);
  if (!line.empty()) m_last_line = line;
}

void progress::refresh() {
  const std::lock_guard showing(m_showing);
  if (m_on_terminal) draw_live_line();
}

void progress::note(std::string_view line) {
  const std::lock_guard showing(m_showing);
  erase_live_line();
  print_error("{}: {}\n", m_title, line);
}

void progress::draw_live_line() {
  const auto elapsed = std::chrono::steady_clock::now() - m_started;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(elapsed).count();
  std::string line = fmt::format("{} {:02}:{:02} {}", m_title, seconds / 60, seconds % 60, m_what);
  if (!m_last_line.empty()) line += " | " + m_last_line;
  fmt::print(stderr, "\r\033[K{}", core::shorten_middle(on_one_line(line), terminal_columns() - 1));
  std::fflush(stderr);
  m_live_line_shown = true;
}

void progress::erase_live_line() {
  if (!m_live_line_shown) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  m_live_line_shown = false;
}

}  // namespace profgate::cli
