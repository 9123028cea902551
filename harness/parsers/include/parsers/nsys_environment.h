#pragma once

#include <filesystem>

namespace profgate::parsers {

/// nsys notes the environment of its caller, and up to 2022 that of every process on the machine, in what it
/// exports. Takes them, and command lines, out of the file for good; all else stays. A file that is not
/// SQLite or cannot be written: bad_input.
void remove_environment(const std::filesystem::path& nsys_sqlite);

}  // namespace profgate::parsers
