#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "artifacts/files.h"

namespace profgate::artifacts {

/// Calls `consume` with the decompressed contents of gzip file `path`, chunk by chunk; it returns false to
/// stop. A file that is not gzip, is cut short or fails its checksum is bad_input.
void read_gzip(const std::filesystem::path& path, const std::function<bool(std::string_view)>& consume);

enum class gzip_effort {
  fast,  ///< of what every report makes anew
  small  ///< of what is kept: a fourth smaller, at twice the time
};

/// Writes what `produce` gives as gzip to `target` (replaced where it exists) and fsyncs it. Pieces are
/// shorter than 4 GiB.
void write_gzip(const std::filesystem::path& target, const piece_producer& produce, gzip_effort effort);

/// Writes the contents of `source` as small gzip to `target` (replaced where it exists) and fsyncs it.
void write_gzip(const std::filesystem::path& source, const std::filesystem::path& target);

/// Whether gzip file `compressed` holds exactly what `original` holds.
bool gzip_holds(const std::filesystem::path& compressed, const std::filesystem::path& original);

}  // namespace profgate::artifacts
