#include "core/error.h"

#include <utility>

namespace profgate::core {
namespace {

std::string located(const std::string& file, int line, const std::string& what) {
  return line > 0 ? file + ":" + std::to_string(line) + ": " + what : file + ": " + what;
}

}  // namespace

error::error(exit_code code, const std::string& what_is_wrong, std::string remedy)
    : std::runtime_error(what_is_wrong), m_code(code), m_remedy(std::move(remedy)) {}

bad_input::bad_input(const std::string& file, int line, const std::string& what_is_wrong, std::string remedy)
    : error(exit_code::bad_input, located(file, line, what_is_wrong), std::move(remedy)) {}

std::string with_remedy(const std::string& what_is_wrong, const std::string& remedy) {
  return remedy.empty() ? what_is_wrong : what_is_wrong + "; to fix it: " + remedy;
}

}  // namespace profgate::core
