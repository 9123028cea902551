#pragma once

#include <string>
#include <string_view>

namespace profgate::core {

/// What a program said last: why it failed and, where it keeps our form, what to do.
struct last_words {
  std::string reason;  ///< empty: it said nothing
  std::string remedy;  ///< of the line "  to fix it: …" behind the reason
};

/// Of a program's output, or of the end of it. What writes over itself, as progress does, is lines of its
/// own.
last_words read_last_words(std::string_view output);

/// "exit code 1: no space left on device"; how it ended alone where it said nothing.
std::string ended_saying(std::string_view how, std::string_view reason);

/// `remedy` with `look`, the place of all that it said, in brackets behind it; `look` alone where there is
/// none.
std::string remedy_or_look(std::string_view remedy, std::string_view look);

}  // namespace profgate::core
