#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace profgate::llm {

/// What the program tells its caller: the exit codes of the workload contract.
enum class exit_code : int { good = 0, judged_bad = 1, bad_input = 2, not_possible = 77 };

/// The one exception of this program, caught in main(), which prints what() and remedy() and exits with
/// code().
class failure : public std::runtime_error {
 public:
  failure(exit_code code, const std::string& what_is_wrong, std::string remedy)
      : std::runtime_error(what_is_wrong), m_code(code), m_remedy(std::move(remedy)) {}
  exit_code code() const { return m_code; }
  const std::string& remedy() const { return m_remedy; }

 private:
  exit_code m_code;
  std::string m_remedy;
};

/// Usage, configuration, or a file that is not what it claims to be.
inline failure bad_input(const std::string& what_is_wrong, std::string remedy) {
  return {exit_code::bad_input, what_is_wrong, std::move(remedy)};
}

/// The engine computed something wrong.
inline failure judged_bad(const std::string& what_is_wrong, std::string remedy) {
  return {exit_code::judged_bad, what_is_wrong, std::move(remedy)};
}

/// This build or machine cannot do it; the caller skips, with this reason.
inline failure not_possible(const std::string& reason) {
  return {exit_code::not_possible, reason, ""};
}

}  // namespace profgate::llm
