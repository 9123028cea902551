#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "core/escape.h"

/// What profgate says to a person. Names and reasons in it come from strangers' files and programs, so that
/// nothing is printed but through here.
namespace profgate::cli {

template <typename... values>
void print(fmt::format_string<values...> format, values&&... arguments) {
  fmt::print("{}", core::for_terminal(fmt::format(format, std::forward<values>(arguments)...)));
}

template <typename... values>
void print_error(fmt::format_string<values...> format, values&&... arguments) {
  fmt::print(stderr, "{}", core::for_terminal(fmt::format(format, std::forward<values>(arguments)...)));
}

}  // namespace profgate::cli
