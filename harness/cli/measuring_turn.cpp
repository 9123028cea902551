#include "measuring_turn.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "process/runner.h"

namespace profgate::cli {
namespace {

constexpr const char* measuring_variable = "PROFGATE_MEASURING_PID";
constexpr const char* measuring_lock = "measuring";
constexpr std::int64_t longest_turn_ms = std::int64_t{12} * 3600 * 1000;

/// Whether the profgate that the environment names still lives. A value that outlived it means nothing.
bool is_measured_by_another() {
  const char* const text = std::getenv(measuring_variable);
  if (text == nullptr) return false;
  const std::string_view digits = text;
  pid_t pid = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), pid);
  if (failed != std::errc{} || end != digits.data() + digits.size() || pid <= 0) return false;
  return ::kill(pid, 0) == 0 || errno == EPERM;
}

}  // namespace

std::optional<std::string> whoever_measures() {
  if (is_measured_by_another()) return std::nullopt;
  return core::file_lock::holder_among_users(core::shared_lock_file(measuring_lock));
}

measuring_turn::measuring_turn(progress& display) {
  if (is_measured_by_another()) return;
  const auto asked = std::chrono::steady_clock::now();
  m_lock = core::file_lock::among_users(
      core::shared_lock_file(measuring_lock),
      {longest_turn_ms,
       [&](const std::string& holder) {
         display.note(fmt::format("waits: {} measures on this machine", holder));
       },
       "this machine", "wait until its measurement is done, or end that process"});
  m_waited = std::chrono::steady_clock::now() - asked;
  process::hold_until_children_end(m_lock->descriptor());  // CTest kills a step that takes too long
  ::setenv(measuring_variable, std::to_string(::getpid()).c_str(), 1);
}

measuring_turn::~measuring_turn() {
  if (!m_lock) return;
  ::unsetenv(measuring_variable);
  process::hold_until_children_end(-1);
}

}  // namespace profgate::cli
