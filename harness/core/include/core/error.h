#pragma once

#include <stdexcept>
#include <string>

namespace profgate::core {

/// What a profgate command tells its caller (CTest among them) about itself.
enum class exit_code : int {
  good = 0,
  judged_bad = 1,     ///< it was measured and found worse: a regression, and nothing else
  bad_input = 2,      ///< usage, configuration or a corrupt file
  failed = 3,         ///< a workload or a tool failed; nothing was judged
  not_possible = 77,  ///< this machine cannot do it; CTest's SKIP_RETURN_CODE
  interrupted = 130,  ///< Ctrl-C
};

/// The root of the one error tree. It is caught in one place, harness/cli/main.cpp, which prints
/// "profgate: <what>" and "  to fix it: <remedy>" and exits with code().
class error : public std::runtime_error {
 public:
  error(exit_code code, const std::string& what_is_wrong, std::string remedy);
  exit_code code() const { return m_code; }
  const std::string& remedy() const { return m_remedy; }

 private:
  exit_code m_code;
  std::string m_remedy;
};

/// A workload or tool ran and failed; the step that ran it is "failed".
class step_failure : public error {
 public:
  step_failure(const std::string& what_is_wrong, std::string remedy)
      : error(exit_code::failed, what_is_wrong, std::move(remedy)) {}
};

/// Bad usage, bad configuration, or a file that cannot be what it claims to be.
class bad_input : public error {
 public:
  bad_input(const std::string& what_is_wrong, std::string remedy)
      : error(exit_code::bad_input, what_is_wrong, std::move(remedy)) {}
  /// "<file>:<line>: <what>"; a line of 0 means the whole file.
  bad_input(const std::string& file, int line, const std::string& what_is_wrong, std::string remedy);
};

/// This machine lacks something (a GPU, a tool); the step is "skipped" and says why.
class not_possible : public error {
 public:
  not_possible(const std::string& what_is_missing, std::string remedy)
      : error(exit_code::not_possible, what_is_missing, std::move(remedy)) {}
};

class interrupted : public error {
 public:
  explicit interrupted(const std::string& what_was_going_on)
      : error(exit_code::interrupted, what_was_going_on,
              "run it again; nothing of earlier runs was touched") {}
};

/// In one line: "<what>; to fix it: <remedy>".
std::string with_remedy(const std::string& what_is_wrong, const std::string& remedy);

}  // namespace profgate::core
