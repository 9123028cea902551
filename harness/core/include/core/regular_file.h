#pragma once

#include <filesystem>
#include <string>

namespace profgate::core {

/// Files are handed over by strangers: a FIFO in place of one would hang whoever opens it, a device may never
/// end. bad_input unless `path` is a file, or nothing is there, or a folder: of these the reader says more.
void require_regular_file(const std::filesystem::path& path);

/// What stands at a path that should be a file's: "is a directory", "is a link that leads nowhere", "is not
/// there".
std::string what_is_there(const std::filesystem::path& path);

}  // namespace profgate::core
