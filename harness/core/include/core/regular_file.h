#pragma once

#include <filesystem>

namespace profgate::core {

/// Files are handed over by strangers: a FIFO in place of one would hang whoever opens it, a device may never
/// end. bad_input unless `path` is a file, or nothing is there, or a folder: of these the reader says more.
void require_regular_file(const std::filesystem::path& path);

}  // namespace profgate::core
