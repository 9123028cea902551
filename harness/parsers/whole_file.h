#pragma once

#include <filesystem>
#include <string>

namespace profgate::parsers {

/// The file's bytes; bad_input if it cannot be read or is larger than max_bytes. `made_by` completes "made
/// by …" in the remedy.
std::string read_whole_file(const std::filesystem::path& file, std::uintmax_t max_bytes,
                            const std::string& made_by);

}  // namespace profgate::parsers
