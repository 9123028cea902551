#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace profgate::artifacts {

/// Replaces `path` as a whole: a temporary name in the same folder, fsync, rename. A reader sees the old
/// file or the new one. A write that fails leaves the old file and no temporary one.
void write_file_atomically(const std::filesystem::path& path, std::string_view contents);

constexpr std::uint64_t default_read_limit_bytes = std::uint64_t{256} << 20;

/// The contents of `path`, or of `path`.gz (decompressed) where retention has compressed it. More than
/// `max_bytes` is bad_input: whoever reads a whole file says how large it can sensibly be.
std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes = default_read_limit_bytes);

/// Whether read_file would find something: `path` itself or `path`.gz.
bool file_exists(const std::filesystem::path& path);

}  // namespace profgate::artifacts
